package admin

import (
	"context"
	"time"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/report"
)

// Reports has the operations about figures.
type Reports struct {
	Service interface {
		Overview(ctx context.Context, merchantID int64, from, to model.Time) (report.Overview, error)
		Series(ctx context.Context, merchantID int64, from, to model.Time, by report.By, zone *time.Location) ([]report.Point, error)
		BestSellers(ctx context.Context, merchantID int64, from, to model.Time, limit int) ([]report.BestSeller, error)
		LowStock(ctx context.Context, merchantID, most int64, limit int) ([]report.LowStock, error)
	}
	Now func() model.Time
}

// Overview is what became of the orders placed in a time.
type Overview struct {
	From                model.Time `json:"from" format:"date-time"`
	To                  model.Time `json:"to" format:"date-time" doc:"Exclusive"`
	PlacedOrders        int64      `json:"placed_orders"`
	PaidOrders          int64      `json:"paid_orders" doc:"Of the placed ones, whatever became of them afterwards"`
	ClosedTimeoutOrders int64      `json:"closed_timeout_orders" doc:"Of the placed ones"`
	PaidFen             model.Fen  `json:"paid_fen"`
	RefundedFen         model.Fen  `json:"refunded_fen" doc:"Given back of paid_fen so far"`
	AverageFen          model.Fen  `json:"average_fen" doc:"Of a paid order, rounded down"`
}

// OverviewInput asks for an overview.
type OverviewInput struct{ api.DayRange }

// Overview answers for the orders placed in a time of 366 days at most; today where nothing is said.
func (r *Reports) Overview(ctx context.Context, in *OverviewInput) (*api.Reply[Overview], error) {
	from, to, err := r.bounds(ctx, in.DayRange)
	if err != nil {
		return nil, err
	}
	o, err := r.Service.Overview(ctx, api.Admin(ctx).MerchantID, from, to)
	if err != nil {
		return nil, err
	}
	return api.Body(overviewOf(from, to, o)), nil
}

func overviewOf(from, to model.Time, o report.Overview) Overview {
	return Overview{
		From: from, To: to, PlacedOrders: o.Placed, PaidOrders: o.Paid, ClosedTimeoutOrders: o.ClosedTimeout,
		PaidFen: o.PaidFen, RefundedFen: o.RefundedFen, AverageFen: o.AverageFen(),
	}
}

// longest is the longest time that figures are told of: what they cost grows with it.
const longest = 366 * 24 * time.Hour

// notOver fails where a range is longer than most.
func notOver(most time.Duration, from, to model.Time) error {
	if to.Std().Sub(from.Std()) > most+time.Hour { // a day may have 25 hours
		return fault.New(fault.ValidationFailed).With("from", fault.FieldRange, "时间范围太长", "the range is too long")
	}
	return nil
}

// bounds reads a range of days: today where nothing is said, up to now where no end is said, and no longer than longest.
func (r *Reports) bounds(ctx context.Context, days api.DayRange) (from, to model.Time, err error) {
	if from, to, err = days.Bounds(ctx); err != nil {
		return 0, 0, err
	}
	now := r.Now().Std().In(api.Zone(ctx))
	if from == 0 && to == 0 {
		from = model.At(time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location()))
	}
	if to == 0 {
		to = model.CeilTime(now) + 1
	}
	return from, to, notOver(longest, from, to)
}
