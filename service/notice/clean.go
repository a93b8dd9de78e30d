package notice

import (
	"context"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Retention is how long messages to shoppers are kept after what they told of.
const Retention = 90 * 24 * time.Hour

const (
	cleanEvery = time.Hour
	cleanRows  = 1000
	cleanPause = 100 * time.Millisecond
)

// cleaner is the one goroutine that removes old messages.
type cleaner struct {
	stop context.CancelFunc
	done chan struct{}
}

// Start removes messages past their retention, now and every hour, until Stop.
func (s *Service) Start(ctx context.Context) error {
	ctx, s.cleaner.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.cleaner.done = make(chan struct{})
	go func() {
		defer close(s.cleaner.done)
		for {
			if err := s.clean(ctx); err != nil && ctx.Err() == nil {
				s.Log.WarnContext(ctx, "old subscribe messages could not be removed; tried again later", "error", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(cleanEvery):
			}
		}
	}()
	return nil
}

// Stop ends what Start began and returns when it has ended.
func (s *Service) Stop() {
	if s.cleaner.done != nil {
		s.cleaner.stop()
		<-s.cleaner.done
	}
}

// clean removes old messages in batches that hold no lock for long, with a pause after each. One that still waits goes too: it has
// long been of no use.
func (s *Service) clean(ctx context.Context) error {
	before := s.Now().Add(-Retention)
	for ctx.Err() == nil {
		n, err := s.cleanBatch(ctx, before)
		if err != nil || n < cleanRows {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(cleanPause):
		}
	}
	return ctx.Err()
}

func (s *Service) cleanBatch(ctx context.Context, before model.Time) (n int64, err error) {
	err = s.Store.Tx(ctx, func(tx *store.Tx) error {
		var ids []int64
		err := tx.Raw("SELECT id FROM subscribe_messages WHERE created_at < ? ORDER BY created_at, id LIMIT ?", before, cleanRows).Scan(&ids).Error
		if err != nil || len(ids) == 0 {
			return err
		}
		n, err = tx.Affected("DELETE FROM subscribe_messages WHERE id IN ?", ids)
		return err
	})
	return n, err
}
