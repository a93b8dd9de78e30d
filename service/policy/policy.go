// Package policy decides how long a stage of an order may take. Policies are rows that people change; every replica keeps them
// in memory and follows a change within a second. A policy sets the deadlines of what begins from then on (an order placed, paid or
// shipped, an after-sale asked for); what waits keeps the deadline it got.
package policy

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/replica"
	"github.com/tidemall/tidemall/service/store"
)

// follow is how often a replica looks for changed policies: often enough that a change is live everywhere within a second.
const follow = 500 * time.Millisecond

// Policies is the table of policies, in the database and in memory.
type Policies struct {
	store    *store.Store
	now      func() model.Time
	log      *slog.Logger
	follower *replica.Follower[model.TimeoutPolicy]

	rows  map[int64]model.TimeoutPolicy // touched by apply only
	table atomic.Pointer[map[string][]model.TimeoutPolicy]
}

// New makes the policies; before Start only the built-in durations count.
func New(s *store.Store, now func() model.Time, log *slog.Logger) *Policies {
	p := &Policies{store: s, now: now, log: log, rows: map[int64]model.TimeoutPolicy{}}
	p.table.Store(&map[string][]model.TimeoutPolicy{})
	p.follower = replica.Follow(replica.Options[model.TimeoutPolicy]{
		Name: "timeout_policies",
		Now:  now,
		Log:  log,
		Load: replica.Table[model.TimeoutPolicy](s),
		Meta: func(r model.TimeoutPolicy) replica.Meta {
			return replica.Meta{ID: r.ID, Version: r.Version, ChangedAt: r.ChangedAt, DeletedAt: r.DeletedAt}
		},
		Apply:    p.apply,
		Interval: follow,
	})
	return p
}

// Start reads all policies and follows their changes from then on.
func (p *Policies) Start(ctx context.Context) error { return p.follower.Start(ctx) }

// Stop ends following and returns when it has ended.
func (p *Policies) Stop() { p.follower.Stop() }

// apply makes a new table, sorted so that the first policy that applies wins, and puts it in place of the former at once.
func (p *Policies) apply(changed []model.TimeoutPolicy, removed []int64) {
	for _, row := range changed {
		p.rows[row.ID] = row
	}
	for _, id := range removed {
		delete(p.rows, id)
	}
	table := map[string][]model.TimeoutPolicy{}
	for _, row := range slices.Collect(maps.Values(p.rows)) {
		table[row.Stage] = append(table[row.Stage], row)
	}
	for _, rows := range table {
		bySpecificity(rows)
	}
	p.table.Store(&table)
}
