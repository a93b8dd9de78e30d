package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm/clause"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

// pageRows is how many rows of one side are looked at by one query.
const pageRows = 1000

// Kinds of differences that are no anomaly: the bill told of what the shop had not heard, and the shop now has it. A process that is
// killed between having it and noting so leaves no such row: the next run finds nothing missing.
const (
	FoundPayment = "payment_found"
	FoundRefund  = "refund_found"
)

// keptDays is how long rows of bills are kept: longer than WeChat does.
const keptDays = 100

// page is what a query of one side found.
type page struct {
	last      string                 // where the next page begins; empty at the end
	found     []model.BillDifference // that need no more than to be recorded
	anomalies []model.Anomaly        // the anomalies of found, those that are not recorded yet
	healed    []healed               // open anomalies of former comparisons that hold no longer
}

// healed is an open anomaly that holds no longer.
type healed struct {
	ID   int64
	Kind string
	Ref  string
}

// side compares a page behind after. Where more says that the time is up it ends the page early.
type side func(ctx context.Context, b *model.Bill, after string, more func() bool) (page, error)

// sides are the steps of a comparison, in their order.
func (s *Service) sides() []side {
	return []side{s.forget, s.billedPayments, s.billedRefunds, s.recordedPayments, s.recordedRefunds}
}

// compare compares, page by page, until it is done or the time is up. A page whose outcome was not recorded is compared again, and
// finds what it found before.
func (s *Service) compare(ctx context.Context, b *model.Bill, more func() bool) error {
	sides := s.sides()
	for b.CompareStep < len(sides) {
		p, err := sides[b.CompareStep](ctx, b, b.CompareAfter, more)
		if err != nil {
			return err
		}
		failpoint.Hit("bill.paged")
		if err := s.record(ctx, b, p); err != nil {
			return err
		}
		failpoint.Hit("bill.recorded")
		if !more() {
			return nil
		}
	}
	return s.compared(ctx, b)
}

// record writes what a page found, and where the next begins, in one transaction.
func (s *Service) record(ctx context.Context, b *model.Bill, p page) error {
	step := b.CompareStep
	if p.last == "" {
		step++
	}
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		now := s.Now()
		if err := s.changeIn(tx, b, map[string]any{"compare_step": step, "compare_after": p.last, "next_at": now.Add(lease)}); err != nil {
			return err
		}
		for _, a := range p.anomalies {
			a.CreatedAt = now
			if err := payment.Report(tx, a); err != nil {
				return err
			}
		}
		for _, h := range p.healed {
			if err := payment.Withdraw(tx, h.ID, "对账相符 · in WeChat's bill of "+Day(b.ID).String(), payment.ActorBill, now); err != nil {
				return err
			}
		}
		if len(p.found) == 0 {
			return nil
		}
		for i := range p.found {
			p.found[i].Day, p.found[i].FoundAt = b.ID, now
		}
		return tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&p.found).Error
	})
}

// compared ends the day.
func (s *Service) compared(ctx context.Context, b *model.Bill) error {
	state := model.BillCompared
	if b.Hash == "" {
		state = model.BillNone
	}
	var n int64
	if err := s.Store.Read(ctx).Raw("SELECT COUNT(*) FROM bill_differences WHERE day = ?", b.ID).Scan(&n).Error; err != nil {
		return store.Classify(err)
	}
	if err := s.dropOld(ctx); err != nil {
		return err
	}
	level := s.Log.InfoContext
	if n > 0 {
		level = s.Log.WarnContext
	}
	level(ctx, "a day is reconciled", "day", Day(b.ID), "payments", b.Payments, "payment_fen", b.PaymentFen, "refunds", b.Refunds, "refund_fen", b.RefundFen, "differences", n)
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		now := s.Now()
		if err := s.moveIn(tx, b, state, map[string]any{"differences": n, "next_at": s.again(b), "ended_at": now, "error": ""}); err != nil {
			return err
		}
		return payment.WithdrawOf(tx, payment.AnomalyBillFailed, Day(b.ID).String(), "已对账 · reconciled", payment.ActorBill, now)
	})
}

