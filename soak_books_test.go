package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func unmarshal(t *testing.T, r reply, into any) {
	if err := json.Unmarshal([]byte(r.text), into); err != nil {
		t.Errorf("%v in %s", err, r.text)
	}
}

// waiting are rows that are gone when everything has come to its end.
var waiting = map[string]string{
	"unpaid orders":      "SELECT COUNT(*) FROM orders WHERE state = 'pending_payment'",
	"live attempts":      "SELECT COUNT(*) FROM payment_attempts WHERE state IN ('open', 'closing')",
	"open refunds":       "SELECT COUNT(*) FROM refunds WHERE state NOT IN ('success', 'failed')",
	"open uploads":       "SELECT COUNT(*) FROM shipping_uploads WHERE next_at IS NOT NULL",
	"open after-sales":   "SELECT COUNT(*) FROM aftersales WHERE state = 'refunding'",
	"subscribe messages": "SELECT COUNT(*) FROM subscribe_messages WHERE next_at IS NOT NULL",
	"unsent messages":    "SELECT COUNT(*) FROM messages WHERE state <> 'sent'",
	"orders to claim":    "SELECT COUNT(*) FROM orders WHERE claim_token <> '' OR closing_reason IS NOT NULL",
	"shipped too long":   "SELECT COUNT(*) FROM orders WHERE state = 'shipped' AND confirm_due_at IS NULL",
}

// drain waits until nothing is waited for any more.
func (s *soak) drain() {
	s.t.Helper()
	db := s.shops[0].books()
	defer s.describe(db)
	eventually(s.t, drained, "everything has come to its end", func() (bool, string) {
		left := map[string]int64{}
		for what, query := range waiting {
			if n := countRows(s.t, db, query); n > 0 {
				left[what] = n
			}
		}
		if open := s.openCallbacks(); open > 0 {
			left["callbacks on their way"] = open
		}
		return len(left) == 0, fmt.Sprint(left)
	})
}

// describe logs what has not come to its end, if the test has failed.
func (s *soak) describe(db *sql.DB) {
	if !s.t.Failed() {
		return
	}
	now := time.Now().UnixMilli()
	s.t.Logf("it is %d", now)
	for _, query := range []string{
		"SELECT * FROM orders WHERE state = 'pending_payment' OR claim_token <> '' LIMIT 3",
		"SELECT a.* FROM payment_attempts a WHERE a.state IN ('open', 'closing') LIMIT 5",
		"SELECT * FROM refunds WHERE state NOT IN ('success', 'failed') LIMIT 5",
		"SELECT * FROM messages WHERE state <> 'sent' LIMIT 5",
		"SELECT * FROM shipping_uploads WHERE next_at IS NOT NULL LIMIT 5",
		"SELECT * FROM aftersales WHERE state = 'refunding' LIMIT 5",
		"SELECT * FROM task_failures LIMIT 10",
	} {
		logRows(s.t, db, query)
	}
}

// logRows logs what a query answers.
func logRows(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Log(err)
		return
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(sql.NullString)
		}
		if err := rows.Scan(values...); err != nil {
			t.Log(err)
			return
		}
		row := query + ":"
		for i, c := range columns {
			row += fmt.Sprintf(" %s=%s", c, values[i].(*sql.NullString).String)
		}
		t.Log(row)
	}
	if err := rows.Err(); err != nil {
		t.Log(err)
	}
}

func (s *soak) openCallbacks() (n int64) {
	s.t.Helper()
	notices := as[listOf[struct {
		DoneAt string `json:"done_at"`
		GaveUp bool   `json:"gave_up"`
	}]](s.wx, s.wx.call(200, "GET", "/sandbox/notices", nil))
	for _, notice := range notices.List {
		if notice.DoneAt == "" && !notice.GaveUp {
			n++
		}
	}
	return n
}

// money is what was paid and what came back, in fen.
type money struct{ Paid, Back int64 }

func (m *money) add(paid, back int64) { m.Paid, m.Back = m.Paid+paid, m.Back+back }

