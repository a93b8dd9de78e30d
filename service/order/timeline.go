package order

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/store"
)

// MomentKind says what happened.
type MomentKind string

// Kinds of moments. Those of a thing that ends have one for the beginning and one for the end.
const (
	MomentEvent          MomentKind = "event"
	MomentAttempt        MomentKind = "attempt"
	MomentAttemptEnded   MomentKind = "attempt_ended"
	MomentPayment        MomentKind = "payment"
	MomentMessage        MomentKind = "message"
	MomentRefund         MomentKind = "refund"
	MomentRefundEnded    MomentKind = "refund_ended"
	MomentAftersale      MomentKind = "aftersale"
	MomentAftersaleNow   MomentKind = "aftersale_now"
	MomentParcel         MomentKind = "parcel"
	MomentUpload         MomentKind = "upload"
	MomentReceived       MomentKind = "received"
	MomentSettled        MomentKind = "settled"
	MomentAnomaly        MomentKind = "anomaly"
	MomentAnomalyCleared MomentKind = "anomaly_resolved"
	MomentRemark         MomentKind = "remark"
	MomentNotice         MomentKind = "notice"
	MomentCallback       MomentKind = "callback"
)

// Moment is one thing that happened to an order. Fields that say nothing of the kind are zero.
type Moment struct {
	At     model.Time
	Kind   MomentKind
	Actor  string // who did it, as in OrderEvent; empty where it is nobody's doing
	Status string // where the thing stood then, or stands now where its steps are not kept
	Reason string
	Amount model.Fen
	Ref    string // the number or id of the thing
	// Details is whatever else is known, for reading.
	Details map[string]any
}

// momentRows bounds how many things of one sort are told of an order.
const momentRows = 500

// Timeline returns everything that is known to have happened to the merchant's order, in order of time, and the order's id. It asks
// as many queries for any order. Messages are told of as long as the table keeps them. not_found if it is another merchant's.
func (s *Service) Timeline(ctx context.Context, merchantID int64, no string) (moments []Moment, orderID int64, err error) {
	o, err := s.byNo(ctx, no, merchantID, 0)
	if err != nil {
		return nil, 0, err
	}
	t := timeline{service: s, ctx: ctx, order: o, keys: []string{fmt.Sprintf("order:%d", o.ID)}}
	for _, part := range []func() error{t.events, t.attempts, t.payments, t.callbacks, t.refunds, t.aftersales, t.parcels, t.upload, t.anomalies, t.remarks, t.messages} {
		if err := part(); err != nil {
			return nil, 0, store.Classify(err)
		}
	}
	SortMoments(t.moments)
	return t.moments, o.ID, nil
}

// SortMoments puts moments in order of time; those of one millisecond keep their order.
func SortMoments(m []Moment) {
	slices.SortStableFunc(m, func(a, b Moment) int { return cmp.Compare(a.At, b.At) })
}

// timeline collects moments.
type timeline struct {
	service *Service
	ctx     context.Context //nolint:containedctx // it lives as long as one call
	order   *model.Order
	moments []Moment
	keys    []string // of the messages about the order and what hangs on it
	trades  []string // the numbers of the attempts
}

func (t *timeline) add(m ...Moment) {
	for _, one := range m {
		if one.At != 0 {
			t.moments = append(t.moments, one)
		}
	}
}

// rows reads what belongs to the order.
func (t *timeline) rows(into any, order string) error {
	return t.service.Store.Read(t.ctx).Where("order_id = ?", t.order.ID).Order(order).Limit(momentRows).Find(into).Error
}

func (t *timeline) events() error {
	var rows []model.OrderEvent
	err := t.rows(&rows, "version")
	for _, e := range rows {
		d := map[string]any{"version": e.Version, "to": e.ToState}
		if e.FromState != "" {
			d["from"] = e.FromState
		}
		if e.TraceID != "" {
			d["trace_id"] = e.TraceID
		}
		t.add(Moment{At: e.CreatedAt, Kind: MomentEvent, Actor: e.Actor, Status: string(e.ToState), Reason: e.Reason, Details: d})
	}
	return err
}

