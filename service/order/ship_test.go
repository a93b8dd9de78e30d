package order

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

func express(lines ...RefundPart) ShipmentParcel {
	return ShipmentParcel{Delivery: model.DeliveryExpress, Carrier: "SF", TrackingNo: "SF1234567890", Lines: lines}
}

func (tl *till) ship(o *model.Order, parcels ...ShipmentParcel) error {
	_, err := tl.Ship(context.Background(), merchantID, o.No, "", "admin:1", Shipment{Parcels: parcels})
	return err
}

// Case T64.
func TestT64_ShipOnceAndConfirmOnce(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		_, err := tl.Confirm(t.Context(), o.ShopperID, o.No)
		tl.wantCode(err, fault.OrderState)
		shipped := 0
		for _, err := range together(8, func(int) error { return tl.ship(o, express()) }) {
			if err == nil {
				shipped++
			} else {
				tl.wantCode(err, fault.OrderState)
			}
		}
		if shipped != 1 || tl.number("SELECT COUNT(*) FROM shipping_uploads u JOIN parcels p ON p.order_id = u.id WHERE u.id = ? AND u.state = 'waiting' AND u.next_at IS NOT NULL", o.ID) != 1 {
			t.Errorf("shipped %d times", shipped)
		}
		tl.want(o, "shipped stock=9 coupon=used")
		_, err = tl.Confirm(t.Context(), tl.buyer(), o.No)
		tl.wantCode(err, fault.NotFoundError)
		for _, err := range together(4, func(int) error { _, err := tl.Confirm(context.Background(), o.ShopperID, o.No); return err }) {
			if err != nil {
				t.Error(err)
			}
		}
		if now := tl.reload(o); now.State != model.OrderCompleted || now.Version != 4 {
			t.Errorf("order is %s, version %d", now.State, now.Version)
		}
		tl.audited()
	})
}

func TestShipInPartsAndRefundTheRest(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o, l := tl.three()
		tl.wantCode(tl.ship(o, express(RefundPart{l.ID, 4})), fault.ValidationFailed)
		if err := tl.ship(o, express(RefundPart{l.ID, 1})); err != nil {
			t.Fatal(err)
		}
		tl.want(o, "paid stock=7 coupon=used")
		r := tl.refund(o, RefundPart{l.ID, 1})
		tl.wantCode(tl.ship(o, express()), fault.RefundOpen)
		tl.called()
		tl.bankSays(r.OutRefundNo, "SUCCESS")
		tl.advance(claimLife * 3)
		tl.tick()
		tl.want(o, "paid stock=8 coupon=used")
		tl.wantCode(tl.ship(o, express(RefundPart{l.ID, 2})), fault.ValidationFailed)
		tl.refund(o, RefundPart{l.ID, 1})
		tl.refunded(o)
		tl.want(o, "shipped stock=9 coupon=used") // one went out, two went back
		tl.audited()
	})
}

func TestWholeOrderInSeveralParcels(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o, l := tl.three()
		if err := tl.ship(o, express(RefundPart{l.ID, 1}), express(RefundPart{l.ID, 2})); err != nil {
			t.Fatal(err)
		}
		tl.want(o, "shipped stock=7 coupon=used")
		v, err := tl.Get(t.Context(), o.ShopperID, o.No)
		if err != nil || len(v.Parcels) != 2 || v.Parcels[0].Lines[0].Quantity != 1 || v.Parcels[1].Lines[0].Quantity != 2 {
			t.Errorf("parcels %+v, %v", v.Parcels, err)
		}
		tl.audited()
	})
}

