package order

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/store"
)

// Topics of the messages that changes of after-sales write. The key is "aftersale:ID", the sequence the after-sale's version.
const (
	TopicAftersaleRequested = "aftersale.requested"
	TopicAftersaleApproved  = "aftersale.approved"
	TopicAftersaleReturning = "aftersale.returning" // also when the shopper corrects the parcel
	TopicAftersaleRefunding = "aftersale.refunding"
	TopicAftersaleRefunded  = "aftersale.refunded"
	TopicAftersaleRejected  = "aftersale.rejected"
	TopicAftersaleWithdrawn = "aftersale.withdrawn"
	// TopicAftersaleRefundFailed says that its refund failed for good and that it waits for the merchant again.
	TopicAftersaleRefundFailed = "aftersale.refund_failed"
)

var topicOfAftersale = map[model.AftersaleState]string{
	model.AftersaleRequested: TopicAftersaleRequested, model.AftersaleApproved: TopicAftersaleApproved,
	model.AftersaleReturning: TopicAftersaleReturning, model.AftersaleRefunding: TopicAftersaleRefunding,
	model.AftersaleRefunded: TopicAftersaleRefunded, model.AftersaleRejected: TopicAftersaleRejected,
	model.AftersaleWithdrawn: TopicAftersaleWithdrawn,
}

// AftersaleTopics are the topics of after-sales, but for that of the alert.
func AftersaleTopics() []string {
	return []string{
		TopicAftersaleRequested, TopicAftersaleApproved, TopicAftersaleReturning, TopicAftersaleRefunding, TopicAftersaleRefunded,
		TopicAftersaleRejected, TopicAftersaleWithdrawn, TopicAftersaleRefundFailed,
	}
}

// AftersaleChanged is the payload of every message about an after-sale but the alert.
type AftersaleChanged struct {
	AftersaleID int64                `json:"aftersale_id"`
	OrderID     int64                `json:"order_id"`
	No          string               `json:"no"` // the order's
	MerchantID  int64                `json:"merchant_id"`
	ShopperID   int64                `json:"shopper_id"`
	Type        model.AftersaleType  `json:"type"`
	State       model.AftersaleState `json:"state"`
	AmountFen   model.Fen            `json:"amount_fen"`
	RefundID    int64                `json:"refund_id,omitempty"`
	Actor       string               `json:"actor"`
	Version     int64                `json:"version"`
	At          model.Time           `json:"at"`
}

// returnTransit is what a parcel that is sent back may take on its way before the merchant's time to look at it begins.
const returnTransit = 7 * 24 * time.Hour

// CreateAftersale writes an after-sale that is asked for, with its lines, its deadline and its message, in the caller's
// transaction, which has the order's lock.
func (s *Service) CreateAftersale(tx *store.Tx, o *model.Order, a *model.Aftersale, lines []model.AftersaleLine) error {
	a.State, a.Version, a.AnswerDeadline = model.AftersaleRequested, 1, s.AnswerDeadline(o, a.CreatedAt)
	a.Steps = a.Steps.With(model.AftersaleStep{State: a.State, Actor: ActorShopper(a.ShopperID), Text: a.Reason, At: a.CreatedAt})
	if err := tx.Create(a).Error; err != nil {
		return err
	}
	if err := tx.Create(&lines).Error; err != nil {
		return err
	}
	return s.aftersaleSaid(tx, o, a, TopicAftersaleRequested, ActorShopper(a.ShopperID))
}

// ChangeAftersale makes a change of an after-sale in the caller's transaction, which has the order's lock: the state, and with it
// the other columns as they are in a. ok is false, and nothing is done, where somebody else changed it first or where the state
// is one that cannot follow. An open parcel may be corrected: returning may follow itself.
func (s *Service) ChangeAftersale(tx *store.Tx, o *model.Order, a *model.Aftersale, to model.AftersaleState, actor string) (ok bool, err error) {
	step := model.AftersaleStep{State: to, Actor: actor}
	switch {
	case to == model.AftersaleReturning:
		step.Carrier, step.TrackingNo = a.Carrier, a.TrackingNo
	case actor == a.AnsweredBy && !slices.ContainsFunc(a.Steps, func(s model.AftersaleStep) bool { return s.Text == a.Answer }):
		step.Text = a.Answer // an answer stands until another one is given
	}
	return s.changeAftersale(tx, o, a, topicOfAftersale[to], step)
}

// changeAftersale makes a change and keeps it as a step, at the instant of the change.
func (s *Service) changeAftersale(tx *store.Tx, o *model.Order, a *model.Aftersale, topic string, step model.AftersaleStep) (ok bool, err error) {
	to := step.State
	correction := a.State == to && to == model.AftersaleReturning
	if !correction && !model.AftersaleTransitions.Allowed(a.State, to) {
		return false, nil
	}
	now := s.Now()
	due := s.answerDue(o, a.State, to, now)
	step.At = now
	steps := a.Steps.With(step)
	n, err := tx.Affected(`UPDATE aftersales SET state = ?, answer = ?, answered_by = ?, amount_fen = ?, refund_id = ?, carrier = ?, tracking_no = ?,
		restock = ?, steps = ?, answer_deadline = ?, answer_overdue_at = NULL, version = version + 1, updated_at = ? WHERE id = ? AND version = ? AND state = ?`,
		to, a.Answer, a.AnsweredBy, a.AmountFen, a.RefundID, a.Carrier, a.TrackingNo, a.Restock, steps, due, now, a.ID, a.Version, a.State)
	if err != nil || n == 0 {
		return false, err
	}
	a.State, a.Version, a.UpdatedAt, a.AnswerDeadline, a.AnswerOverdueAt, a.Steps = to, a.Version+1, now, due, nil, steps
	return true, s.aftersaleSaid(tx, o, a, topic, step.Actor)
}

