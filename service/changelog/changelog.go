// Package changelog keeps what admins change: who, when, what, before and after. A service records each change in the transaction that
// makes it; who is behind it comes with the context, so that what the shop does by itself leaves nothing here.
package changelog

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Kind says what sort of thing was changed.
type Kind string

// The kinds. Their texts are part of the API.
const (
	Admin             Kind = "admin"
	Aftersale         Kind = "aftersale"
	Anomaly           Kind = "anomaly"
	Bill              Kind = "bill"
	Category          Kind = "category"
	ContentHold       Kind = "content_hold"
	CouponTemplate    Kind = "coupon_template"
	FreightRule       Kind = "freight_rule"
	Job               Kind = "job"
	Merchant          Kind = "merchant"
	Message           Kind = "message"
	Order             Kind = "order"
	Product           Kind = "product"
	Review            Kind = "review"
	Role              Kind = "role"
	ShopSettings      Kind = "shop_settings"
	SKU               Kind = "sku"
	SubscribeTemplate Kind = "subscribe_template"
	Task              Kind = "task"
	TimeoutPolicy     Kind = "timeout_policy"
)

// Call is an admin's operation under way.
type Call struct {
	Action     string // the operation's id
	AdminID    int64
	AdminName  string
	MerchantID int64 // acted for, where the thing that changes does not say whose it is
	RequestID  string
	IP         string
	Now        func() model.Time

	recorded atomic.Bool
}

// Recorded reports whether the call has changed something and committed that with its entry, or has said that nothing was to change.
func (c *Call) Recorded() bool { return c.recorded.Load() }

type callKey struct{}

// Begin puts a call into the context of all that it does.
func Begin(ctx context.Context, c *Call) context.Context { return context.WithValue(ctx, callKey{}, c) }

func callOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Record writes what the call of the transaction's context changes: the thing by kind and ref (its id, or its number), and how it was
// and is, each a struct or a map by field, nil before it was made or after it was removed. Only fields that differ are kept, by their
// names in the database; secrets and phone numbers are not. Where the fields have a merchant_id the entry is that merchant's. Outside
// of an admin's call, and where no field differs, nothing is written.
func Record(tx *store.Tx, kind Kind, ref, before, after any) error {
	c := callOf(tx.Statement.Context)
	if c == nil {
		return nil
	}
	tx.AfterCommit(func() { c.recorded.Store(true) })
	d, err := compare(before, after)
	if err != nil {
		return fmt.Errorf("change of %s %v: %w", kind, ref, err)
	}
	if d.same {
		return nil
	}
	merchantID := c.MerchantID
	if d.merchantID != nil {
		merchantID = *d.merchantID
	}
	row := model.AdminChange{
		AdminID: c.AdminID, AdminName: c.AdminName, MerchantID: merchantID, Action: c.Action, Kind: string(kind), Ref: fmt.Sprint(ref),
		Before: d.before, After: d.after, RequestID: c.RequestID, IP: c.IP, CreatedAt: c.Now(),
	}
	return tx.Create(&row).Error
}

// Nothing says that the call was rightly answered without changing anything, as a replay of a request is.
func Nothing(ctx context.Context) {
	if c := callOf(ctx); c != nil {
		c.recorded.Store(true)
	}
}