func TestS05_S14_ParcelsThatWeChatWouldRefuse(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		sixteen := make([]ShipmentParcel, 16)
		for i := range sixteen {
			sixteen[i] = express()
		}
		for name, parcels := range map[string][]ShipmentParcel{
			"none": {}, "sixteen": sixteen,
			"unknown carrier":     {{Delivery: model.DeliveryExpress, Carrier: "NOBODY", TrackingNo: "1"}},
			"no tracking number":  {{Delivery: model.DeliveryExpress, Carrier: "SF", TrackingNo: " "}},
			"pick-up with number": {{Delivery: model.DeliveryPickup, TrackingNo: "1"}},
			"two pick-ups":        {{Delivery: model.DeliveryPickup}, {Delivery: model.DeliveryPickup}},
			"mixed":               {express(), {Delivery: model.DeliveryPickup}},
			"half named":          {express(RefundPart{1, 1}), express()},
		} {
			t.Run(name, func(t *testing.T) { tl.wantCode(tl.ship(o, parcels...), fault.ValidationFailed) })
		}
		tl.wantCode(tl.ship(tl.unpaid(), express()), fault.OrderNotPaid)
		for _, delivery := range []model.Delivery{model.DeliveryVirtual, model.DeliveryPickup, model.DeliverySameCity} {
			if err := tl.ship(tl.paid(), ShipmentParcel{Delivery: delivery}); err != nil {
				t.Errorf("%s: %v", delivery, err)
			}
		}
	})
}

func TestShipKeyIsReplayed(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.paid()
		sh := Shipment{Parcels: []ShipmentParcel{express()}}
		for range 2 {
			v, err := tl.Ship(t.Context(), merchantID, o.No, "ship-key-1", "admin:1", sh)
			if err != nil || v.State != model.OrderShipped || len(v.Parcels) != 1 {
				t.Fatalf("%+v, %v", v, err)
			}
		}
		_, err := tl.Ship(t.Context(), merchantID, o.No, "ship-key-2", "admin:1", sh)
		tl.wantCode(err, fault.OrderState)
		_, err = tl.Ship(t.Context(), merchantID, o.No, "ship-key-1", "admin:1", Shipment{Parcels: []ShipmentParcel{{Delivery: model.DeliveryVirtual}}})
		tl.wantCode(err, fault.IdempotencyKeyReused)
	})
}

func TestRepriceInEveryState(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		reprice := func(o *model.Order, adjust model.Fen, version int64) error {
			_, err := tl.Reprice(context.Background(), merchantID, o.No, "admin:1", Repricing{AdjustFen: adjust, Version: version})
			return err
		}
		o := tl.unpaid()
		tl.wantCode(reprice(o, -1, 2), fault.StaleVersion)
		tl.wantCode(reprice(o, -101, 1), fault.ValidationFailed)
		if err := reprice(o, -30, 1); err != nil {
			t.Fatal(err)
		}
		tl.wantCode(reprice(o, -30, 1), fault.StaleVersion)
		if err := reprice(o, 7, 2); err != nil { // in place of the former
			t.Fatal(err)
		}
		if now := tl.reload(o); now.PayableFen != 107 || now.AdjustmentFen != 7 || now.Version != 3 {
			t.Errorf("payable %d, adjustment %d, version %d", now.PayableFen, now.AdjustmentFen, now.Version)
		}
		if err := reprice(o, -100, 3); err != nil { // nothing is left to pay
			t.Fatal(err)
		}
		tl.want(o, paidOnce)
		tl.wantCode(reprice(o, 0, tl.reload(o).Version), fault.OrderAlreadyPaid)
		tl.audited()

		raced := tl.unpaid()
		tl.phone(tl.open(raced))
		tl.wantCode(reprice(raced, -1, 1), fault.OrderAlreadyPaid)
		tl.want(raced, "paid stock=8 coupon=used")
		if now := tl.reload(raced); now.PayableFen != 100 {
			t.Errorf("payable %d", now.PayableFen)
		}

		silent := tl.unpaid()
		tl.open(silent)
		tl.fault(m{"path": "/v3/pay/transactions/out-trade-no/" + silent.No + "-1", "mode": "reset"})
		tl.wantCode(reprice(silent, -1, 1), fault.WeChatUnavailable)
		if now := tl.reload(silent); now.PayableFen != 100 || now.ClaimToken != "" || now.ClosingReason != nil {
			t.Errorf("order %+v", now)
		}
		if err := reprice(silent, -1, 1); err != nil {
			t.Error(err)
		}
		tl.audited()
	})
}