// answerDue is when the merchant is to have acted on an after-sale that gets into a state; nil where nobody waits for the merchant.
func (s *Service) answerDue(o *model.Order, from, to model.AftersaleState, now model.Time) *model.Time {
	switch {
	case to == model.AftersaleReturning && from != model.AftersaleRefunding:
		return s.AnswerDeadline(o, now.Add(returnTransit))
	case to == model.AftersaleReturning, to == model.AftersaleRequested:
		return s.AnswerDeadline(o, now)
	}
	return nil
}

// aftersaleSaid writes the message of a change that was made, and schedules the deadline that came with it.
func (s *Service) aftersaleSaid(tx *store.Tx, o *model.Order, a *model.Aftersale, topic, actor string) error {
	_, traceparent := s.step(tx, topic, o)
	tx.AfterCommit(s.relayed)
	if a.AnswerDeadline != nil {
		ctx, task := context.WithoutCancel(tx.Statement.Context), stageTask(KindAftersale, a.ID, *a.AnswerDeadline)
		tx.AfterCommit(func() { s.schedule(ctx, task) })
	}
	return event.Append(tx, event.New{
		Trace: traceparent, Topic: topic, Key: fmt.Sprintf("aftersale:%d", a.ID), Seq: a.Version, MerchantID: a.MerchantID, At: a.UpdatedAt,
		Payload: AftersaleChanged{
			AftersaleID: a.ID, OrderID: o.ID, No: o.No, MerchantID: a.MerchantID, ShopperID: a.ShopperID, Type: a.Type, State: a.State,
			AmountFen: a.AmountFen, RefundID: a.RefundID, Actor: actor, Version: a.Version, At: a.UpdatedAt,
		},
	})
}

// RefundAftersale makes the refund of an after-sale, and the after-sale refunding, in the caller's transaction, which has read
// both under the order's lock and done no more. ok is false where the after-sale cannot be refunded any more; the caller then
// rolls back. Where nothing is to be paid back it is refunded here. refund_too_much, refund_too_old, refund_too_many.
func (s *Service) RefundAftersale(tx *store.Tx, o *model.Order, a *model.Aftersale, refundID int64, actor string) (ok bool, err error) {
	wanted, err := aftersaleLines(tx.DB, a.ID)
	if err != nil {
		return false, err
	}
	r, err := s.makeRefund(tx, o, refundID, RefundRequest{
		Kind: model.RefundAftersale, AftersaleID: a.ID, Actor: actor, Lines: wanted, Reason: a.Reason,
	})
	if err != nil {
		return false, err
	}
	a.RefundID, a.AmountFen = r.ID, r.AmountFen
	if ok, err := s.ChangeAftersale(tx, o, a, model.AftersaleRefunding, actor); err != nil || !ok {
		return false, err
	}
	return true, s.refundFree(tx, o, r)
}

// aftersaleLines reads what an after-sale is about.
func aftersaleLines(db *gorm.DB, id int64) ([]RefundPart, error) {
	var parts []RefundPart
	err := db.Raw("SELECT line_id, quantity FROM aftersale_lines WHERE aftersale_id = ? ORDER BY line_id", id).Scan(&parts).Error
	return parts, store.Classify(err)
}

// aftersaleOf reads the after-sale that a refund is for under its row lock; nil for a refund that nobody asked for.
func aftersaleOf(tx *store.Tx, r *model.Refund) (*model.Aftersale, error) {
	if r.AftersaleID == 0 {
		return nil, nil
	}
	var rows []model.Aftersale
	if err := tx.Raw("SELECT * FROM aftersales WHERE id = ?"+tx.ForUpdate(), r.AftersaleID).Scan(&rows).Error; err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("refund %d is for after-sale %d, which does not exist", r.ID, r.AftersaleID)
	}
	return &rows[0], nil
}

// aftersaleRefunded ends an after-sale in the transaction that records its refund's success; a may be nil.
func (s *Service) aftersaleRefunded(tx *store.Tx, o *model.Order, a *model.Aftersale) error {
	if a == nil {
		return nil
	}
	ok, err := s.ChangeAftersale(tx, o, a, model.AftersaleRefunded, ActorWeChat)
	if err == nil && !ok {
		err = fmt.Errorf("ending after-sale %d: %w", a.ID, errMoved)
	}
	return err
}

// aftersaleUnrefunded gives an after-sale whose refund failed for good back to the merchant, as it was before the refund was made:
// approving it again, or receiving the goods again, makes a new refund, and it can still be rejected. So no money is stuck.
// said is WeChat's reason.
func (s *Service) aftersaleUnrefunded(tx *store.Tx, o *model.Order, r *model.Refund, said string) error {
	a, err := aftersaleOf(tx, r)
	if err != nil || a == nil {
		return err
	}
	to := model.AftersaleRequested
	if a.Type == model.AftersaleReturn {
		to = model.AftersaleReturning
	}
	a.RefundID = 0
	ok, err := s.changeAftersale(tx, o, a, TopicAftersaleRefundFailed, model.AftersaleStep{State: to, Actor: ActorWeChat, Failed: true, Text: said})
	if err == nil && !ok {
		err = fmt.Errorf("reopening after-sale %d: %w", a.ID, errMoved)
	}
	return err
}
