package order

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

// Timeout kinds of the stages beside paying. Keys are ids of orders, and of an after-sale for the last.
const (
	// KindRemind reminds the shopper to pay (orders.remind_at).
	KindRemind = policy.StageRemind
	// KindShip gives the alert that a paid order is not shipped yet (orders.ship_due_at).
	KindShip = policy.StageShip
	// KindConfirm completes a shipped order that the shopper has not confirmed (orders.confirm_due_at).
	KindConfirm = policy.StageConfirm
	// KindAftersale gives the alert that the merchant has not answered (aftersales.answer_deadline).
	KindAftersale = policy.StageAftersale
)

// decide asks the policies how long a stage of the order may take.
func (s *Service) decide(stage string, o *model.Order) policy.Decision {
	return s.Policies.Resolve(stage, queryOf(o))
}

// AnswerDeadline returns when the merchant is to have answered an after-sale of the order that is asked for now; nil for never.
func (s *Service) AnswerDeadline(o *model.Order, now model.Time) *model.Time {
	return s.decide(policy.StageAftersale, o).From(now)
}

// instants is a column's value for each order, by id; nil is NULL.
type instants map[int64]*model.Time

// the columns of the stages, and where each is kept in an order.
var stageColumns = map[string]func(o *model.Order) **model.Time{
	"remind_at":       func(o *model.Order) **model.Time { return &o.RemindAt },
	"ship_due_at":     func(o *model.Order) **model.Time { return &o.ShipDueAt },
	"ship_overdue_at": func(o *model.Order) **model.Time { return &o.ShipOverdueAt },
	"confirm_due_at":  func(o *model.Order) **model.Time { return &o.ConfirmDueAt },
}

// kindOf has the kinds of the columns that are deadlines.
var kindOf = map[string]string{"remind_at": KindRemind, "ship_due_at": KindShip, "confirm_due_at": KindConfirm}

// stages returns the columns that a change sets: its own, and those of the stages that end or begin with it.
func (s *Service) stages(c change, from model.OrderState, orders []*model.Order) map[string]any {
	set := maps.Clone(c.set)
	if set == nil {
		set = map[string]any{}
	}
	if c.to == from {
		return set
	}
	switch from {
	case model.OrderPending:
		set["remind_at"] = nil
	case model.OrderPaid:
		set["ship_due_at"], set["ship_overdue_at"] = nil, nil
	case model.OrderShipped:
		set["confirm_due_at"] = nil
	}
	switch c.to {
	case model.OrderPaid:
		set["ship_due_at"] = s.begun(policy.StageShip, c.at, orders)
	case model.OrderShipped:
		set["confirm_due_at"] = s.begun(policy.StageConfirm, c.at, orders)
	}
	return set
}

// begun returns the deadlines of a stage that begins for the orders.
func (s *Service) begun(stage string, at model.Time, orders []*model.Order) instants {
	due := make(instants, len(orders))
	for _, o := range orders {
		due[o.ID] = s.decide(stage, o).From(at)
	}
	return due
}

// assign writes "column = value" for an UPDATE.
func assign(column string, value any) (sql string, args []any) {
	each, ok := value.(instants)
	if !ok {
		return column + " = ?", []any{value}
	}
	for _, id := range slices.Sorted(maps.Keys(each)) {
		args = append(args, id, each[id])
	}
	return column + " = CASE id" + strings.Repeat(" WHEN ? THEN ?", len(each)) + " END", args
}

// keepStages writes the stages' columns into the order as they were stored.
func keepStages(o *model.Order, set map[string]any) {
	for column, at := range stageColumns {
		value, ok := set[column]
		if !ok {
			continue
		}
		switch v := value.(type) {
		case instants:
			*at(o) = v[o.ID]
		case model.Time:
			*at(o) = &v
		default:
			*at(o) = nil
		}
	}
}

// scheduleStages hands the deadlines that were set to the timeout module, after the commit.
func (s *Service) scheduleStages(tx *store.Tx, orders []*model.Order, set map[string]any) {
	var tasks []timeout.Task
	for column, kind := range kindOf {
		for _, o := range orders {
			if at := *stageColumns[column](o); set[column] != nil && at != nil {
				tasks = append(tasks, stageTask(kind, o.ID, *at))
			}
		}
	}
	if len(tasks) > 0 {
		ctx := context.WithoutCancel(tx.Statement.Context)
		tx.AfterCommit(func() { s.schedule(ctx, tasks...) })
	}
}

func stageTask(kind string, id int64, at model.Time) timeout.Task {
	return timeout.Task{Kind: kind, Key: strconv.FormatInt(id, 10), Due: int64(at)}
}
