package sandbox

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// books is everything the simulated WeChat remembers. Reading and changing happen in
// view and change; a change is answered only when it is on the disk.
type books struct {
	mu      sync.Mutex
	journal *journal
	dirty   []entry
	remembered
}

// remembered is what the books say.
type remembered struct {
	orders       map[string]*order  // by out_trade_no
	prepays      map[string]string  // prepay_id → out_trade_no
	transactions map[string]string  // transaction_id → out_trade_no
	orderList    []*order           // in order of creation
	refunds      map[string]*refund // by out_refund_no
	refundList   []*refund
	notices      map[string]*notice // by id
	noticeList   []*notice
	postings     map[string]*posting     // pushes under way, by id
	codes        map[string]bool         // single-use codes that were used
	grants       map[string]subscription // by openid and template
	told         []*subscribeMessage     // subscribe messages, oldest first
	tokens       tokenBook
	settings     settings
	orderPath    string // of the mini-program's page that the order centre opens
}

// settings are the switches for what WeChat leaves open or what a test wants otherwise.
// They are kept with the books.
type settings struct {
	CloseMinAgeMS       int64   `json:"close_min_age_ms"`       // younger orders cannot be closed; v2 had five minutes
	CloseUnknown        int     `json:"close_unknown"`          // status for closing an unknown number: 404 or 204
	RefundMinIntervalMS int64   `json:"refund_min_interval_ms"` // between refunds of one order; WeChat says one minute
	RefundDelayMS       int64   `json:"refund_delay_ms"`        // from acceptance to result
	RefundResult        string  `json:"refund_result"`          // SUCCESS, ABNORMAL or CLOSED
	RefundHold          bool    `json:"refund_hold"`            // refunds stay PROCESSING until told otherwise
	RefundBalanceFen    *int64  `json:"refund_balance_fen"`     // what refunds are paid from; null: without end
	Spelling            string  `json:"spelling"`               // of codes: random, new (ORDER_PAID) or old (ORDERPAID)
	SpellingSeed        uint64  `json:"spelling_seed"`          // with random: the same seed spells the same way again; 0: by chance
	ResendScale         float64 `json:"resend_scale"`           // 1: WeChat's schedule
	PayerDiscountFen    int64   `json:"payer_discount_fen"`     // WeChat's own coupon on the next payments
	TokenTTLSeconds     int64   `json:"token_ttl_s"`            // life of access tokens
	Platform            string  `json:"platform"`               // what WeChat signs with: public_key, certificate or both
	BillToday           bool    `json:"bill_today"`             // bills exist before ten o'clock of the next day
	BillState           string  `json:"bill_state"`             // creating or none: what the asking is answered; empty: by the books
	BillHash            string  `json:"bill_hash"`              // what is announced: of the unpacked file, of the packed one, or wrong
	BillPlain           bool    `json:"bill_plain"`             // the file comes unpacked though GZIP was asked for
	BillFiller          int     `json:"bill_filler"`            // payments of a big shop in every bill, which the books do not know
	ShippingLag         bool    `json:"shipping_lag"`           // shipping management does not see orders yet (10060001)
	SubscribeGrants     bool    `json:"subscribe_grants"`       // subscribe messages need a shopper's consent, and use it up
	PushURL             string  `json:"push_url"`               // where pushes go; empty: beside the payment callback of the latest order
	CheckUnseen         bool    `json:"check_unseen"`           // content checks say that the shopper was not active lately (61010)
	MediaHold           bool    `json:"media_hold"`             // verdicts on pictures are not pushed by themselves
	ShippingSplitCounts bool    `json:"shipping_split_counts"`  // every upload after the first uses the correction
	ShippingRemindMS    int64   `json:"shipping_remind_ms"`     // paid orders are reminded of after that; 0: never, WeChat says two days

	BillEdits []billEdit `json:"bill_edits"` // rows of bills dropped, altered, added
}

var defaultSettings = settings{
	CloseUnknown: 404, RefundDelayMS: 300, RefundResult: "SUCCESS", Spelling: "random", Platform: platformKey, BillHash: "unpacked",
	ResendScale: 1.0 / 15, TokenTTLSeconds: 7200,
}

func nothing() remembered {
	return remembered{
		orders: map[string]*order{}, prepays: map[string]string{}, transactions: map[string]string{},
		refunds: map[string]*refund{}, notices: map[string]*notice{}, postings: map[string]*posting{}, codes: map[string]bool{}, grants: map[string]subscription{}, settings: defaultSettings,
	}
}

func openBooks(dir string) (*books, error) {
	b := &books{remembered: nothing()}
	path := filepath.Join(dir, "books.jsonl")
	if err := readJournal(path, b.take); err != nil {
		return nil, err
	}
	var err error
	b.journal, err = rewriteJournal(path, b.snapshot())
	return b, err
}

