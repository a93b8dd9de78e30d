package order

import (
	"strings"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
)

// Filter narrows a list of orders. ShopperID or MerchantID must be given; the other fields may be zero.
type Filter struct {
	ShopperID  int64
	MerchantID int64
	State      model.OrderState
	// CloseReason leaves closed orders alone.
	CloseReason model.CloseReason
	// Query is the beginning of an order number, an out_trade_no, or the last four digits of the receiver's phone.
	Query string
	// Nickname is that of the shopper.
	Nickname string
	// ProductID and SKUID leave orders that have a line of them.
	ProductID, SKUID int64
	// MinFen and MaxFen bound what was to be paid, both included; 0 is no bound.
	MinFen, MaxFen model.Fen
	// ShipOverdue leaves orders for which the alert was given that they are not shipped yet.
	ShipOverdue bool
	// AftersaleOpen leaves orders that have an after-sale that has not ended.
	AftersaleOpen bool
	From, To      model.Time // created, half-open

	shoppers []int64 // those of the nickname
}

// Searched reports whether no index has the list that is asked for: it is then searched for in pages, and never counted.
func (f Filter) Searched() bool {
	return f.CloseReason != "" || f.Nickname != "" || f.ProductID != 0 || f.SKUID != 0 || f.MinFen != 0 || f.MaxFen != 0 || f.AftersaleOpen ||
		f.MerchantID != 0 && f.ShopperID != 0 || f.byTail() && f.state() != "" || f.Query != "" && !f.byTail() && !f.numbered()
}

// state is the state of all orders of the list; empty where they are of any.
func (f Filter) state() model.OrderState {
	switch {
	case f.State != "":
		return f.State
	case f.ShipOverdue:
		return model.OrderPaid
	case f.CloseReason != "":
		return model.OrderClosed
	}
	return ""
}

// on narrows orders to what is asked for.
func (f Filter) on(db *gorm.DB) *gorm.DB {
	q := db.Model(&model.Order{})
	if f.ShopperID != 0 {
		q = q.Where("shopper_id = ?", f.ShopperID)
	}
	if f.shoppers != nil {
		q = q.Where("shopper_id IN ?", f.shoppers)
	}
	if f.MerchantID != 0 {
		q = q.Where("merchant_id = ?", f.MerchantID)
	}
	if state := f.state(); state != "" {
		q = q.Where("state = ?", state)
	}
	if f.ShipOverdue {
		q = q.Where("state = ? AND ship_overdue_at IS NOT NULL", model.OrderPaid)
	}
	if f.CloseReason != "" {
		q = q.Where("close_reason = ?", f.CloseReason)
	}
	if f.byTail() {
		q = q.Where("receiver_phone_tail = ?", f.Query)
	} else if f.Query != "" {
		no := f.number()
		q = q.Where("no >= ? AND no < ?", no, no+"~") // "~" sorts after every character of a number
	}
	if f.MinFen != 0 {
		q = q.Where("payable_fen >= ?", f.MinFen)
	}
	if f.MaxFen != 0 {
		q = q.Where("payable_fen <= ?", f.MaxFen)
	}
	return f.ofGoods(f.within(q))
}

// within narrows orders, or lines, to the time that is asked for.
func (f Filter) within(q *gorm.DB) *gorm.DB {
	if f.From != 0 {
		q = q.Where("created_at >= ?", f.From)
	}
	if f.To != 0 {
		q = q.Where("created_at < ?", f.To)
	}
	return q
}

// ofGoods leaves orders that have a line of what is asked for. It looks at the lines of one order at a time.
func (f Filter) ofGoods(q *gorm.DB) *gorm.DB {
	const line = "EXISTS (SELECT 1 FROM order_lines l WHERE l.order_id = orders.id AND "
	if f.ProductID != 0 {
		q = q.Where(line+"l.product_id = ?)", f.ProductID)
	}
	if f.SKUID != 0 {
		q = q.Where(line+"l.sku_id = ?)", f.SKUID)
	}
	return q
}

// byTail reports whether a merchant asks for the tail of a phone: four digits, with which no order number begins.
func (f Filter) byTail() bool { return f.MerchantID != 0 && isTail(f.Query) }

// number is the beginning of an order number that is asked for.
func (f Filter) number() string {
	no, _, _ := strings.Cut(strings.ToUpper(f.Query), "-")
	return no
}

// numbered reports whether the number is asked for by so much of it that its index finds the orders: those of a day at most, since a
// shorter beginning is that of everybody's.
func (f Filter) numbered() bool { return len(f.number()) >= len("T20060102") }

// index has the order of the list, by what it is narrowed to, or finds the orders whose numbers begin alike.
func (f Filter) index() string {
	switch {
	case f.byTail():
		return "ix_orders_merchant_tail"
	case f.numbered():
		return "uk_orders_no"
	}
	index := "ix_orders_merchant"
	if f.ShopperID != 0 {
		index = "ix_orders_shopper"
	}
	if f.state() != "" {
		index += "_state"
	}
	return index
}
