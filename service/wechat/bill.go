package wechat

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wechatpay-apiv3/wechatpay-go/core/consts"
)

// BillRow is one line of the day's trade bill: a payment or a refund.
type BillRow struct {
	At            time.Time
	AppID         string
	MchID         string
	TransactionID string
	OutTradeNo    string
	OpenID        string
	State         string // SUCCESS for a payment, REFUND for a refund
	AmountFen     int64  // of the payment as asked for; 0 in a refund's row
	RefundID      string // of a refund, else empty
	OutRefundNo   string
	RefundFen     int64
	RefundStatus  string
}

// TradeBill fetches all payments and refunds of a day in China's time; only the date of
// day counts. It is ready from ten o'clock of the next day and kept three months. A day
// without trade has no rows and no error. KindBusy: WeChat is still making it, try in
// half an hour.
func (c *Client) TradeBill(ctx context.Context, day time.Time) ([]BillRow, error) {
	const op = "trade bill"
	query := url.Values{"bill_date": {day.Format(time.DateOnly)}, "bill_type": {"ALL"}}
	var rows []BillRow
	err := c.call(ctx, c.payBreaker, op, func(ctx context.Context) error {
		result, err := c.pay.Get(ctx, consts.WechatPayAPIServer+"/v3/bill/tradebill?"+query.Encode())
		if err := settled(result, err, http.StatusOK); err != nil {
			return err
		}
		var where struct {
			HashValue   string `json:"hash_value"`
			DownloadURL string `json:"download_url"`
		}
		if err := json.NewDecoder(result.Response.Body).Decode(&where); err != nil {
			return err
		}
		rows, err = c.downloadBill(ctx, where.DownloadURL, where.HashValue)
		return err
	})
	var e *Error
	if errors.As(err, &e) {
		switch normalCode(e.Code) { // the pages disagree on the status, so the code decides
		case "NOSTATEMENTEXIST":
			return nil, nil
		case "STATEMENTCREATING":
			e.Kind = KindBusy
		}
	}
	return rows, err
}

// downloadBill fetches the file. The request is signed and the reply is not; the hash
// from the signed reply before vouches for it.
func (c *Client) downloadBill(ctx context.Context, address, hash string) ([]BillRow, error) {
	result, err := c.bill.Get(ctx, address)
	if err := settled(result, err, http.StatusOK); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(result.Response.Body)
	if err != nil {
		return nil, err
	}
	if sum := sha1.Sum(raw); !strings.EqualFold(hex.EncodeToString(sum[:]), hash) {
		return nil, unknown(http.StatusOK, "the bill does not have the hash that was announced")
	}
	rows, err := parseBill(string(raw))
	if err != nil {
		return nil, unknown(http.StatusOK, err.Error())
	}
	return rows, nil
}

// parseBill reads WeChat's CSV: a line of headers, rows whose cells start with a
// backtick, and at the end two lines of sums.
func parseBill(text string) ([]BillRow, error) {
	lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), "\n")
	column := map[string]int{}
	for i, name := range strings.Split(lines[0], ",") {
		column[strings.Trim(name, "` ")] = i
	}
	for _, name := range []string{"交易时间", "微信订单号", "商户订单号", "交易状态", "订单金额", "商户退款单号", "申请退款金额"} {
		if _, ok := column[name]; !ok {
			return nil, fmt.Errorf("the bill has no column %s", name)
		}
	}
	rows := []BillRow{}
	for n, line := range lines[1:] {
		if !strings.HasPrefix(line, "`") { // the sums have headers of their own
			break
		}
		row, err := parseBillRow(column, strings.Split(line[1:], ",`"))
		if err != nil {
			return nil, fmt.Errorf("line %d of the bill: %w", n+2, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func parseBillRow(column map[string]int, cells []string) (BillRow, error) {
	// The goods' name is free text and may hold the separator.
	if name, extra := column["商品名称"], len(cells)-len(column); name > 0 && extra > 0 {
		cells = slices.Concat(cells[:name], []string{strings.Join(cells[name:name+extra+1], ",`")}, cells[name+extra+1:])
	}
	if len(cells) != len(column) {
		return BillRow{}, fmt.Errorf("%d cells under %d headers", len(cells), len(column))
	}
	cell := func(name string) string {
		if i, ok := column[name]; ok {
			return cells[i]
		}
		return ""
	}
	at, err := time.ParseInLocation(time.DateTime, cell("交易时间"), china)
	if err != nil {
		return BillRow{}, errors.New("the time cannot be read")
	}
	amount, err := fenOf(cell("订单金额"))
	if err != nil {
		return BillRow{}, err
	}
	refund, err := fenOf(cell("申请退款金额"))
	if err != nil {
		return BillRow{}, err
	}
	return BillRow{
		At: at, AppID: cell("公众账号ID"), MchID: cell("商户号"), TransactionID: cell("微信订单号"), OutTradeNo: cell("商户订单号"),
		OpenID: cell("用户标识"), State: cell("交易状态"), AmountFen: amount, RefundID: zeroIsNone(cell("微信退款单号")),
		OutRefundNo: zeroIsNone(cell("商户退款单号")), RefundFen: refund, RefundStatus: cell("退款状态"),
	}, nil
}

// zeroIsNone drops the 0 that a payment's row has in place of a refund's number.
func zeroIsNone(s string) string {
	if s == "0" {
		return ""
	}
	return s
}

// fenOf reads yuan with at most two decimals. No float comes near it.
func fenOf(yuan string) (int64, error) {
	whole, cents, _ := strings.Cut(yuan, ".")
	if whole == "" || len(cents) > 2 {
		return 0, errors.New("an amount is not yuan with at most two decimals")
	}
	fen, err := strconv.ParseInt(whole+cents+strings.Repeat("0", 2-len(cents)), 10, 64)
	if err != nil {
		return 0, errors.New("an amount cannot be read")
	}
	return fen, nil
}