func (t *timeline) attempts() error {
	var rows []model.PaymentAttempt
	err := t.rows(&rows, "created_at, id")
	for _, a := range rows {
		t.trades = append(t.trades, a.OutTradeNo)
		d := map[string]any{"time_expire": a.TimeExpire, "queries": a.Queries}
		if a.PrepayAt != 0 {
			d["prepay_at"] = a.PrepayAt
		}
		t.add(
			Moment{At: a.CreatedAt, Kind: MomentAttempt, Actor: ActorShopper(t.order.ShopperID), Status: string(a.State), Amount: a.AmountFen, Ref: a.OutTradeNo, Details: d},
			Moment{At: a.EndedAt, Kind: MomentAttemptEnded, Status: string(a.State), Amount: a.AmountFen, Ref: a.OutTradeNo},
		)
	}
	return err
}

func (t *timeline) payments() error {
	var rows []model.Payment
	err := t.rows(&rows, "created_at, id")
	for _, p := range rows {
		t.keys = append(t.keys, fmt.Sprintf("payment:%d", p.ID))
		t.add(Moment{At: p.CreatedAt, Kind: MomentPayment, Actor: ActorWeChat, Amount: p.AmountFen, Ref: p.TransactionID, Details: map[string]any{
			"out_trade_no": p.OutTradeNo, "paid_at": p.PaidAt, "payer_fen": p.PayerFen, "settled": p.Settled,
		}})
	}
	return err
}

// callbacks tells what WeChat called about the order's attempts.
func (t *timeline) callbacks() error {
	if len(t.trades) == 0 {
		return nil
	}
	var rows []model.Callback
	err := t.service.Store.Read(t.ctx).Where("out_trade_no IN ? AND merchant_id = ?", t.trades, t.order.MerchantID).Order("created_at, id").Limit(momentRows).Find(&rows).Error
	for _, c := range rows {
		d := map[string]any{"kind": c.Kind, "event_type": c.EventType, "count": c.Count, "last_at": c.LastAt, "answered": c.Status, "took_ms": c.TookMS, "request_id": c.RequestID}
		if c.OutRefundNo != "" {
			d["out_refund_no"] = c.OutRefundNo
		}
		t.add(Moment{
			At: c.CreatedAt, Kind: MomentCallback, Actor: ActorWeChat, Status: string(c.Verdict), Reason: c.Reason, Amount: c.AmountFen, Ref: c.OutTradeNo, Details: d,
		})
	}
	return err
}

func (t *timeline) refunds() error {
	var rows []model.Refund
	err := t.rows(&rows, "created_at, id")
	for _, r := range rows {
		t.keys = append(t.keys, fmt.Sprintf("refund:%d", r.ID))
		d := map[string]any{"kind": r.Kind, "calls": r.Calls, "freight_fen": r.FreightFen}
		ended := map[string]any{"kind": r.Kind}
		if r.AftersaleID != 0 {
			d["aftersale_id"] = r.AftersaleID
		}
		if r.RefundID != "" {
			ended["refund_id"] = r.RefundID
		}
		if r.Error != "" {
			d["error"], ended["error"] = r.Error, r.Error
		}
		t.add(
			Moment{At: r.CreatedAt, Kind: MomentRefund, Status: string(r.State), Reason: r.Reason, Amount: r.AmountFen, Ref: r.OutRefundNo, Details: d},
			Moment{At: r.EndedAt, Kind: MomentRefundEnded, Actor: ActorWeChat, Status: string(r.State), Amount: r.AmountFen, Ref: r.OutRefundNo, Details: ended},
		)
	}
	return err
}

