package account

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"gorm.io/gorm/clause"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

const (
	seenEvery      = time.Minute     // a session's last_seen_at is written at most so often
	seenWrite      = 5 * time.Second // and so long after
	sessionsAtOnce = 500
	sessionsListed = 100
	agentLongest   = 200
	ipLongest      = 64
)

// SessionRetention is how long a session is kept after it expired.
const SessionRetention = 30 * 24 * time.Hour

// Client is where a login comes from.
type Client struct{ IP, Agent string }

// networkBits is how much of an address of IPv6 its owner does not choose: whoever rents a machine has the rest of it.
const networkBits = 64

// Network names whom attempts are counted against: the address, or its network where it is of IPv6.
func (c Client) Network() string {
	ip, err := netip.ParseAddr(c.IP)
	if err != nil {
		return c.short().IP
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, networkBits).Masked().String()
}

// short returns what is kept of it: on one line, and no more than the columns hold.
func (c Client) short() Client {
	line := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(c.Agent, ""))
	agent, ip := []rune(line), []rune(c.IP)
	return Client{IP: string(ip[:min(len(ip), ipLongest)]), Agent: string(agent[:min(len(agent), agentLongest)])}
}

// sessions notes when each session was last seen. A request only notes it in memory; one goroutine writes it, so that no request
// waits for it.
type sessions struct {
	store *store.Store
	now   func() model.Time
	log   *slog.Logger

	mu   sync.Mutex
	seen map[string]model.Time // by token id: what was noted last
	due  map[string]model.Time // what is to be written

	writing part
}

func newSessions(s *store.Store, now func() model.Time, log *slog.Logger) *sessions {
	return &sessions{store: s, now: now, log: log, seen: map[string]model.Time{}, due: map[string]model.Time{}}
}

// open keeps a new session.
func (s *sessions) open(ctx context.Context, adminID int64, t TokenRef, at model.Time, from Client) error {
	from = from.short()
	err := s.store.Tx(ctx, func(tx *store.Tx) error {
		return tx.Create(&model.AdminSession{
			AdminID: adminID, JTI: t.JTI, IP: from.IP, Agent: from.Agent, CreatedAt: at, LastSeenAt: at, ExpiresAt: t.ExpiresAt,
		}).Error
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[t.JTI] = at
	return nil
}

func (s *sessions) note(jti string) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.seen[jti]; ok && now.Sub(last) < seenEvery {
		return
	}
	s.seen[jti], s.due[jti] = now, now
}

// write writes what was noted. Another replica may have written a session within the minute; then it stays.
func (s *sessions) write(ctx context.Context) error {
	stale := s.now().Add(-2 * seenEvery)
	s.mu.Lock()
	due := s.due
	s.due = map[string]model.Time{}
	for jti, at := range s.seen {
		if at < stale {
			delete(s.seen, jti)
		}
	}
	s.mu.Unlock()
	if len(due) == 0 {
		return nil
	}
	jtis := make([]string, 0, len(due))
	for jti := range due {
		jtis = append(jtis, jti)
	}
	slices.Sort(jtis) // replicas lock in one order
	return s.store.Tx(ctx, func(tx *store.Tx) error {
		for _, jti := range jtis {
			at := due[jti]
			if _, err := tx.Run("UPDATE admin_sessions SET last_seen_at = ? WHERE jti = ? AND last_seen_at <= ?", at, jti, at.Add(-seenEvery)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *sessions) follow(ctx context.Context) {
	writing := time.NewTicker(seenWrite)
	defer writing.Stop()
	var failed bool
	for {
		select {
		case <-ctx.Done():
			return
		case <-writing.C:
		}
		err := s.write(ctx)
		if err != nil && !failed && ctx.Err() == nil {
			s.log.Warn("it cannot be written when sessions of admins were last seen", "error", err)
		}
		failed = err != nil
	}
}

// Sessions lists where the caller is logged in, the last seen first; the newest hundred where there are more.
func (a *Accounts) Sessions(ctx context.Context, by AdminIdentity) ([]model.AdminSession, error) {
	var rows []model.AdminSession
	err := a.store.Read(ctx).Where("admin_id = ? AND expires_at > ? AND ended_at = 0 AND created_at >= (SELECT tokens_from FROM admins WHERE id = ?)",
		by.ID, a.now(), by.ID).Order("last_seen_at DESC, id DESC").Limit(sessionsListed).Find(&rows).Error
	return rows, store.Classify(err)
}

// EndSession ends one session of the caller's; one that has ended already is no error, somebody else's is not_found.
func (a *Accounts) EndSession(ctx context.Context, by AdminIdentity, id int64) error {
	return a.store.Tx(ctx, func(tx *store.Tx) error {
		var n int64
		if err := tx.Model(&model.AdminSession{}).Where("id = ? AND admin_id = ?", id, by.ID).Count(&n).Error; err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.NotFoundError)
		}
		return a.endSessions(tx, "id = ? AND admin_id = ?", id, by.ID)
	})
}

// EndOtherSessions ends all of the caller's sessions but the one that calls.
func (a *Accounts) EndOtherSessions(ctx context.Context, by AdminIdentity) error {
	return a.store.Tx(ctx, func(tx *store.Tx) error {
		return a.endSessions(tx, "admin_id = ? AND jti <> ?", by.ID, by.Token.JTI)
	})
}

// EndAllSessions ends all of the caller's sessions, and every token that was issued until now.
func (a *Accounts) EndAllSessions(ctx context.Context, by AdminIdentity) error {
	return a.store.Tx(ctx, func(tx *store.Tx) error {
		now := a.now()
		if err := tx.Exec("UPDATE admins SET tokens_from = CASE WHEN tokens_from > ? THEN tokens_from + 1 ELSE ? END WHERE id = ?",
			now, now.Add(time.Millisecond), by.ID).Error; err != nil {
			return err
		}
		return a.endSessions(tx, "admin_id = ?", by.ID)
	})
}

// LogoutAdmin ends the session that calls.
func (a *Accounts) LogoutAdmin(ctx context.Context, by AdminIdentity) error {
	if err := a.revoked.add(ctx, by.Token); err != nil {
		return err
	}
	return a.store.Tx(ctx, func(tx *store.Tx) error { return a.endSessions(tx, "jti = ?", by.Token.JTI) })
}

// endSessions ends those of the sessions named that still go on: they are refused here once the transaction is committed, and on
// other replicas within a second.
func (a *Accounts) endSessions(tx *store.Tx, where string, args ...any) error {
	now := a.now()
	var live []model.AdminSession
	err := tx.Raw("SELECT id, jti, expires_at FROM admin_sessions WHERE ended_at = 0 AND expires_at > ? AND "+where+" ORDER BY id"+tx.ForUpdate(),
		append([]any{now}, args...)...).Scan(&live).Error
	if err != nil {
		return err
	}
	for rows := range slices.Chunk(live, sessionsAtOnce) {
		ids, tokens := make([]int64, len(rows)), make([]model.RevokedToken, len(rows))
		for i, r := range rows {
			ids[i], tokens[i] = r.ID, model.RevokedToken{JTI: r.JTI, RevokedAt: now, ExpiresAt: r.ExpiresAt}
		}
		if err := tx.Exec("UPDATE admin_sessions SET ended_at = ? WHERE id IN ? AND ended_at = 0", now, ids).Error; err != nil {
			return err
		}
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&tokens).Error; err != nil {
			return err
		}
		tx.AfterCommit(func() { a.revoked.know(tokens) })
	}
	return nil
}
