package sandbox

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

var billColumns = []string{
	"交易时间", "公众账号ID", "商户号", "特约商户号", "设备号", "微信订单号", "商户订单号", "用户标识", "交易类型", "交易状态", "付款银行", "货币种类",
	"应结订单金额", "代金券金额", "微信退款单号", "商户退款单号", "退款金额", "充值券退款金额", "退款类型", "退款状态", "商品名称", "商户数据包", "手续费", "费率",
	"订单金额", "申请退款金额", "费率备注",
}

// billHour is when the bill of a day is ready, on the next day in China.
const billHour = 10

// tradeBill serves the announcement of a day's bill. The date is its token: the file is
// made when it is fetched, from the same books.
func (s *Server) tradeBill(r *http.Request, _ []byte) (int, any, *refusal) {
	q := r.URL.Query()
	day, err := time.ParseInLocation(time.DateOnly, q.Get("bill_date"), china)
	if err != nil {
		return 0, nil, paramError("bill_date", q.Get("bill_date"), "须为yyyy-MM-DD")
	}
	if kind := q.Get("bill_type"); kind != "" && kind != "ALL" {
		return 0, nil, paramError("bill_type", kind, "sandbox: only ALL is served")
	}
	if s.billTooEarly(day, time.Now()) {
		return 0, nil, refuse(400, "STATEMENT_CREATING", "账单生成中，请稍后再试")
	}
	file := s.bill(day)
	if file == nil {
		return 0, nil, refuse(400, "NO_STATEMENT_EXIST", "账单文件不存在")
	}
	sum := sha1.Sum(file)
	return http.StatusOK, map[string]string{
		"hash_type": "SHA1", "hash_value": hex.EncodeToString(sum[:]),
		"download_url": "https://api.mch.weixin.qq.com/v3/billdownload/file?token=" + url.QueryEscape(q.Get("bill_date")),
	}, nil
}

func (s *Server) billTooEarly(day, now time.Time) bool {
	atOnce := false
	s.books.view(func() { atOnce = s.books.settings.BillToday })
	return !atOnce && now.Before(day.AddDate(0, 0, 1).Add(billHour*time.Hour))
}

// billFile serves the file: the request is signed, the reply is not.
func (s *Server) billFile(w http.ResponseWriter, r *http.Request) {
	if why := s.checkSignature(r, bodyOf(r)); why != "" {
		s.writeRefusal(w, refuse(401, "SIGN_ERROR", "签名错误："+why))
		return
	}
	day, err := time.ParseInLocation(time.DateOnly, r.URL.Query().Get("token"), china)
	if err != nil {
		s.writeRefusal(w, refuse(400, "PARAM_ERROR", "token无效"))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(s.bill(day))
}

// bill writes the day's payments and refunds as WeChat's CSV, or nil when there are none.
func (s *Server) bill(day time.Time) []byte {
	type row struct {
		at   time.Time
		text string
	}
	var rows []row
	within := func(at time.Time) bool { return !at.Before(day) && at.Before(day.AddDate(0, 0, 1)) }
	s.books.view(func() {
		for _, o := range s.books.orderList {
			if o.paid() && within(o.PaidAt) {
				rows = append(rows, row{o.PaidAt, s.billRow(o, nil)})
			}
		}
		for _, r := range s.books.refundList {
			if within(r.CreatedAt) {
				rows = append(rows, row{r.CreatedAt, s.billRow(s.books.orders[r.OutTradeNo], r)})
			}
		}
	})
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b row) int { return a.at.Compare(b.at) })
	var b strings.Builder
	b.WriteString(strings.Join(billColumns, ",") + "\r\n")
	for _, r := range rows {
		b.WriteString(r.text + "\r\n")
	}
	b.WriteString("总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额\r\n")
	fmt.Fprintf(&b, "`%d,`0.00,`0.00,`0.00,`0.00000,`0.00,`0.00\r\n", len(rows))
	return []byte(b.String())
}

// billRow writes a payment, or a refund of it.
func (s *Server) billRow(o *order, r *refund) string {
	cells := []string{
		o.PaidAt.In(china).Format(time.DateTime), o.AppID, s.keys.MchID, "0", "", o.TransactionID, o.OutTradeNo, o.OpenID, "JSAPI", "SUCCESS", "OTHERS", o.Currency,
		yuan(o.PayerFen), yuan(o.TotalFen - o.PayerFen), "0", "0", "0.00", "0.00", "", "", o.Description, o.Attach, "0.00000", "0.60%",
		yuan(o.TotalFen), "0.00", "",
	}
	if r != nil {
		cells[0], cells[9] = r.CreatedAt.In(china).Format(time.DateTime), "REFUND"
		cells[12], cells[13], cells[24] = "0.00", "0.00", "0.00"
		cells[14], cells[15], cells[16] = r.RefundID, r.OutRefundNo, yuan(r.payerFen())
		cells[18], cells[19], cells[25] = "ORIGINAL", r.Status, yuan(r.RefundFen)
	}
	return "`" + strings.NewReplacer("\r", " ", "\n", " ").Replace(strings.Join(cells, ",`"))
}