// aftersales tells how each began and where it stands; the steps between are in its messages.
func (t *timeline) aftersales() error {
	var rows []model.Aftersale
	err := t.rows(&rows, "created_at, id")
	for _, a := range rows {
		t.keys = append(t.keys, fmt.Sprintf("aftersale:%d", a.ID))
		ref := strconv.FormatInt(a.ID, 10)
		t.add(Moment{
			At: a.CreatedAt, Kind: MomentAftersale, Actor: ActorShopper(a.ShopperID), Status: string(model.AftersaleRequested), Reason: a.Reason,
			Amount: a.AmountFen, Ref: ref, Details: map[string]any{"type": a.Type},
		})
		if a.Version == 1 {
			continue
		}
		d := map[string]any{"type": a.Type, "version": a.Version}
		if a.TrackingNo != "" {
			d["carrier"], d["tracking_no"] = a.Carrier, a.TrackingNo
		}
		t.add(Moment{At: a.UpdatedAt, Kind: MomentAftersaleNow, Actor: a.AnsweredBy, Status: string(a.State), Reason: a.Answer, Amount: a.AmountFen, Ref: ref, Details: d})
	}
	return err
}

func (t *timeline) parcels() error {
	var rows []model.Parcel
	err := t.rows(&rows, "created_at, id")
	for _, p := range rows {
		d := map[string]any{"delivery": p.Delivery}
		if p.Carrier != "" {
			d["carrier"], d["tracking_no"] = p.Carrier, p.TrackingNo
		}
		t.add(Moment{At: p.CreatedAt, Kind: MomentParcel, Status: string(p.State), Ref: strconv.FormatInt(p.ID, 10), Details: d})
	}
	return err
}

func (t *timeline) upload() error {
	u, err := uploadOf(t.service.Store.Read(t.ctx), t.order.ID)
	if err != nil || u == nil {
		return err
	}
	d := map[string]any{"calls": u.Calls, "corrections": u.Corrections, "wanted_at": u.WantedAt}
	if u.NextAt != nil {
		d["next_at"] = *u.NextAt
	}
	t.add(
		Moment{At: cmp.Or(u.UploadedAt, u.CalledAt, u.CreatedAt), Kind: MomentUpload, Status: string(u.State), Reason: u.Error, Details: d},
		Moment{At: u.ReceivedAt, Kind: MomentReceived, Actor: ActorWeChat, Status: string(u.ReceivedBy)},
		Moment{At: u.SettledAt, Kind: MomentSettled, Actor: ActorWeChat},
	)
	return nil
}

func (t *timeline) anomalies() error {
	var rows []model.Anomaly
	err := t.rows(&rows, "id")
	for _, a := range rows {
		ref := strconv.FormatInt(a.ID, 10)
		t.add(
			Moment{At: a.CreatedAt, Kind: MomentAnomaly, Status: string(a.State), Ref: ref, Details: map[string]any{"kind": a.Kind, "ref": a.Ref, "detail": a.Detail, "seen": a.Seen}},
			Moment{At: a.ResolvedAt, Kind: MomentAnomalyCleared, Actor: a.ResolvedBy, Status: string(a.State), Reason: a.Note, Ref: ref, Details: map[string]any{"kind": a.Kind}},
		)
	}
	return err
}

func (t *timeline) remarks() error {
	var rows []model.OrderRemark
	err := t.rows(&rows, "version")
	for _, r := range rows {
		t.add(Moment{At: r.CreatedAt, Kind: MomentRemark, Actor: r.Actor, Reason: r.Text, Details: map[string]any{"version": r.Version}})
	}
	return err
}

func (t *timeline) messages() error {
	rows, err := event.Told(t.service.Store.Read(t.ctx), t.keys, momentRows)
	for _, m := range rows {
		d := map[string]any{"topic": m.Topic, "seq": m.Seq, "attempts": m.Attempts, "payload": json.RawMessage(m.Payload)}
		if m.SentAt != 0 {
			d["sent_at"] = m.SentAt
		}
		if m.Error != "" {
			d["error"] = m.Error
		}
		key, _, _ := strings.Cut(m.Key, ":")
		d["about"] = key
		t.add(Moment{At: m.CreatedAt, Kind: MomentMessage, Status: string(m.State), Reason: m.Topic, Ref: strconv.FormatInt(m.ID, 10), Details: d})
	}
	return err
}