// dropOld deletes the rows of the oldest day if nothing is compared with it any more. A day a day keeps up.
func (s *Service) dropOld(ctx context.Context) error {
	var first Day
	err := s.Store.Read(ctx).Raw("SELECT COALESCE(MIN(day), 0) FROM bill_rows").Scan(&first).Error
	if err != nil || first == 0 || first >= DayOf(s.Now()).Add(-keptDays) {
		return store.Classify(err)
	}
	return s.purge(ctx, first, 0) // no run has that number
}

// forget is the step that clears what a former comparison of the day found.
func (s *Service) forget(ctx context.Context, b *model.Bill, _ string, _ func() bool) (page, error) {
	err := s.Store.Tx(ctx, func(tx *store.Tx) error { return tx.Exec("DELETE FROM bill_differences WHERE day = ?", b.ID).Error })
	return page{}, err
}

// billed is a row of the bill with what the shop has of it.
type billed struct {
	model.BillRow
	OurID      int64 // 0: the shop has none
	OurNo      string
	OurFen     model.Fen
	OurTotal   model.Fen
	OurState   model.RefundState
	MerchantID int64
	OrderID    int64
	PaymentID  int64
}

// billedPage reads the rows of a kind behind after, each with the shop's row of the same number.
func (s *Service) billedPage(ctx context.Context, b *model.Bill, kind model.BillRowKind, ours, after string) ([]billed, string, error) {
	var rows []billed
	err := s.Store.Read(ctx).Raw("SELECT b.*, "+ours+" WHERE b.day = ? AND b.kind = ? AND b.number > ? ORDER BY b.number LIMIT ?", b.ID, kind, after, pageRows).
		Scan(&rows).Error
	if err != nil || len(rows) < pageRows {
		return rows, "", store.Classify(err)
	}
	return rows, rows[len(rows)-1].Number, nil
}

// healable reads the open anomalies of the kinds about the bill's rows of a page.
func (s *Service) healable(ctx context.Context, b *model.Bill, of model.BillRowKind, after, last string, kinds ...string) ([]healed, error) {
	upTo, args := "", []any{kinds, b.ID, of, after}
	if last != "" {
		upTo, args = " AND b.number <= ?", append(args, last)
	}
	var open []healed
	err := s.Store.Read(ctx).Raw("SELECT a.id, a.kind, a.ref FROM bill_rows b JOIN anomalies a ON a.kind IN ? AND a.ref = b.number"+
		" WHERE b.day = ? AND b.kind = ? AND b.number > ?"+upTo+" AND a.state = 'open'", args...).Scan(&open).Error
	return open, store.Classify(err)
}

// keep drops from the open anomalies those that this page found again.
func (p *page) keep(open []healed) {
	again := map[healed]bool{}
	for _, a := range p.anomalies {
		again[healed{Kind: a.Kind, Ref: a.Ref}] = true
	}
	for _, h := range open {
		if !again[healed{Kind: h.Kind, Ref: h.Ref}] {
			p.healed = append(p.healed, h)
		}
	}
}

// isMisfit returns the field that does not fit, where that is the error.
func isMisfit(err error) (field string, ok bool) {
	var m Misfit
	if errors.As(err, &m) {
		return m.Misfit(), true
	}
	return "", false
}

// ref fits WeChat's words to the column, as the anomalies of the order service do.
func ref(text string) string { return text[:min(len(text), 80)] }

// differf is a difference that is an anomaly of the same kind and ref.
func (p *page) differf(kind, ref string, bill, shop model.Fen, a model.Anomaly, format string, args ...any) {
	a.Kind, a.Ref, a.Detail = kind, ref, fmt.Sprintf(format, args...)
	p.anomalies = append(p.anomalies, a)
	p.note(kind, ref, bill, shop)
}

// note is a difference whose anomaly, if it is one, is recorded already. One number that a page meets twice is one difference.
func (p *page) note(kind, ref string, bill, shop model.Fen) {
	for i, d := range p.found {
		if d.Kind == kind && d.Ref == ref {
			p.found[i].BillFen, p.found[i].ShopFen = bill, shop
			return
		}
	}
	p.found = append(p.found, model.BillDifference{Kind: kind, Ref: ref, BillFen: bill, ShopFen: shop})
}

// midnight is how far a payment may be from midnight and yet be in the neighbour's bill.
const midnight = time.Hour
