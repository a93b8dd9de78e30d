package wechat

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const testHeaders = "交易时间,公众账号ID,商户号,微信订单号,商户订单号,交易状态,货币种类,微信退款单号,商户退款单号,退款状态,商品名称,商户数据包,订单金额,申请退款金额"

func testRow(change map[string]string) string {
	cells := []string{"2026-11-28 09:00:00", "wx1", "1900000001", "4200001", "T0000001", "SUCCESS", "CNY", "0", "0", "", "tea", "", "1.00", "0.00"}
	for i, name := range strings.Split(testHeaders, ",") {
		if v, ok := change[name]; ok {
			cells[i] = v
		}
	}
	return "`" + strings.Join(cells, ",`")
}

func parsed(text string) ([]BillRow, error) {
	var rows []BillRow
	err := readBill(strings.NewReader(text), func(r BillRow) error {
		rows = append(rows, r)
		return nil
	})
	return rows, err
}

const testSums = "总交易单数,应结订单总金额\n`1,`1.00\n"

func TestBillsOfEveryForm(t *testing.T) {
	odd := testRow(map[string]string{"商品名称": "a,`b,`c\n`d", "商户数据包": "x,`y\r\nz", "订单金额": "92233720368547758.07"})
	for name, text := range map[string]string{
		"lines end with LF":       testHeaders + "\n" + odd + "\n" + testRow(nil) + "\n" + testSums,
		"lines end with CRLF":     strings.ReplaceAll(testHeaders+"\n"+odd+"\n"+testRow(nil)+"\n"+testSums, "\n", "\r\n"),
		"a byte order mark":       "\ufeff" + testHeaders + "\n" + odd + "\n" + testRow(nil) + "\n" + testSums,
		"headers with backticks":  "`" + strings.ReplaceAll(testHeaders, ",", ",`") + "\n" + odd + "\n" + testRow(nil) + "\n" + testSums,
		"no end of the last line": testHeaders + "\n" + odd + "\n" + testRow(nil) + "\n" + strings.TrimSpace(testSums),
	} {
		rows, err := parsed(text)
		if err != nil || len(rows) != 2 {
			t.Errorf("%s: %+v, %v", name, rows, err)
			continue
		}
		if rows[0].AmountFen != 9223372036854775807 || rows[0].TransactionID != "4200001" || rows[1].AmountFen != 100 || rows[1].OutTradeNo != "T0000001" {
			t.Errorf("%s: %+v", name, rows)
		}
	}
	if rows, err := parsed(testHeaders + "\n" + testSums); err != nil || len(rows) != 0 {
		t.Errorf("no row: %+v, %v", rows, err)
	}
}

// What cannot be read is refused as a whole, by its line and without a word of what it says.
func TestBillsThatCannotBeRead(t *testing.T) {
	const secret = "S3CRET"
	short := "`" + strings.Join(strings.Split(testRow(map[string]string{"商品名称": secret})[1:], ",`")[:12], ",`")
	for name, c := range map[string]struct{ text, line string }{
		"nothing":                 {"", "line 0"},
		"no headers":              {"<html>" + secret + "</html>\n", "line 1"},
		"a column is gone":        {strings.Replace(testHeaders, "订单金额", secret, 1) + "\n" + testRow(nil) + "\n" + testSums, "line 1"},
		"no sums":                 {testHeaders + "\n" + testRow(nil) + "\n", "line 2"},
		"cut in a row":            {testHeaders + "\n" + testRow(nil) + "\n" + testRow(nil)[:40], "line 3"},
		"cut in the first cell":   {testHeaders + "\n" + testRow(nil) + "\n" + testRow(nil)[:10], "line 3"},
		"too few cells":           {testHeaders + "\n" + short + "\n" + testRow(nil) + "\n" + testSums, "line 2"},
		"too few cells at last":   {testHeaders + "\n" + short + "\n" + testSums, "line 2"},
		"neither row nor sums":    {testHeaders + "\n" + secret + "\n" + testSums, "line 2"},
		"a time":                  {testHeaders + "\n" + testRow(map[string]string{"交易时间": secret}) + "\n" + testSums, "line 2"},
		"an amount":               {testHeaders + "\n" + testRow(nil) + "\n" + testRow(map[string]string{"订单金额": secret}) + "\n" + testSums, "line 3"},
		"an amount of three":      {testHeaders + "\n" + testRow(map[string]string{"订单金额": "1.001"}) + "\n" + testSums, "line 2"},
		"an amount beyond all":    {testHeaders + "\n" + testRow(map[string]string{"订单金额": "92233720368547758.08"}) + "\n" + testSums, "line 2"},
		"an amount in the E form": {testHeaders + "\n" + testRow(map[string]string{"订单金额": "1e2"}) + "\n" + testSums, "line 2"},
		"no number":               {testHeaders + "\n" + testRow(map[string]string{"微信订单号": ""}) + "\n" + testSums, "line 2"},
		"an endless line":         {testHeaders + "\n" + testRow(map[string]string{"商品名称": strings.Repeat(secret, maxBillLine)}) + "\n" + testSums, "line 1 "},
		"endless lines":           {testHeaders + "\n" + short + strings.Repeat("\n"+strings.Repeat("x", 999), 100) + "\n" + testSums, "line 2"},
	} {
		rows, err := parsed(c.text)
		var e *Error
		if !errors.As(err, &e) || e.Kind != KindRejected || !strings.Contains(e.Message, c.line) || strings.Contains(e.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(rows); n > 1 || slices.ContainsFunc(rows, func(r BillRow) bool { return r.AmountFen != 100 }) {
			t.Errorf("%s: rows %+v", name, rows)
		}
	}
}

func FuzzReadBill(f *testing.F) {
	f.Add(testHeaders + "\n" + testRow(nil) + "\n" + testSums)
	f.Add("\ufeff" + testHeaders + "\r\n" + testRow(map[string]string{"商品名称": ",`\n`"}) + "\r\n" + testSums)
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := parsed(text)
		for _, r := range rows {
			if r.TransactionID == "" || r.OutTradeNo == "" || r.Line < 2 {
				t.Errorf("%+v", r)
			}
		}
		if err != nil && KindOf(err) != KindRejected {
			t.Error(err)
		}
	})
}
