package order

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
)

// kinds are the kinds of the order's moments, those of messages by their topic.
func (tl *till) kinds(o *model.Order) []string {
	tl.t.Helper()
	moments, id, err := tl.Timeline(context.Background(), merchantID, o.No)
	if err != nil || id != o.ID {
		tl.t.Fatal(id, err)
	}
	var kinds []string
	last := model.Time(0)
	for _, m := range moments {
		if m.At < last {
			tl.t.Errorf("%s at %d is told after one at %d", m.Kind, m.At, last)
		}
		last = m.At
		kind := string(m.Kind)
		if m.Kind == MomentMessage {
			kind = m.Reason
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// The timeline tells of everything that an order goes through, in order of time.
func TestTimelineTellsOfEverything(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		tl.advance(time.Second)
		if err := tl.SetMerchantRemark(t.Context(), merchantID, o.No, "admin:3", "先电话", 0); err != nil {
			t.Fatal(err)
		}
		tl.advance(time.Second)
		tl.mustShip(o, parcel("YTO", "YT1"))
		tl.advance(time.Second)
		tl.uploadNow(o)
		tl.advance(time.Second)
		tl.refund(o)
		for i, no := range []string{tl.attempts(o)[0].OutTradeNo, "another order's"} {
			tl.insert(&model.Callback{MerchantID: merchantID, Kind: model.CallbackPay, NoticeID: fmt.Sprint(i), Verdict: model.CallbackAccepted, OutTradeNo: no, CreatedAt: tl.Now()})
		}
		got := tl.kinds(o)
		if n := len(slices.DeleteFunc(slices.Clone(got), func(kind string) bool { return kind != "callback" })); n != 1 {
			t.Errorf("%d callbacks are told of, want that of the order: %v", n, got)
		}
		for _, want := range []string{
			"event", "attempt", "attempt_ended", "payment", TopicCreated, TopicPaid, "remark", "parcel", TopicShipped, "upload", "refund", "refund.created",
		} {
			if !slices.Contains(got, want) {
				t.Errorf("%s is missing in %v", want, got)
			}
		}
		before, after := slices.Index(got, "remark"), slices.Index(got, "refund")
		if placed, shipped := slices.Index(got, TopicCreated), slices.Index(got, "parcel"); placed > before || before > shipped || shipped > after {
			t.Errorf("told in the order %v", got)
		}
		if _, _, err := tl.Timeline(t.Context(), 2, o.No); fault.CodeOf(err) != fault.NotFoundError {
			t.Errorf("another merchant reads it: %v", err)
		}
	})
}

// A remark has versions of its own: of two who read the same one, one writes; the order's version stays, and every text is kept.
func TestMerchantRemark(t *testing.T) {
	eachShop(t, func(t *testing.T, sh *shop) {
		o := sh.order(sh.sku(product{price: 100, stock: 10, virtual: true}), 1)
		set := func(merchant int64, actor, text string, version int64) error {
			return sh.SetMerchantRemark(t.Context(), merchant, o.No, actor, text, version)
		}
		for _, c := range []struct {
			merchant    int64
			actor, text string
			version     int64
			want        fault.Code
			stands      string
		}{
			{merchantID, "admin:3", "先电话", 0, "", "先电话 v1 admin:3"},
			{merchantID, "admin:4", "不发", 0, fault.StaleVersion, "先电话 v1 admin:3"},
			{2, "admin:9", "x", 1, fault.NotFoundError, "先电话 v1 admin:3"},
			{merchantID, "admin:4", "先电话", 1, "", "先电话 v1 admin:3"}, // nothing changed
			{merchantID, "admin:4", "", 1, "", " v2 admin:4"},
		} {
			err := set(c.merchant, c.actor, c.text, c.version)
			if err == nil && c.want != "" || err != nil && fault.CodeOf(err) != c.want {
				t.Errorf("%+v: %v", c, err)
			}
			d, err := sh.GetForMerchant(t.Context(), merchantID, o.No)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%s v%d %s", d.MerchantRemark.Text, d.MerchantRemark.Version, d.MerchantRemark.Actor); got != c.stands {
				t.Errorf("%+v: %q stands", c, got)
			}
		}
		if now := sh.reload(o); now.Version != o.Version {
			t.Errorf("the order has version %d", now.Version)
		}
		if n := sh.number("SELECT COUNT(*) FROM order_remarks WHERE order_id = ?", o.ID); n != 2 {
			t.Errorf("%d versions are kept", n)
		}
	})
}
