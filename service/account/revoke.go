package account

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

const (
	// revokeEvery keeps the promise that other replicas know of a logout within a second.
	revokeEvery = 500 * time.Millisecond
	// revokeLookBack is longer than a commit takes and clocks differ: a row may become visible after younger ones.
	revokeLookBack = time.Minute
	revokePage     = 1000
	revokeClean    = time.Hour
)

// revocations knows which tokens were logged out. The table is the truth; every replica holds it in memory, so that checking a
// token costs no query and needs no database.
type revocations struct {
	store *store.Store
	now   func() model.Time
	log   *slog.Logger

	mu   sync.RWMutex
	jtis map[string]model.Time // to when the token expires
	mark model.Time            // the youngest revocation seen

	cancel context.CancelFunc
	done   chan struct{}
}

func newRevocations(s *store.Store, now func() model.Time, log *slog.Logger) *revocations {
	return &revocations{store: s, now: now, log: log, jtis: map[string]model.Time{}}
}

func (r *revocations) has(jti string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, ok := r.jtis[jti]
	return ok
}

// add revokes a token; revoking twice is no error.
func (r *revocations) add(ctx context.Context, t TokenRef) error {
	now := r.now()
	err := r.store.Tx(ctx, func(tx *store.Tx) error {
		return tx.Exec("INSERT INTO revoked_tokens (jti, revoked_at, expires_at) VALUES (?, ?, ?)", t.JTI, now, t.ExpiresAt).Error
	})
	if err != nil && !store.IsDuplicate(err) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jtis[t.JTI] = t.ExpiresAt
	return nil
}

// know keeps in memory what a transaction has revoked.
func (r *revocations) know(tokens []model.RevokedToken) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range tokens {
		r.jtis[t.JTI] = t.ExpiresAt
	}
}

// refresh reads what was revoked since the last time.
func (r *revocations) refresh(ctx context.Context) error {
	r.mu.RLock()
	since := r.mark.Add(-revokeLookBack)
	r.mu.RUnlock()
	for after := ""; ; {
		var rows []model.RevokedToken
		err := r.store.Read(ctx).Where("revoked_at >= ? AND expires_at > ? AND jti > ?", since, r.now(), after).
			Order("jti").Limit(revokePage).Find(&rows).Error
		if err != nil {
			return store.Classify(err)
		}
		r.mu.Lock()
		for _, row := range rows {
			r.jtis[row.JTI] = row.ExpiresAt
			r.mark = max(r.mark, row.RevokedAt)
			after = row.JTI
		}
		r.mu.Unlock()
		if len(rows) < revokePage {
			return nil
		}
	}
}

// forget forgets tokens that have expired by themselves. Their rows go like all that are old.
func (r *revocations) forget() {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for jti, expires := range r.jtis {
		if expires <= now {
			delete(r.jtis, jti)
		}
	}
}

func (r *revocations) start(ctx context.Context) error {
	if err := r.refresh(ctx); err != nil {
		return err
	}
	ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.done = make(chan struct{})
	go r.follow(ctx)
	return nil
}

func (r *revocations) stop() {
	if r.cancel != nil {
		r.cancel()
		<-r.done
	}
}

func (r *revocations) follow(ctx context.Context) {
	defer close(r.done)
	every, cleaning := time.NewTicker(revokeEvery), time.NewTicker(revokeClean)
	defer every.Stop()
	defer cleaning.Stop()
	var failed bool
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			err = r.refresh(ctx)
		case <-cleaning.C:
			r.forget()
			continue
		}
		if err != nil && !failed && ctx.Err() == nil {
			r.log.Warn("revoked tokens cannot be read; logouts on other replicas are not seen", "error", err)
		}
		failed = err != nil
	}
}
