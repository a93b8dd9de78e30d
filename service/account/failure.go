package account

import (
	"context"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Failures are counted, and too many of them lock for a quarter of an hour, so that nobody guesses a password or a code:
//   - wrong passwords at the login by username and address, so that strangers lock themselves out and nobody else;
//   - by username wherever they come from, against somebody with many addresses;
//   - wrong codes after the right password by username: six digits are few, and only who knows the password gets to guess at them;
//   - both, where an admin who is logged in proves who it is, by the session: what a stolen token may try.
const (
	loginTries      = 5
	loginTriesInAll = 100
	loginLock       = 15 * time.Minute
)

// everywhere is the source under which the wrong passwords from all addresses are counted.
const everywhere = "everywhere"

func ofAddress(c Client) string   { return "address:" + c.Network() }
func ofSession(t TokenRef) string { return "session:" + t.JTI }

func triesOf(source string) int {
	if source == everywhere {
		return loginTriesInAll
	}
	return loginTries
}

// tally is how often something failed in the quarter of an hour that began with the first time. With the last time that is allowed
// another begins, in which it is locked.
type tally struct {
	failed int
	ends   model.Time
}

// locks returns how long it is still locked.
func (t tally) locks(now model.Time, tries int) time.Duration {
	if t.failed < tries {
		return 0
	}
	return max(0, t.ends.Sub(now))
}

func (t tally) more(now model.Time, tries int) tally {
	if t.ends <= now {
		t = tally{ends: now.Add(loginLock)}
	}
	t.failed++
	if t.failed >= tries {
		t.ends = now.Add(loginLock)
	}
	return t
}

func (a *Accounts) failuresOf(ctx context.Context, adminID int64, source string) (tally, error) {
	row, err := failureOf(a.store.Read(ctx), adminID, source)
	return tally{row.Failed, row.EndsAt}, store.Classify(err)
}

func failureOf(db *gorm.DB, adminID int64, source string) (row model.AdminFailure, err error) {
	err = db.Where("admin_id = ? AND source = ?", adminID, source).Limit(1).Find(&row).Error
	return row, err
}

// countFailure counts a failure under each of the sources. Those of an admin are counted one after another, under the lock of the
// admin's row; they are at most as many as the tries that all addresses have together, and the tries of the admin's own sessions.
func (a *Accounts) countFailure(ctx context.Context, adminID int64, sources ...string) error {
	return a.store.Tx(ctx, func(tx *store.Tx) error {
		if err := locking(tx).Select("id").Where("id = ?", adminID).Take(&model.Admin{}).Error; err != nil {
			return err
		}
		for _, source := range sources {
			row, err := failureOf(tx.DB, adminID, source)
			if err != nil {
				return err
			}
			t := tally{row.Failed, row.EndsAt}.more(a.now(), triesOf(source))
			row.AdminID, row.Source, row.Failed, row.EndsAt = adminID, source, t.failed, t.ends
			if err := tx.Save(&row).Error; err != nil {
				return err
			}
			if source == everywhere && t.locks(a.now(), loginTriesInAll) > 0 {
				if err := tx.Exec("UPDATE admins SET locked_until = ? WHERE id = ?", t.ends, adminID).Error; err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// countWrongCode counts a wrong code after the right password. locked_until is set before failed_count because MySQL evaluates
// assignments from left to right with the new values, where SQLite uses the old ones throughout.
func (a *Accounts) countWrongCode(ctx context.Context, adminID int64) error {
	return a.store.Tx(ctx, func(tx *store.Tx) error {
		return tx.Exec(`UPDATE admins SET
			locked_until = CASE WHEN failed_count + 1 >= ? THEN ? ELSE locked_until END,
			failed_count = CASE WHEN failed_count + 1 >= ? THEN 0 ELSE failed_count + 1 END WHERE id = ?`,
			loginTries, a.now().Add(loginLock), loginTries, adminID).Error
	})
}

func (a *Accounts) forgetWrongCodes(ctx context.Context, adminID int64) error {
	return a.store.Tx(ctx, func(tx *store.Tx) error {
		return tx.Exec("UPDATE admins SET failed_count = 0 WHERE id = ?", adminID).Error
	})
}

// forgetFailures begins the count of a source anew. That of all addresses goes on: the others' failures are in it.
func (a *Accounts) forgetFailures(ctx context.Context, adminID int64, source string) error {
	return a.store.Tx(ctx, func(tx *store.Tx) error {
		return tx.Exec("DELETE FROM admin_failures WHERE admin_id = ? AND source = ?", adminID, source).Error
	})
}

// strangers counts failures of usernames that do not exist, so that being locked does not tell which do. It is a courtesy to
// nobody's security but privacy, so each replica counts for itself and forgets.
type strangers struct {
	mu   sync.Mutex
	seen map[stranger]tally
}

type stranger struct{ name, source string }

const strangersKept = 10_000

// count counts a failure, or returns how long the name is locked.
func (s *strangers) count(name string, now model.Time, sources ...string) (locked time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, source := range sources {
		locked = max(locked, s.seen[stranger{name, source}].locks(now, triesOf(source)))
	}
	if locked > 0 {
		return locked
	}
	if len(s.seen)+len(sources) > strangersKept {
		clear(s.seen)
	}
	for _, source := range sources {
		who := stranger{name, source}
		s.seen[who] = s.seen[who].more(now, triesOf(source))
	}
	return 0
}

func (a *Accounts) refuseStranger(in Credentials, from Client) error {
	if locked := a.strangers.count(in.Username, a.now(), ofAddress(from), everywhere); locked > 0 {
		return fault.New(fault.LoginLocked).After(locked)
	}
	if _, err := verify(decoy, in.Password); err != nil {
		return err
	}
	return fault.New(fault.LoginFailed)
}