// ledger is who paid what: by shopper (openid), by WeChat's number, and by order.
type ledger struct {
	shoppers, numbers map[string]money
	orders            map[string]money
	kept              map[string]int64 // by order: what the shop says it has earned
}

// check compares WeChat's books with the shop's and everything else that must hold.
func (s *soak) check() {
	s.t.Helper()
	first := s.shops[0]
	first.exactlyOnce()
	s.checkTurns()
	s.compare(s.wechatLedger(), s.shopLedger(first.books()))
	s.checkStock(first.books())
	for what, query := range map[string]string{
		"refunds that failed":               "SELECT COUNT(*) FROM refunds WHERE state = 'failed'",
		"anomalies of another kind":         "SELECT COUNT(*) FROM anomalies WHERE kind NOT IN ('late_payment', 'refund_waiting', 'refund_abnormal')",
		"orders that were paid and are not": "SELECT COUNT(*) FROM orders o WHERE o.state IN ('paid', 'shipped', 'completed') AND o.payable_fen > 0 AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.settled_order = o.id)",
	} {
		if n := countRows(s.t, first.books(), query); n != 0 {
			s.t.Errorf("%d %s", n, what)
		}
	}
	s.checkPromises(first.books())
	s.checkShipped(first.books())
	s.logOpenNumbers()
	s.logStates(first.books())
}

// checkTurns fails if WeChat had to refuse a refund because another one of its payment was less than a minute old: that it makes up
// refusals like it now and then does not count.
func (s *soak) checkTurns() {
	s.t.Helper()
	calls := as[listOf[struct {
		Status int
		Fault  string
		Body   any
	}]](s.wx, s.wx.call(200, "GET", "/sandbox/calls?method=POST&path=/v3/refund/domestic/refunds", nil))
	for _, c := range calls.List {
		if c.Status == 429 && c.Fault == "" {
			s.t.Errorf("a refund came too soon after another one of its payment: %v", c.Body)
		}
	}
	if len(calls.List) == 0 {
		s.t.Error("WeChat was asked for no refund: that shows nothing")
	}
}

// checkBills reconciles the days of the run with WeChat's bills, which say the same as the shop's books.
func (s *soak) checkBills(from, to time.Time) {
	s.t.Helper()
	china := time.FixedZone("", 8*60*60)
	var payments int64
	for day, last := from.In(china), to.In(china).Format(time.DateOnly); day.Format(time.DateOnly) <= last; day = day.AddDate(0, 0, 1) {
		path := "/api/admin/v1/bills/" + day.Format(time.DateOnly)
		s.g.admin.call(202, "POST", path+"/run", nil)
		var got dayBill
		eventually(s.t, recovery, "the day is reconciled", func() (bool, string) {
			got = as[dayBill](s.g.admin, s.g.admin.call(200, "GET", path, nil))
			return got.Status == "compared", fmt.Sprintf("%+v", got)
		})
		if len(got.Differences.List) != 0 {
			s.t.Errorf("WeChat's bill of %s differs from the books: %+v", day.Format(time.DateOnly), got.Differences.List)
		}
		payments += got.Payments
	}
	if payments == 0 {
		s.t.Error("WeChat's bills have no payments: that shows nothing")
	}
}

// wechatLedger is what WeChat believes.
func (s *soak) wechatLedger() ledger {
	s.t.Helper()
	type row struct {
		OpenID       string `json:"openid"`
		OutTradeNo   string `json:"out_trade_no"`
		PaidFen      int64  `json:"paid_fen"`
		RefundedFen  int64  `json:"refunded_fen"`
		RefundingFen int64  `json:"refunding_fen"`
	}
	books := as[struct{ List, Numbers []row }](s.wx, s.wx.call(200, "GET", "/sandbox/books", nil))
	l := ledger{shoppers: map[string]money{}, numbers: map[string]money{}, orders: map[string]money{}}
	for _, r := range books.List {
		l.shoppers[r.OpenID] = money{r.PaidFen, r.RefundedFen}
	}
	for _, r := range books.Numbers {
		l.numbers[r.OutTradeNo] = money{r.PaidFen, r.RefundedFen}
		no, _, _ := strings.Cut(r.OutTradeNo, "-")
		sum := l.orders[no]
		sum.add(r.PaidFen, r.RefundedFen)
		l.orders[no] = sum
		if r.RefundingFen != 0 {
			s.t.Errorf("%d fen of %s are still on their way back at WeChat", r.RefundingFen, r.OutTradeNo)
		}
	}
	return l
}

