package deadline

import (
	"context"
	"errors"
	"strconv"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

// mostWaiting bounds how many waiting tasks are looked through for a page of one merchant's.
const mostWaiting = 4 * timeout.MaxBatch

// Replicas lists the processes that fire deadlines, and how many shards they divide.
func (b *Board) Replicas(ctx context.Context) ([]timeout.Replica, int, error) {
	list, shards, err := b.engine.Replicas(ctx)
	return list, shards, store.Classify(err)
}

// Ahead returns what of each kind is still to come; the figures are the installation's.
func (b *Board) Ahead(ctx context.Context) ([]timeout.Ahead, error) {
	list, err := b.engine.Ahead(ctx)
	return list, store.Classify(err)
}

// Waiting returns the tasks of a kind that wait, nearest first, of a merchant (0: of everybody), and where to read on; nil at the end.
// A page may hold fewer than limit and yet have more behind it. It fails with not_found for a kind that there is not.
func (b *Board) Waiting(ctx context.Context, merchantID int64, kind string, after store.Cursor, limit int) ([]timeout.Task, *store.Cursor, error) {
	at := timeout.Cursor{Due: int64(after.At)}
	if after != (store.Cursor{}) {
		at.Key = strconv.FormatInt(after.ID, 10)
	}
	own := []timeout.Task{}
	for range mostWaiting / timeout.MaxBatch {
		page, err := b.engine.Waiting(ctx, kind, at, timeout.MaxBatch)
		if errors.Is(err, timeout.ErrUnknownKind) {
			return nil, nil, fault.New(fault.NotFoundError)
		}
		if err != nil {
			return nil, nil, store.Classify(err)
		}
		theirs, err := b.tasksOf(ctx, merchantID, page)
		if err != nil {
			return nil, nil, err
		}
		if own = append(own, theirs...); len(own) > limit {
			return own[:limit], place(own[limit-1]), nil
		}
		if len(page) < timeout.MaxBatch {
			return own, nil, nil
		}
		last := page[len(page)-1]
		at = timeout.Cursor{Due: last.Due, Key: last.Key}
	}
	return own, place(timeout.Task{Due: at.Due, Key: at.Key}), nil
}

// place is a task's in the order of its kind.
func place(t timeout.Task) *store.Cursor {
	id, _ := strconv.ParseInt(t.Key, 10, 64)
	return &store.Cursor{At: model.Time(t.Due), ID: id}
}

// tasksOf keeps the tasks about things of the merchant; for merchant 0 all of them.
func (b *Board) tasksOf(ctx context.Context, merchantID int64, tasks []timeout.Task) ([]timeout.Task, error) {
	if merchantID == 0 || len(tasks) == 0 {
		return tasks, nil
	}
	rows := make([]timeout.Failure, len(tasks))
	for i, t := range tasks {
		rows[i] = timeout.Failure{Kind: t.Kind, Key: t.Key, Due: t.Due}
	}
	rows, err := b.ownedBy(ctx, merchantID, rows)
	if err != nil {
		return nil, err
	}
	own := make([]timeout.Task, len(rows))
	for i, r := range rows {
		own[i] = timeout.Task{Kind: r.Kind, Key: r.Key, Due: r.Due}
	}
	return own, nil
}

// ordersOf says for each table whose ids are keys how the number of the order is found that a row is about.
var ordersOf = map[string]string{
	"orders":             "SELECT id, no FROM orders WHERE id IN ?",
	"payment_attempts":   "SELECT t.id, o.no FROM payment_attempts t JOIN orders o ON o.id = t.order_id WHERE t.id IN ?",
	"refunds":            "SELECT t.id, o.no FROM refunds t JOIN orders o ON o.id = t.order_id WHERE t.id IN ?",
	"aftersales":         "SELECT t.id, o.no FROM aftersales t JOIN orders o ON o.id = t.order_id WHERE t.id IN ?",
	"subscribe_messages": "SELECT t.id, o.no FROM subscribe_messages t JOIN orders o ON o.id = t.order_id WHERE t.id IN ?",
	"content_holds":      "SELECT id, order_no AS no FROM content_holds WHERE id IN ?",
}

// Orders returns the numbers of the orders that tasks are about, by OrderKey; of a task about none there is nothing.
func (b *Board) Orders(ctx context.Context, tasks []timeout.Task) (map[string]string, error) {
	byKind := map[string][]int64{}
	for _, t := range tasks {
		if id, ok := idOf(timeout.Failure{Key: t.Key}); ok && ordersOf[b.owners[t.Kind]] != "" {
			byKind[t.Kind] = append(byKind[t.Kind], id)
		}
	}
	out := map[string]string{}
	for kind, ids := range byKind {
		var found []struct {
			ID int64
			No string
		}
		if err := b.store.Read(ctx).Raw(ordersOf[b.owners[kind]], ids).Scan(&found).Error; err != nil {
			return nil, store.Classify(err)
		}
		for _, row := range found {
			out[OrderKey(kind, strconv.FormatInt(row.ID, 10))] = row.No
		}
	}
	return out, nil
}

// OrderKey names a task in what Orders returns.
func OrderKey(kind, key string) string { return kind + " " + key }
