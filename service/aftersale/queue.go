package aftersale

import (
	"cmp"
	"context"
	"slices"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// never stands for the deadline of an after-sale that no policy gives one: it waits behind the others.
const never model.Time = 1<<53 - 1

// queueOrder is the order of the queue for pages by number; see due.
const queueOrder = "COALESCE(answer_overdue_at, answer_deadline, 9007199254740991), id"

// due is when an answer was or is due. The alert takes the deadline's place when it is given.
func due(a model.Aftersale) model.Time {
	switch {
	case a.AnswerOverdueAt != nil:
		return *a.AnswerOverdueAt
	case a.AnswerDeadline != nil:
		return *a.AnswerDeadline
	}
	return never
}

// queueAfter returns up to limit after-sales of the queue that follow the cursor. Each of its parts is read by the index that has
// its order, so that a page costs the same however many wait.
func (s *Service) queueAfter(ctx context.Context, f Filter, after store.Cursor, limit int) ([]View, *store.Cursor, error) {
	part := func(index, column string) *gorm.DB {
		q := f.on(s.store.Read(ctx))
		if s.store.Dialect() == store.MySQL {
			q = q.Table("aftersales FORCE INDEX (" + index + ")")
		}
		return q.Where(column+" >= ? AND ("+column+" > ? OR id > ?)", after.At, after.At, after.ID).Order(column + ", id")
	}
	var rows []model.Aftersale
	for _, q := range []*gorm.DB{
		part("ix_aftersales_overdue", "answer_overdue_at"),
		part("ix_aftersales_queue", "answer_deadline"),
		f.on(s.store.Read(ctx)).Where("answer_overdue_at IS NULL AND answer_deadline IS NULL AND (? < ? OR id > ?)", after.At, never, after.ID).Order("id"),
	} {
		var some []model.Aftersale
		if err := q.Limit(limit + 1).Find(&some).Error; err != nil {
			return nil, nil, store.Classify(err)
		}
		rows = append(rows, some...)
	}
	slices.SortFunc(rows, func(a, b model.Aftersale) int { return cmp.Or(cmp.Compare(due(a), due(b)), cmp.Compare(a.ID, b.ID)) })
	rows = rows[:min(len(rows), limit+1)]
	rows, next := store.Cut(rows, limit, f.At)
	views, err := s.views(ctx, rows, true)
	return views, next, err
}
