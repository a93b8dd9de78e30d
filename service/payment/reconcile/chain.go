package reconcile

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// pace is between days that are all due, as after an outage: WeChat is asked for one and then for the next.
const pace = 10 * time.Second

// Start makes the first day's row: that of the shop's first payment, or today's. Later starts find the days going on by
// themselves; only a shop that stood still for months begins anew.
func (s *Service) Start(ctx context.Context) error {
	var latest Day
	if err := s.Store.Read(ctx).Raw("SELECT COALESCE(MAX(id), 0) FROM bills").Scan(&latest).Error; err != nil {
		return store.Classify(err)
	}
	now := s.Now()
	first := DayOf(now)
	if latest >= oldest(now) {
		return nil
	}
	if latest != 0 {
		first = oldest(now)
	} else {
		var paid model.Time
		if err := s.Store.Read(ctx).Raw("SELECT COALESCE(MIN(paid_at), 0) FROM payments").Scan(&paid).Error; err != nil {
			return store.Classify(err)
		}
		if paid != 0 {
			first = max(min(first, DayOf(paid)), oldest(now))
		}
	}
	return s.Store.Tx(ctx, func(tx *store.Tx) error { return s.make(ctx, tx, first, first.Ready()) })
}

// make makes the row of a day unless it is there.
func (s *Service) make(ctx context.Context, tx *store.Tx, day Day, at model.Time) error {
	now := s.Now()
	row := model.Bill{ID: int64(day), State: model.BillWaiting, NextAt: &at, Version: 1, CreatedAt: now, UpdatedAt: now}
	made := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
	if made.Error != nil || made.RowsAffected == 0 {
		return made.Error
	}
	tx.AfterCommit(func() { s.schedule(ctx, day, at) })
	return nil
}

// following makes the row of the day after: at its hour, or shortly from now where that is past. Also behind a day that a person
// runs before it is over: nobody else would make it then.
func (s *Service) following(ctx context.Context, tx *store.Tx, day Day) error {
	now := s.Now()
	next := max(day.Add(1), oldest(now))
	return s.make(ctx, tx, next, max(next.Ready(), now.Add(pace)))
}