// shopLedger is what the shop believes.
func (s *soak) shopLedger(db *sql.DB) ledger {
	s.t.Helper()
	l := ledger{shoppers: map[string]money{}, numbers: map[string]money{}, kept: map[string]int64{}}
	rows, err := db.Query(`SELECT p.out_trade_no, b.openid, p.amount_fen,
		COALESCE((SELECT SUM(r.amount_fen) FROM refunds r WHERE r.payment_id = p.id AND r.state = 'success'), 0)
		FROM payments p JOIN orders o ON o.id = p.order_id JOIN shoppers b ON b.id = o.shopper_id`)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var number, openID string
		var paid, back int64
		if err := rows.Scan(&number, &openID, &paid, &back); err != nil {
			s.t.Fatal(err)
		}
		if _, twice := l.numbers[number]; twice {
			s.t.Errorf("number %s was paid twice", number)
		}
		l.numbers[number] = money{paid, back}
		sum := l.shoppers[openID]
		sum.add(paid, back)
		l.shoppers[openID] = sum
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	s.earned(db, l.kept)
	return l
}

// earned is what each order brought: its price less what was refunded, and nothing if it is closed.
func (s *soak) earned(db *sql.DB, kept map[string]int64) {
	s.t.Helper()
	rows, err := db.Query("SELECT no, CASE WHEN state = 'closed' THEN 0 ELSE payable_fen - refunded_fen END FROM orders")
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var no string
		var fen int64
		if err := rows.Scan(&no, &fen); err != nil {
			s.t.Fatal(err)
		}
		kept[no] = fen
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
}

// compare finds every fen that the two disagree about.
func (s *soak) compare(wx, own ledger) {
	s.t.Helper()
	s.compareMoney("number", wx.numbers, own.numbers)
	s.compareMoney("shopper", wx.shoppers, own.shoppers)
	for _, no := range sorted(own.kept) {
		if at := wx.orders[no]; at.Paid-at.Back != own.kept[no] {
			s.t.Errorf("order %s: shoppers paid %d and got back %d, the shop says it earned %d", no, at.Paid, at.Back, own.kept[no])
		}
	}
	for _, no := range sorted(wx.orders) {
		if _, there := own.kept[no]; !there {
			s.t.Errorf("WeChat has money for order %s, which does not exist", no)
		}
	}
	total := money{}
	for _, m := range wx.shoppers {
		total.add(m.Paid, m.Back)
	}
	s.t.Logf("%d payments of %d fen by %d shoppers, %d fen back; %d orders", len(wx.numbers), total.Paid, len(wx.shoppers), total.Back, len(own.kept))
	if total.Paid == 0 || total.Back == 0 {
		s.t.Error("no money went both ways: that shows nothing")
	}
}

func (s *soak) compareMoney(what string, wx, own map[string]money) {
	s.t.Helper()
	for _, key := range sorted(wx) {
		if own[key] != wx[key] {
			s.t.Errorf("%s %s: WeChat says %+v, the shop %+v", what, key, wx[key], own[key])
		}
	}
	for _, key := range sorted(own) {
		if _, there := wx[key]; !there {
			s.t.Errorf("%s %s: the shop says %+v, WeChat knows nothing", what, key, own[key])
		}
	}
}

