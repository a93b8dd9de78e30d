package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout/stall"
)

// Await asks again and again until so is true, and fails the test when its patience is over. It is for what gives no signal that a test
// could wait for, such as work of a component in the background.
func Await(t testing.TB, within time.Duration, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for patience := stall.NewPatience(within); !so(); <-tick.C {
		if patience.Over() {
			t.Fatalf("%s did not come within %v", what, within)
		}
	}
}

// LockWait returns when a transaction in the store's MySQL database waits for a lock, with an error if none does within 20 s.
func LockWait(ctx context.Context, s *store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(150 * time.Millisecond) // the server takes a new look at them only when nobody has asked for 100 ms
	defer tick.Stop()
	for {
		var waiting int
		err := s.Read(ctx).Raw("SELECT COUNT(*) FROM information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id" +
			" WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()").Scan(&waiting).Error // other tests' databases are on the server, too
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
