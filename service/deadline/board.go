// Package deadline shows people what the timeout module does: how much waits, how late it fires, which tasks fail; and lets them
// retry a dead one. It knows whose a task is, which the timeout module does not.
package deadline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

// Engine is what the board needs of a timeout.Engine.
type Engine interface {
	Stats(ctx context.Context) (timeout.Stats, error)
	Failures(ctx context.Context, p timeout.Page) ([]timeout.Failure, int64, error)
	RetryDead(ctx context.Context, kind, key string) error
	RetryAllDead(ctx context.Context, kind string) (int, error)
	Now() time.Time
	History(ctx context.Context, q timeout.HistoryQuery) (timeout.History, error)
	Replicas(ctx context.Context) (list []timeout.Replica, shards int, err error)
	Ahead(ctx context.Context) ([]timeout.Ahead, error)
	Waiting(ctx context.Context, kind string, after timeout.Cursor, limit int) ([]timeout.Task, error)
}

// Board is the view of the tasks.
type Board struct {
	store  *store.Store
	engine Engine
	owners map[string]string
}

// New makes a board. owners names for each kind the table whose ids are the kind's keys and whose merchant_id says whose a task
// is; the tasks of other kinds are the platform's.
func New(s *store.Store, e Engine, owners map[string]string) *Board {
	return &Board{store: s, engine: e, owners: owners}
}

// mostSeen bounds how many failures are looked through for those of one merchant. There are that many only in an outage.
const mostSeen = 2000

// Filter narrows the list of failures.
type Filter struct {
	MerchantID int64  // 0 = all
	Kind       string // "" = all
	Dead       bool   // only dead ones
}

// Stats returns the figures of all kinds; they are the installation's and this replica's, not one merchant's.
func (b *Board) Stats(ctx context.Context) (timeout.Stats, error) {
	s, err := b.engine.Stats(ctx)
	return s, store.Classify(err)
}

// Failures returns a page of the tasks that are dead or backing off, newest change first, and how many there are.
func (b *Board) Failures(ctx context.Context, f Filter, page store.Page) ([]timeout.Failure, int64, error) {
	if f.MerchantID == 0 {
		rows, total, err := b.engine.Failures(ctx, timeout.Page{Kind: f.Kind, Dead: f.Dead, Offset: page.Offset(), Limit: page.Limit})
		return rows, total, store.Classify(err)
	}
	own, err := b.failuresOf(ctx, f)
	if err != nil {
		return nil, 0, err
	}
	from := min(page.Offset(), len(own))
	return own[from:min(from+page.Limit, len(own))], int64(len(own)), nil
}

// failuresOf returns the failures of one merchant among the newest mostSeen.
func (b *Board) failuresOf(ctx context.Context, f Filter) ([]timeout.Failure, error) {
	var own []timeout.Failure
	for offset := 0; offset < mostSeen; {
		rows, total, err := b.engine.Failures(ctx, timeout.Page{Kind: f.Kind, Dead: f.Dead, Offset: offset, Limit: 100})
		if err != nil {
			return nil, store.Classify(err)
		}
		if rows, err = b.ownedBy(ctx, f.MerchantID, rows); err != nil {
			return nil, err
		}
		own = append(own, rows...)
		if offset += 100; int64(offset) >= total {
			break
		}
	}
	return own, nil
}

// Retry has a dead task run now. It fails with not_found where the merchant (0: any) has no such task, and with state_conflict
// where it is not dead.
func (b *Board) Retry(ctx context.Context, merchantID int64, kind, key string) error {
	theirs, err := b.ownedBy(ctx, merchantID, []timeout.Failure{{Kind: kind, Key: key}})
	if err != nil {
		return err
	}
	if len(theirs) == 0 {
		return fault.New(fault.NotFoundError)
	}
	err = b.engine.RetryDead(ctx, kind, key)
	switch {
	case err == nil:
		return b.logRetried(ctx, kind, key, 1)
	case !errors.Is(err, timeout.ErrNotDead):
		return store.Classify(err)
	case b.owners[kind] == "":
		return fault.New(fault.NotFoundError)
	}
	return fault.New(fault.StateConflict).Say("该任务没有停止，无需重试", "This task is not dead; it goes on by itself")
}

// ownedBy keeps the tasks that are about a thing of the merchant; for merchant 0 those about any thing, and of kinds that are
// nobody's.
func (b *Board) ownedBy(ctx context.Context, merchantID int64, rows []timeout.Failure) ([]timeout.Failure, error) {
	byKind := map[string][]int64{}
	for _, row := range rows {
		if id, ok := idOf(row); ok && b.owners[row.Kind] != "" {
			byKind[row.Kind] = append(byKind[row.Kind], id)
		}
	}
	there := map[string]bool{}
	for kind, ids := range byKind {
		q := b.store.Read(ctx).Table(b.owners[kind]).Where("id IN ?", ids)
		if merchantID != 0 {
			q = q.Where("merchant_id = ?", merchantID)
		}
		var found []int64
		if err := q.Pluck("id", &found).Error; err != nil {
			return nil, store.Classify(err)
		}
		for _, id := range found {
			there[fmt.Sprint(kind, " ", id)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(rows), func(row timeout.Failure) bool {
		return !there[row.Kind+" "+row.Key] && (merchantID != 0 || b.owners[row.Kind] != "")
	}), nil
}

// idOf reads a key that is the id of a row, in the one form that keys have.
func idOf(row timeout.Failure) (int64, bool) {
	id, err := strconv.ParseInt(row.Key, 10, 64)
	return id, err == nil && id > 0 && strconv.FormatInt(id, 10) == row.Key
}
