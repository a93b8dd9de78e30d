package report

import (
	"context"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Point is an Overview of one hour or day.
type Point struct {
	Start model.Time
	Overview
}

// By is how long the spans of a series are.
type By string

// The spans.
const (
	ByHour By = "hour"
	ByDay  By = "day"
)

const hour = time.Hour

// Series parts the orders created from ≤ t < to into hours, or into days of the zone, oldest first; spans without orders are there
// with zeros. The database adds up by hours counted from `from`, which must be the start of an hour or day in the zone; clocks are
// put forward and back by whole hours.
func (r Report) Series(ctx context.Context, merchantID int64, from, to model.Time, by By, zone *time.Location) ([]Point, error) {
	var hours []struct {
		Slot int64
		Overview
	}
	// A remainder, since MySQL and SQLite do not agree on how to divide whole numbers.
	err := r.Store.Read(ctx).Raw(`SELECT (created_at - ? - (created_at - ?) % ?) AS slot, `+figures+`
		FROM orders WHERE merchant_id = ? AND created_at >= ? AND created_at < ? GROUP BY slot`,
		from, from, hour.Milliseconds(), merchantID, from, to).Scan(&hours).Error
	if err != nil {
		return nil, store.Classify(err)
	}
	points := spans(from, to, by, zone)
	for _, h := range hours {
		at := from + model.Time(h.Slot)
		i := 0
		for i+1 < len(points) && points[i+1].Start <= at {
			i++
		}
		points[i].add(h.Overview)
	}
	return points, nil
}

// spans are the empty points of a series.
func spans(from, to model.Time, by By, zone *time.Location) []Point {
	points := []Point{}
	for at := from; at < to; {
		points = append(points, Point{Start: at})
		t := at.Std().In(zone)
		if by == ByDay {
			at = model.At(time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, zone))
		} else {
			at = model.At(t.Add(hour))
		}
	}
	return points
}

func (o *Overview) add(other Overview) {
	o.Placed += other.Placed
	o.Paid += other.Paid
	o.ClosedTimeout += other.ClosedTimeout
	o.PaidFen += other.PaidFen
	o.RefundedFen += other.RefundedFen
}
