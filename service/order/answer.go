package order

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

// TopicAnswerOverdue is the message that a merchant has not answered an after-sale in time. The key is "aftersale:ID", the
// sequence the after-sale's version.
const TopicAnswerOverdue = "aftersale.answer_overdue"

// AnswerOverdue is the payload of TopicAnswerOverdue.
type AnswerOverdue struct {
	AftersaleID int64               `json:"aftersale_id"`
	OrderID     int64               `json:"order_id"`
	MerchantID  int64               `json:"merchant_id"`
	ShopperID   int64               `json:"shopper_id"`
	Type        model.AftersaleType `json:"type"`
	At          model.Time          `json:"at"`
}

// answersDue marks after-sales that the merchant has not answered, or whose goods were not received, in time, all in one transaction. It moves no money: whether
// to give something back stays the merchant's to say, and an alert that nobody heeds does not decide it.
func (s *Service) answersDue(ctx context.Context, tasks []timeout.Task) []timeout.Outcome {
	out, at, ids := sorted(tasks)
	var decided map[int64]timeout.Outcome
	err := s.Store.Tx(ctx, func(tx *store.Tx) (err error) {
		decided, err = s.answerBatch(tx, tasks, at, ids)
		return err
	})
	switch {
	case errors.Is(err, errMoved):
		return timeout.All(tasks, timeout.Again(err))
	case err != nil:
		return timeout.All(tasks, failed(err))
	}
	for id, o := range decided {
		out[at[id]] = o
	}
	if len(decided) < len(ids) {
		s.missing(ctx, "aftersales", ids, at, decided, out)
	}
	return out
}

func (s *Service) answerBatch(tx *store.Tx, tasks []timeout.Task, at map[int64]int, ids []int64) (map[int64]timeout.Outcome, error) {
	var rows []model.Aftersale
	if err := tx.Raw("SELECT * FROM aftersales WHERE id IN ? ORDER BY id"+tx.SkipLocked(), ids).Scan(&rows).Error; err != nil {
		return nil, err
	}
	about := make([]int64, len(rows))
	for i, a := range rows {
		about[i] = a.OrderID
	}
	orders, err := traced(tx, about)
	if err != nil {
		return nil, err
	}
	decided := make(map[int64]timeout.Outcome, len(rows))
	var b store.Batch
	var messages []event.New
	now := s.Now()
	for _, a := range rows {
		decided[a.ID] = timeout.Done()
		switch {
		case a.AnswerDeadline == nil, a.State != model.AftersaleRequested && a.State != model.AftersaleReturning:
		case int64(*a.AnswerDeadline) > tasks[at[a.ID]].Due:
			decided[a.ID] = timeout.Reschedule(int64(*a.AnswerDeadline))
		default:
			b.Expect(1, errMoved, `UPDATE aftersales SET answer_deadline = NULL, answer_overdue_at = ?, version = version + 1, updated_at = ?
				WHERE id = ? AND version = ? AND state = ? AND answer_deadline = ?`,
				now, now, a.ID, a.Version, string(a.State), *a.AnswerDeadline)
			_, traceparent := s.step(tx, TopicAnswerOverdue, cmp.Or(orders[a.OrderID], &model.Order{ID: a.OrderID}))
			messages = append(messages, event.New{
				Trace: traceparent, Topic: TopicAnswerOverdue, Key: fmt.Sprintf("aftersale:%d", a.ID), Seq: a.Version + 1, MerchantID: a.MerchantID, At: now,
				Payload: AnswerOverdue{AftersaleID: a.ID, OrderID: a.OrderID, MerchantID: a.MerchantID, ShopperID: a.ShopperID, Type: a.Type, At: now},
			})
		}
	}
	if len(messages) == 0 {
		return decided, nil
	}
	if err := event.Add(tx.Statement.Context, &b, messages...); err != nil {
		return nil, err
	}
	tx.AfterCommit(s.relayed)
	err = tx.Send(&b)
	if err == nil {
		s.count(KindAftersale, len(messages), int64(len(messages)))
	}
	return decided, err
}

func (s *Service) alarmUnanswered(ctx context.Context, m event.Message) error {
	var late AnswerOverdue
	if err := m.Decode(&late); err != nil {
		return err
	}
	s.Log.WarnContext(ctx, "an after-sale was not answered in time", "aftersale", late.AftersaleID, "order", late.OrderID, "merchant", late.MerchantID)
	return nil
}
