package reconcile

import (
	"context"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Difference is a difference of a day with its anomaly; those that the bill itself cleared up have none.
type Difference struct {
	model.BillDifference
	AnomalyID int64 // 0: none
	State     model.AnomalyState
	Detail    string
	Note      string
}

// List returns a page of the days between from and to, both included (0: open), that stand at the state ("": any), newest first, and
// how many there are.
func (s *Service) List(ctx context.Context, from, to Day, state model.BillState, p store.Page) ([]model.Bill, int64, error) {
	if to == 0 {
		to = 99991231
	}
	q := func() *gorm.DB {
		q := s.Store.Read(ctx).Model(&model.Bill{}).Where("id BETWEEN ? AND ?", from, to)
		if state != "" {
			q = q.Where("state = ?", state)
		}
		return q
	}
	var n int64
	if err := q().Count(&n).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	var rows []model.Bill
	err := q().Order("id DESC").Offset(p.Offset()).Limit(p.Limit).Find(&rows).Error
	return rows, n, store.Classify(err)
}

// Get returns a day with a page of its differences and how many there are. not_found where the day has no bill yet.
func (s *Service) Get(ctx context.Context, day Day, p store.Page) (*model.Bill, []Difference, int64, error) {
	b, err := s.byID(ctx, int64(day))
	if err != nil {
		return nil, nil, 0, err
	}
	if b == nil {
		return nil, nil, 0, fault.New(fault.NotFoundError)
	}
	var n int64
	if err := s.Store.Read(ctx).Raw("SELECT COUNT(*) FROM bill_differences WHERE day = ?", day).Scan(&n).Error; err != nil {
		return nil, nil, 0, store.Classify(err)
	}
	var rows []Difference
	err = s.Store.Read(ctx).Raw(`SELECT d.*, COALESCE(a.id, 0) AS anomaly_id, COALESCE(a.state, '') AS state, COALESCE(a.detail, '') AS detail,
			COALESCE(a.note, '') AS note
		FROM bill_differences d LEFT JOIN anomalies a ON a.kind = d.kind AND a.ref = d.ref
		WHERE d.day = ? ORDER BY d.kind, d.ref LIMIT ? OFFSET ?`, day, p.Limit, p.Offset()).Scan(&rows).Error
	return b, rows, n, store.Classify(err)
}

// Run has a day reconciled again, now, and returns it; a day that is under way goes on. A day without a row, back to three months ago,
// gets one. validation_failed for one that WeChat does not keep any more, or that has not begun.
func (s *Service) Run(ctx context.Context, day Day) (*model.Bill, error) {
	now := s.Now()
	if day < oldest(now) || day > DayOf(now) {
		return nil, fault.New(fault.ValidationFailed).With("day", fault.FieldRange, "须为最近三个月内的日期", "must be within the last three months")
	}
	err := s.Store.Tx(ctx, func(tx *store.Tx) error {
		if err := s.make(ctx, tx, day, now); err != nil {
			return err
		}
		again := append(model.BillTransitions.From(model.BillWaiting), model.BillWaiting)
		n, err := tx.Affected("UPDATE bills SET state = ?, next_at = ?, calls = 0, error = '', ended_at = 0, updated_at = ?, version = version + 1 WHERE id = ? AND state IN ?",
			model.BillWaiting, now, now, day, again)
		if err != nil {
			return err
		}
		if n == 0 { // under way
			changelog.Nothing(ctx)
			return nil
		}
		tx.AfterCommit(func() { s.schedule(ctx, day, now) })
		return changelog.Record(tx, changelog.Bill, day, nil, map[string]any{"state": model.BillWaiting})
	})
	if err != nil {
		return nil, err
	}
	b, err := s.byID(ctx, int64(day))
	return b, err
}