// take applies one entry of the journal.
func (b *books) take(e entry) error {
	switch e.Kind {
	case "order":
		o := new(order)
		if err := json.Unmarshal(e.Value, o); err != nil {
			return err
		}
		if old := b.orders[o.OutTradeNo]; old != nil {
			*old = *o
			o = old
		}
		b.index(o)
	case "refund":
		r := new(refund)
		if err := json.Unmarshal(e.Value, r); err != nil {
			return err
		}
		if old := b.refunds[r.OutRefundNo]; old != nil {
			*old = *r
			return nil
		}
		b.addRefund(r)
	case "notice":
		n := new(notice)
		if err := json.Unmarshal(e.Value, n); err != nil {
			return err
		}
		if old := b.notices[n.ID]; old != nil {
			*old = *n
			return nil
		}
		b.addNotice(n)
	case "push":
		n := new(posting)
		if err := json.Unmarshal(e.Value, n); err != nil {
			return err
		}
		b.postings[n.ID] = n
		if n.Left == 0 {
			delete(b.postings, n.ID)
		}
	case "code":
		b.codes[e.ID] = true
	case "grant":
		var g subscription
		if err := json.Unmarshal(e.Value, &g); err != nil {
			return err
		}
		b.grants[e.ID] = g
	case "message":
		m := new(subscribeMessage)
		if err := json.Unmarshal(e.Value, m); err != nil {
			return err
		}
		b.told = append(b.told, m)
	case "tokens":
		return json.Unmarshal(e.Value, &b.tokens)
	case "settings":
		return json.Unmarshal(e.Value, &b.settings)
	case "order_path":
		return json.Unmarshal(e.Value, &b.orderPath)
	}
	return nil
}

// snapshot is the shortest journal that says the same.
func (b *books) snapshot() []entry {
	b.dirty = nil
	for _, o := range b.orderList {
		b.save("order", o.OutTradeNo, o)
	}
	for _, r := range b.refundList {
		b.save("refund", r.OutRefundNo, r)
	}
	for _, n := range b.noticeList {
		if n.open() { // a settled delivery is of no use after a restart
			b.save("notice", n.ID, n)
		}
	}
	for id, n := range b.postings {
		b.save("push", id, n)
	}
	for code := range b.codes {
		b.save("code", code, true)
	}
	for key, g := range b.grants {
		b.save("grant", key, g)
	}
	for _, m := range b.told {
		b.save("message", "", m)
	}
	b.save("tokens", "", b.tokens)
	b.save("settings", "", b.settings)
	b.save("order_path", "", b.orderPath)
	all := b.dirty
	b.dirty = nil
	return all
}

// save marks a thing as changed; only inside change.
func (b *books) save(kind, id string, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		panic("sandbox: " + err.Error()) // plain structs: cannot happen
	}
	b.dirty = append(b.dirty, entry{kind, id, raw})
}

// change runs fn under the lock and returns when what it saved is on the disk.
func (b *books) change(fn func()) error {
	n, err := b.write(fn)
	if err != nil || n == 0 {
		return err
	}
	return b.journal.sync(n)
}

func (b *books) write(fn func()) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dirty = nil
	fn()
	if len(b.dirty) == 0 {
		return 0, nil
	}
	n, err := b.journal.append(b.dirty)
	if err != nil {
		err = errors.Join(err, b.restore())
	}
	return n, err
}

// restore has the books say again what the journal does: the change that could not be written is told to nobody.
func (b *books) restore() error {
	was := b.remembered
	b.remembered = nothing()
	if err := readJournal(b.journal.path, b.take); err != nil {
		b.remembered = was
		return err
	}
	changed := func(kind, id string) bool {
		return slices.ContainsFunc(b.dirty, func(e entry) bool { return e.Kind == kind && e.ID == id })
	}
	for i, o := range b.orderList {
		b.orderList[i] = keep(b.orders, was.orders, o.OutTradeNo, changed("order", o.OutTradeNo))
	}
	for i, r := range b.refundList {
		b.refundList[i] = keep(b.refunds, was.refunds, r.OutRefundNo, changed("refund", r.OutRefundNo))
	}
	for i, n := range b.noticeList {
		b.noticeList[i] = keep(b.notices, was.notices, n.ID, changed("notice", n.ID))
	}
	return nil
}

// keep leaves a thing where it was in memory, with what the journal says of it if that differs: deliveries and refunds under way hold
// on to what they are about.
func keep[T any](now, was map[string]*T, id string, changed bool) *T {
	if old := was[id]; old != nil {
		if changed {
			*old = *now[id]
		}
		now[id] = old
	}
	return now[id]
}

// view runs fn under the lock; fn must not change anything.
func (b *books) view(fn func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fn()
}

func (b *books) close() error { return b.journal.file.Close() }

// index enters an order under all its names; entering it again adds the new ones.
func (b *books) index(o *order) {
	if b.orders[o.OutTradeNo] == nil {
		b.orders[o.OutTradeNo] = o
		b.orderList = append(b.orderList, o)
	}
	for _, p := range o.Prepays {
		b.prepays[p.ID] = o.OutTradeNo
	}
	if o.TransactionID != "" {
		b.transactions[o.TransactionID] = o.OutTradeNo
	}
}

func (b *books) addRefund(r *refund) {
	b.refunds[r.OutRefundNo] = r
	b.refundList = append(b.refundList, r)
}

func (b *books) addNotice(n *notice) {
	b.notices[n.ID] = n
	b.noticeList = append(b.noticeList, n)
}

// refundsOf lists the refunds of an order, oldest first.
func (b *books) refundsOf(o *order) []*refund {
	list := make([]*refund, 0, len(o.Refunds))
	for _, no := range o.Refunds {
		list = append(list, b.refunds[no])
	}
	return list
}

// china is the zone WeChat writes its times in.
var china = time.FixedZone("+08:00", 8*60*60)

func wechatTime(t time.Time) string { return t.In(china).Format(time.RFC3339) }
