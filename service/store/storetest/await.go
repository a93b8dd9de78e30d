package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/tidemall/tidemall/service/store"
)

// Await asks again and again until so is true, and fails the test after within. It is for what gives no signal that a test could
// wait for, such as work of a component in the background.
func Await(t testing.TB, within time.Duration, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(within)
	defer limit.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("%s did not come within %v", what, within)
		}
	}
}

// LockWait returns when a transaction of the MySQL server waits for a lock, with an error if none does within 20 s.
func LockWait(ctx context.Context, s *store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(150 * time.Millisecond) // the server takes a new look at them only when nobody has asked for 100 ms
	defer tick.Stop()
	for {
		var waiting int
		err := s.Read(ctx).Raw("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'").Scan(&waiting).Error
		if err != nil || waiting > 0 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