// checkStock counts the shelf: what was there, less what orders have that were not closed unpaid, and what of them came back.
func (s *soak) checkStock(db *sql.DB) {
	s.t.Helper()
	for sku, start := range s.g.start {
		left := countRows(s.t, db, fmt.Sprintf("SELECT stock FROM skus WHERE id = %d", sku))
		sold := countRows(s.t, db, fmt.Sprintf(`SELECT COALESCE(SUM(l.quantity), 0) FROM order_lines l JOIN orders o ON o.id = l.order_id
			WHERE l.sku_id = %d AND o.state <> 'closed'`, sku))
		back := countRows(s.t, db, fmt.Sprintf(`SELECT COALESCE(SUM(g.delta), 0) FROM stock_ledger g JOIN orders o ON o.id = g.order_id
			WHERE g.sku_id = %d AND g.kind = 'return' AND o.state <> 'closed'`, sku))
		if left != start-sold+back {
			s.t.Errorf("SKU %d: %d left, want %d − %d sold + %d returned", sku, left, start, sold, back)
		}
		if left < 0 {
			s.t.Errorf("SKU %d: %d left", sku, left)
		}
	}
}

// checkPromises fails unless every order that was promised is there, no refund was made that nobody asked for, however often the
// request was made again, and WeChat has every payment that a phone has seen.
func (s *soak) checkPromises(db *sql.DB) {
	s.t.Helper()
	for _, no := range s.placed {
		if countRows(s.t, db, "SELECT COUNT(*) FROM orders WHERE no = '"+no+"'") != 1 {
			s.t.Errorf("order %s was promised and is not there", no)
		}
	}
	for _, no := range sorted(s.wanted) {
		made := countRows(s.t, db, "SELECT COUNT(*) FROM refunds r JOIN orders o ON o.id = r.order_id WHERE r.kind = 'merchant' AND o.no = '"+no+"'")
		if made > s.wanted[no] {
			s.t.Errorf("order %s: %d refunds were asked for, %d made", no, s.wanted[no], made)
		}
	}
	numbers := s.wechatLedger().numbers
	for _, number := range sorted(s.paid) {
		if numbers[number].Paid != s.paid[number] {
			s.t.Errorf("a phone paid %d fen for %s, WeChat has %+v", s.paid[number], number, numbers[number])
		}
	}
}

// checkShipped fails unless WeChat knows of every shipment that the shop says it does, and of no other; but for those that it refuses
// now, of whose former state the answer may have been lost.
func (s *soak) checkShipped(db *sql.DB) {
	s.t.Helper()
	wx := map[string]int64{}
	for _, n := range as[listOf[struct {
		OutTradeNo      string `json:"out_trade_no"`
		ShippingUploads int64  `json:"shipping_uploads"`
	}]](s.wx, s.wx.call(200, "GET", "/sandbox/transactions", nil)).List {
		wx[n.OutTradeNo] = n.ShippingUploads
	}
	rows, err := db.Query(`SELECT p.out_trade_no, COALESCE(u.state, ''), COALESCE(u.sent_at, 0) > 0 FROM payments p
		LEFT JOIN shipping_uploads u ON u.id = p.settled_order`)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	states := map[string]int{}
	for rows.Next() {
		var number, state string
		var sent bool
		if err := rows.Scan(&number, &state, &sent); err != nil {
			s.t.Fatal(err)
		}
		states[state]++
		if (wx[number] > 0) != sent && (sent || state != "refused") {
			s.t.Errorf("%s: the shop says uploaded %v (%s), WeChat has %d uploads", number, sent, state, wx[number])
		}
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("shipping uploads of payments: %v", states)
	logRows(s.t, db, "SELECT error FROM shipping_uploads WHERE state = 'refused' LIMIT 3")
}

// logOpenNumbers logs what of the numbers could still be paid.
func (s *soak) logOpenNumbers() {
	s.t.Helper()
	open := as[listOf[struct {
		OutTradeNo string `json:"out_trade_no"`
	}]](s.wx, s.wx.call(200, "GET", "/sandbox/transactions?state=NOTPAY", nil))
	s.t.Logf("numbers that could still be paid: %v", open.List)
}

func (s *soak) logStates(db *sql.DB) {
	s.t.Helper()
	rows, err := db.Query("SELECT CONCAT(state, ' ', close_reason), COUNT(*) FROM orders GROUP BY state, close_reason")
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	states := map[string]int64{}
	for rows.Next() {
		var state string
		var n int64
		if err := rows.Scan(&state, &n); err != nil {
			s.t.Fatal(err)
		}
		states[strings.TrimSpace(state)] = n
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("orders: %v", states)
}