// A change of an unpaid order whose claim ran out while WeChat was asked makes way: the order is in payment again, as it was.
func TestChangeThatOutlivesItsClaim(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		for name, change := range map[string]func(o *model.Order) error{
			"price": func(o *model.Order) error {
				_, err := tl.Reprice(context.Background(), merchantID, o.No, "admin:1", Repricing{AdjustFen: -10, Version: 1})
				return err
			},
			"deadline": func(o *model.Order) error {
				r := Retiming{Policy: model.TimeoutPolicy{ID: 1, Version: 1, DurationMS: time.Hour.Milliseconds()}, Actor: "admin:1", AskedAt: tl.Now()}
				return tl.Retime(context.Background(), o.ID, r, func(*store.Tx, model.Time, model.Time) error { return nil })
			},
		} {
			o := tl.unpaid()
			tl.open(o)
			tl.line.onceAfter("close", func(err error) error {
				tl.advance(claimLife)
				tl.open(o)
				return err
			})
			if err := change(o); !fault.Is(err, fault.OrderBusy) {
				t.Errorf("%s: %v", name, err)
			}
			now, live := tl.reload(o), tl.attempts(o)[1]
			if now.PayableFen != o.PayableFen || now.PayDeadline != o.PayDeadline || now.Version != 1 {
				t.Errorf("%s: order %+v", name, now)
			}
			if live.State != model.AttemptOpen || live.AmountFen != now.PayableFen {
				t.Errorf("%s: attempt %+v", name, live)
			}
			if err := change(o); err != nil {
				t.Errorf("%s, again: %v", name, err)
			}
		}
		tl.audited()
	})
}

// An order that cost nothing is refunded without WeChat: its stock and coupon come back.
func TestFreeOrderIsRefundedAtOnce(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		o := tl.unpaid()
		if _, err := tl.Reprice(t.Context(), merchantID, o.No, "admin:1", Repricing{AdjustFen: -100, Version: 1}); err != nil {
			t.Fatal(err)
		}
		if r := tl.refund(o); r.State != model.RefundSuccess || r.AmountFen != 0 {
			t.Errorf("refund %+v", r)
		}
		tl.want(o, "closed/refunded stock=10 coupon=available")
		tl.audited()
	})
}

// Deadline, payment, cancel, price and refund of the same orders all at once, many times over: whatever wins, the books balance.
func TestEverythingAtOnce(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		tl.exec("UPDATE skus SET price_fen = 150 WHERE id = ?", tl.sku)
		for round := range 6 {
			o := tl.unpaid()
			id := tl.open(o)
			tl.toDeadline(o)
			together(24, func(i int) error {
				ctx := context.Background()
				switch i % 6 {
				case 0:
					tl.control("POST", "/sandbox/pay", m{"prepay_id": id, "notify": m{"times": 0}}, nil)
				case 1:
					if said, err := tl.line.Client.Query(ctx, o.No+"-1"); err == nil && said.TradeState.Paid() {
						_, err = tl.Settle(ctx, said)
						return err
					}
				case 2:
					tl.run(KindPay, o.ID, o.PayDeadline)
					tl.tick()
				case 3:
					_, err := tl.Cancel(ctx, o.ShopperID, o.No)
					return err
				case 4:
					_, err := tl.Reprice(ctx, merchantID, o.No, "admin:1", Repricing{AdjustFen: model.Fen(-i), Version: 1})
					return err
				default:
					_, err := tl.Verify(ctx, o.ShopperID, o.No)
					return err
				}
				return nil
			})
			for range 5 {
				tl.advance(claimLife)
				tl.tick()
			}
			now := tl.reload(o)
			bank := tl.word(o.No + "-1").TradeState
			if now.State == model.OrderPending {
				t.Errorf("round %d: order is still pending, %+v; WeChat says %s", round, now, bank)
			}
			if now.State == model.OrderPaid != bank.Paid() {
				t.Errorf("round %d: order is %s, WeChat says %s", round, now.State, bank)
			}
			if n := tl.number("SELECT COUNT(*) FROM stock_ledger WHERE order_id = ? AND kind = 'release'", o.ID); (n == 1) != (now.State == model.OrderClosed) {
				t.Errorf("round %d: %d releases and %s", round, n, fmt.Sprint(now.State))
			}
		}
		tl.sound()
		tl.audited()
	})
}
