package wechat

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// BillRow is one line of a bill: a payment or a refund.
type BillRow struct {
	Line          int64     // of the file, from 1; the headers are the first
	At            time.Time // of the payment or the refund, to the second
	AppID         string
	MchID         string
	TransactionID string
	OutTradeNo    string
	State         string // SUCCESS for a payment, REFUND for a refund
	Currency      string
	AmountFen     int64  // of the payment as asked for; 0 in a refund's row
	CouponFen     int64  // what WeChat's coupons pay of it
	RefundID      string // of a refund, else empty
	OutRefundNo   string
	RefundFen     int64
	RefundStatus  string // SUCCESS, PROCESSING, FAIL, CHANGE
}

// IsRefund reports whether the line is a refund.
func (r BillRow) IsRefund() bool { return r.OutRefundNo != "" || r.RefundID != "" }

const (
	// maxBillLine bounds a line: WeChat's are some hundred bytes.
	maxBillLine = 64 << 10
	sumsHeader  = "总交易单数"
)

// billColumns are those that a bill must have.
var billColumns = []string{"交易时间", "公众账号ID", "商户号", "微信订单号", "商户订单号", "交易状态", "货币种类", "订单金额"}

// refundColumns are those that a bill with refunds must have.
var refundColumns = []string{"微信退款单号", "商户退款单号", "申请退款金额", "退款状态"}

// freeText is the first of the two columns, side by side, that hold what the merchant wrote, separators and ends of lines
// included.
const freeText = "商品名称"

// Rows reads the bill from its start and hands its lines to fn one by one. An error of fn ends it and is returned. A bill
// that cannot be read is an *Error of KindRejected, which names the line and nothing of what it says. Rows before it were
// handed on by then.
func (b *Bill) Rows(fn func(BillRow) error) error {
	if _, err := b.file.Seek(0, io.SeekStart); err != nil {
		return unreadable(0, errors.New("the temporary file cannot be read"))
	}
	return readBill(b.file, fn)
}

func unreadable(line int64, err error) error {
	return rejected("trade bill", fmt.Sprintf("line %d of the bill: %v", line, err))
}

// billReader takes a bill apart: a line of headers, rows whose cells start with a backtick, and at the end two lines of
// sums.
type billReader struct {
	in     *bufio.Reader
	ahead  string // the line that was read and is not used yet
	line   int64  // its number
	names  []string
	column map[string]int
}

func readBill(in io.Reader, fn func(BillRow) error) error {
	r := &billReader{in: bufio.NewReaderSize(in, maxBillLine)}
	err := r.headers()
	if err == nil {
		r.ahead, err = r.read()
	}
	if err != nil {
		return unreadable(r.line, err)
	}
	for {
		cells, at, err := r.next()
		if err != nil {
			return unreadable(at, err)
		}
		if cells == nil {
			return nil
		}
		row, err := r.row(cells)
		if err != nil {
			return unreadable(at, err)
		}
		row.Line = at
		if err := fn(row); err != nil {
			return err
		}
	}
}

// read returns the next line without its end.
func (r *billReader) read() (string, error) {
	line, err := r.in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", errors.New("it is too long")
	case err != nil && len(line) == 0:
		return "", errors.New("the bill ends before its sums")
	case err != nil && !errors.Is(err, io.EOF):
		return "", errors.New("the temporary file cannot be read")
	}
	r.line++
	return strings.TrimRight(string(line), "\r\n"), nil
}

func (r *billReader) headers() error {
	line, err := r.read()
	if err != nil {
		return err
	}
	r.column = map[string]int{}
	for i, name := range strings.Split(strings.TrimPrefix(line, "\ufeff"), ",") {
		name = strings.Trim(name, "` ")
		r.names = append(r.names, name)
		r.column[name] = i
	}
	want := billColumns
	if _, ok := r.column["商户退款单号"]; ok {
		want = slices.Concat(billColumns, refundColumns)
	}
	for _, name := range want {
		if _, ok := r.column[name]; !ok {
			return fmt.Errorf("there is no column %s", name)
		}
	}
	return nil
}

// next returns the cells of the next row and the line on which it begins; nil at the sums. A row whose free text has ends
// of lines goes on until the next row or the sums begin.
func (r *billReader) next() (cells []string, at int64, err error) {
	text, at := r.ahead, r.line
	switch {
	case strings.HasPrefix(strings.Trim(text, "`"), sumsHeader):
		return nil, at, nil
	case !r.begins(text):
		return nil, at, errors.New("it is neither a row nor the sums")
	}
	for {
		if r.ahead, err = r.read(); err != nil {
			return nil, r.line, err
		}
		if r.begins(r.ahead) {
			break
		}
		if text += "\n" + r.ahead; len(text) > maxBillLine {
			return nil, at, errors.New("it is too long")
		}
	}
	return strings.Split(text[1:], ",`"), at, nil
}

// begins reports whether a line is the beginning of a row, or the sums, rather than free text that goes on.
func (r *billReader) begins(text string) bool {
	if strings.HasPrefix(strings.Trim(text, "`"), sumsHeader) {
		return true
	}
	first, _, more := strings.Cut(text, ",`")
	if !more || !strings.HasPrefix(first, "`") || len(first) != len(time.DateTime)+1 {
		return false
	}
	_, err := time.Parse(time.DateTime, first[1:])
	return err == nil
}

func (r *billReader) row(cells []string) (BillRow, error) {
	cells = r.joined(cells)
	if len(cells) != len(r.names) {
		return BillRow{}, fmt.Errorf("%d cells under %d headers", len(cells), len(r.names))
	}
	cell := func(name string) string {
		if i, ok := r.column[name]; ok {
			return cells[i]
		}
		return ""
	}
	at, err := time.ParseInLocation(time.DateTime, cell("交易时间"), china)
	if err != nil {
		return BillRow{}, errors.New("the time cannot be read")
	}
	row := BillRow{
		At: at, AppID: cell("公众账号ID"), MchID: cell("商户号"), TransactionID: cell("微信订单号"), OutTradeNo: cell("商户订单号"),
		State: cell("交易状态"), Currency: cell("货币种类"), RefundID: zeroIsNone(cell("微信退款单号")),
		OutRefundNo: zeroIsNone(cell("商户退款单号")), RefundStatus: cell("退款状态"),
	}
	for name, into := range map[string]*int64{"订单金额": &row.AmountFen, "代金券金额": &row.CouponFen, "申请退款金额": &row.RefundFen} {
		if _, ok := r.column[name]; !ok {
			continue // bills without refunds have none of theirs
		}
		if *into, err = fenOf(cell(name)); err != nil {
			return BillRow{}, err
		}
	}
	if row.TransactionID == "" || row.OutTradeNo == "" {
		return BillRow{}, errors.New("a number is missing")
	}
	return row, nil
}

// joined puts free text together that was split at separators of its own. Which of its two columns held them does not
// matter, for neither is read.
func (r *billReader) joined(cells []string) []string {
	extra := len(cells) - len(r.names)
	at, ok := r.column[freeText]
	if extra <= 0 || !ok {
		return cells
	}
	return slices.Concat(cells[:at], []string{strings.Join(cells[at:at+extra+1], ",`")}, cells[at+extra+1:])
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
