package sandbox

import (
	"bufio"
	"compress/gzip"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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

// billEdit changes the bills of every day: it drops, alters or adds the row of a payment or, with out_refund_no, of a refund.
type billEdit struct {
	OutTradeNo  string            `json:"out_trade_no,omitempty"`
	OutRefundNo string            `json:"out_refund_no,omitempty"`
	Drop        bool              `json:"drop,omitempty"`
	Add         bool              `json:"add,omitempty"` // a row that the books know nothing of
	Set         map[string]string `json:"set,omitempty"` // cells by their headers
}

func (e billEdit) problem() string {
	for name := range e.Set {
		if !slices.Contains(billColumns, name) {
			return "bill_edits: set names columns of the bill: " + strings.Join(billColumns, ", ")
		}
	}
	if e.OutTradeNo == "" && e.OutRefundNo == "" {
		return "bill_edits: out_trade_no or out_refund_no names the row"
	}
	return ""
}

// billRow is a row of a bill by its headers.
type billRow struct {
	at     time.Time
	refund bool
	cells  map[string]string
}

// askedBill is what a request asks for; it is the token of the file, which is made when it is fetched, from the same books.
type askedBill struct {
	day    time.Time
	kind   string
	packed bool
}

func askBill(q url.Values) (askedBill, *refusal) {
	day, err := time.ParseInLocation(time.DateOnly, q.Get("bill_date"), china)
	if err != nil {
		return askedBill{}, paramError("bill_date", q.Get("bill_date"), "须为yyyy-MM-DD")
	}
	a := askedBill{day: day, kind: q.Get("bill_type"), packed: q.Get("tar_type") == "GZIP"}
	if a.kind == "" {
		a.kind = "ALL"
	}
	if a.kind != "ALL" && a.kind != "SUCCESS" && a.kind != "REFUND" {
		return a, paramError("bill_type", a.kind, "须为ALL、SUCCESS或REFUND")
	}
	if q.Has("tar_type") && !a.packed {
		return a, paramError("tar_type", q.Get("tar_type"), "须为GZIP")
	}
	return a, nil
}

// tradeBill serves the announcement of a day's bill.
func (s *Server) tradeBill(r *http.Request, _ []byte) (int, any, *refusal) {
	asked, refused := askBill(r.URL.Query())
	if refused != nil {
		return 0, nil, refused
	}
	set := s.settings()
	now := time.Now()
	switch {
	case set.BillState == "creating", !set.BillToday && now.Before(asked.day.AddDate(0, 0, 1).Add(billHour*time.Hour)):
		return 0, nil, refuse(400, "STATEMENT_CREATING", "账单生成中，请稍后再试")
	case asked.day.Before(now.AddDate(0, -3, -1)):
		return 0, nil, paramError("bill_date", asked.day.Format(time.DateOnly), "仅支持三个月内的账单")
	}
	unpacked, packed := sha1.New(), sha1.New()
	rows := s.writeBill(unpacked, asked)
	if rows == 0 || set.BillState == "none" {
		return 0, nil, refuse(400, "NO_STATEMENT_EXIST", "账单文件不存在")
	}
	sum := unpacked
	switch set.BillHash {
	case "packed":
		s.writeBillFile(packed, asked)
		sum = packed
	case "wrong":
		fmt.Fprint(sum, "another file")
	}
	token := url.Values{"bill_date": {asked.day.Format(time.DateOnly)}, "bill_type": {asked.kind}}
	if asked.packed {
		token.Set("tar_type", "GZIP")
	}
	return http.StatusOK, map[string]string{
		"hash_type": "SHA1", "hash_value": hex.EncodeToString(sum.Sum(nil)),
		"download_url": "https://api.mch.weixin.qq.com/v3/billdownload/file?token=" + url.QueryEscape(token.Encode()),
	}, nil
}

// billFile serves the file: the request is signed, the reply is not.
func (s *Server) billFile(w http.ResponseWriter, r *http.Request) {
	if why := s.checkSignature(r, bodyOf(r)); why != "" {
		s.writeRefusal(w, refuse(401, "SIGN_ERROR", "签名错误："+why))
		return
	}
	token, err := url.ParseQuery(r.URL.Query().Get("token"))
	asked, refused := askBill(token)
	if err != nil || refused != nil {
		s.writeRefusal(w, refuse(400, "PARAM_ERROR", "token无效"))
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	s.writeBillFile(w, asked)
}

// writeBillFile writes the bill as it is sent: packed where that was asked for.
func (s *Server) writeBillFile(w io.Writer, asked askedBill) {
	if !asked.packed || s.settings().BillPlain {
		s.writeBill(w, asked)
		return
	}
	zip := gzip.NewWriter(w)
	s.writeBill(zip, asked)
	_ = zip.Close()
}

// writeBill writes the day's payments and refunds as WeChat's CSV and returns how many they are. Nothing is written where
// there are none. It holds no more than the rows of the books.
func (s *Server) writeBill(w io.Writer, asked askedBill) int {
	set := s.settings()
	rows := s.billRows(asked, set.BillEdits)
	filler := set.BillFiller
	if asked.kind == "REFUND" {
		filler = 0
	}
	if len(rows)+filler == 0 {
		return 0
	}
	out := bufio.NewWriter(w)
	var sums billSums
	_, _ = out.WriteString("\ufeff" + strings.Join(billColumns, ",") + "\r\n") // errors stay with the writer, see Flush
	for _, r := range rows {
		sums.add(r.cells)
		_, _ = out.WriteString(r.text() + "\r\n")
	}
	s.writeFiller(out, asked.day, filler, &sums)
	_, _ = out.WriteString("总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额\r\n" + sums.text() + "\r\n")
	_ = out.Flush() // a reader that went away is no concern of the books
	return len(rows) + filler
}

// writeFiller writes the payments of a big shop, of which the books know nothing.
func (s *Server) writeFiller(out *bufio.Writer, day time.Time, n int, sums *billSums) {
	const number = "{number}"
	row := s.paymentRow(&order{
		AppID: s.keys.AppID, PaidAt: day.Add(12 * time.Hour), TransactionID: "42" + number, OutTradeNo: number, Currency: "CNY", OpenID: "o-filler",
		TotalFen: 100, PayerFen: 100, Description: "filler",
	})
	text := strings.Split(row.text()+"\r\n", number)
	for i := range n {
		no := fmt.Sprintf("F%s%08d", day.Format("20060102"), i)
		_, _ = out.WriteString(strings.Join(text, no))
		sums.add(row.cells)
	}
}

// billRows are the rows of a day in the order of their times, edited.
func (s *Server) billRows(asked askedBill, edits []billEdit) []billRow {
	var rows []billRow
	within := func(at time.Time) bool { return !at.Before(asked.day) && at.Before(asked.day.AddDate(0, 0, 1)) }
	s.books.view(func() {
		for _, o := range s.books.orderList {
			if o.paid() && within(o.PaidAt) {
				rows = append(rows, s.paymentRow(o))
			}
		}
		for _, r := range s.books.refundList {
			if within(r.CreatedAt) {
				rows = append(rows, s.refundRow(s.books.orders[r.OutTradeNo], r))
			}
		}
	})
	for _, e := range edits {
		rows = s.edited(rows, e, asked.day)
	}
	rows = slices.DeleteFunc(rows, func(r billRow) bool {
		return asked.kind == "SUCCESS" && r.refund || asked.kind == "REFUND" && !r.refund
	})
	slices.SortStableFunc(rows, func(a, b billRow) int { return a.at.Compare(b.at) })
	return rows
}

// edited applies one edit.
func (s *Server) edited(rows []billRow, e billEdit, day time.Time) []billRow {
	if e.Add {
		o := &order{AppID: s.keys.AppID, PaidAt: day.Add(12 * time.Hour), TransactionID: "42000" + e.OutTradeNo, OutTradeNo: e.OutTradeNo, Currency: "CNY", TotalFen: 100, PayerFen: 100}
		row := s.paymentRow(o)
		if e.OutRefundNo != "" {
			row = s.refundRow(o, &refund{OutRefundNo: e.OutRefundNo, RefundID: "50" + e.OutRefundNo, RefundFen: 100, TotalFen: 100, PayerTotalFen: 100, Status: "SUCCESS", CreatedAt: o.PaidAt})
		}
		maps.Copy(row.cells, e.Set)
		return append(rows, row)
	}
	fits := func(r billRow) bool {
		if e.OutRefundNo != "" {
			return r.cells["商户退款单号"] == e.OutRefundNo
		}
		return !r.refund && r.cells["商户订单号"] == e.OutTradeNo
	}
	if e.Drop {
		return slices.DeleteFunc(rows, fits)
	}
	for _, r := range rows {
		if fits(r) {
			maps.Copy(r.cells, e.Set)
		}
	}
	return rows
}

func (s *Server) paymentRow(o *order) billRow {
	cells := map[string]string{}
	for i, value := range []string{
		o.PaidAt.In(china).Format(time.DateTime), o.AppID, s.keys.MchID, "0", "", o.TransactionID, o.OutTradeNo, o.OpenID, "JSAPI", "SUCCESS", "OTHERS", o.Currency,
		yuan(o.PayerFen), yuan(o.TotalFen - o.PayerFen), "0", "0", "0.00", "0.00", "", "", o.Description, o.Attach, "0.00000", "0.60%",
		yuan(o.TotalFen), "0.00", "",
	} {
		cells[billColumns[i]] = value
	}
	return billRow{at: o.PaidAt, cells: cells}
}

func (s *Server) refundRow(o *order, r *refund) billRow {
	row := s.paymentRow(o)
	row.at, row.refund = r.CreatedAt, true
	maps.Copy(row.cells, map[string]string{
		"交易时间": r.CreatedAt.In(china).Format(time.DateTime), "交易状态": "REFUND", "应结订单金额": "0.00", "代金券金额": "0.00", "订单金额": "0.00",
		"微信退款单号": r.RefundID, "商户退款单号": r.OutRefundNo, "退款金额": yuan(r.payerFen()), "申请退款金额": yuan(r.RefundFen),
		"退款类型": "ORIGINAL", "退款状态": r.Status,
	})
	return row
}

// text is the row as WeChat writes it: every cell behind a backtick, free text as it is.
func (r billRow) text() string {
	cells := make([]string, len(billColumns))
	for i, name := range billColumns {
		cells[i] = r.cells[name]
	}
	return "`" + strings.Join(cells, ",`")
}

// billSums are the last line of a bill.
type billSums struct {
	rows                                int
	settled, refunded, ordered, applied int64
}

func (b *billSums) add(cells map[string]string) {
	b.rows++
	for name, into := range map[string]*int64{"应结订单金额": &b.settled, "退款金额": &b.refunded, "订单金额": &b.ordered, "申请退款金额": &b.applied} {
		*into += fenOfYuan(cells[name])
	}
}

func (b *billSums) text() string {
	return fmt.Sprintf("`%d,`%s,`%s,`0.00,`0.00000,`%s,`%s", b.rows, yuan(b.settled), yuan(b.refunded), yuan(b.ordered), yuan(b.applied))
}

// fenOfYuan reads what yuan wrote; what an edit put in its place counts as nothing.
func fenOfYuan(text string) int64 {
	fen, _ := strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
	return fen
}
