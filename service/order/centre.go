package order

import (
	"context"
	"log/slog"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// The settings rows of the order centre: what was registered, and until when a replica is at it.
const (
	settingCentre      = "wechat_order_path"
	settingCentreClaim = "wechat_order_path_claim"
)

const (
	centreFirstPause = time.Second
	centreLastPause  = 10 * time.Minute
	// centreClaim covers the call, with another token if need be.
	centreClaim = 30 * time.Second
)

// CentreOptions are the parts of a Centre.
type CentreOptions struct {
	Store  *store.Store
	Now    func() model.Time
	Log    *slog.Logger
	WeChat interface {
		AppID() string
		SetOrderPath(ctx context.Context, path string) error
	}
	// Path is the mini-program's page of an order; "" registers nothing.
	Path string
}

// Centre tells WeChat, once, which page of the mini-program its order centre opens. It does so in the background, by one replica,
// again and again until WeChat has taken it, and after that only for another path or another mini-program.
type Centre struct {
	CentreOptions

	pause time.Duration // after the first failure; for tests
	stop  context.CancelFunc
	done  chan struct{}
}

// NewCentre makes a centre that is not running yet.
func NewCentre(o CentreOptions) *Centre { return &Centre{CentreOptions: o, pause: centreFirstPause} }

// Start begins to register the path and returns at once.
func (c *Centre) Start(ctx context.Context) error {
	if c.Path == "" {
		return nil
	}
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.done = make(chan struct{})
	go func() {
		defer close(c.done)
		c.run(ctx)
	}()
	return nil
}

// Stop ends what is under way and returns when it has ended. When ctx ends first its error is returned.
func (c *Centre) Stop(ctx context.Context) error {
	if c.stop == nil {
		return nil
	}
	c.stop()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run returns once the path is registered, by whomever.
func (c *Centre) run(ctx context.Context) {
	for pause := c.pause; ; pause = min(2*pause, centreLastPause) {
		done, err := c.register(ctx)
		if done || ctx.Err() != nil {
			return
		}
		if err != nil {
			c.Log.WarnContext(ctx, "WeChat's order centre is not told yet where orders are; it is tried again", "error", err, "after", pause)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// register tells WeChat unless it was told, or another replica is at it. done says that WeChat was told.
func (c *Centre) register(ctx context.Context) (done bool, err error) {
	want := c.WeChat.AppID() + " " + c.Path
	mine := false
	err = c.Store.Tx(ctx, func(tx *store.Tx) error {
		done, mine = false, false
		told, err := setting(tx, settingCentre)
		if err != nil {
			return err
		}
		if done = told == want; done {
			return nil
		}
		mine, err = claimSetting(tx, settingCentreClaim, c.Now(), c.Now().Add(centreClaim))
		return err
	})
	if err != nil || done || !mine {
		return done, err
	}
	if err := c.WeChat.SetOrderPath(ctx, c.Path); err != nil {
		return false, err // the claim ends by itself
	}
	err = c.Store.Tx(ctx, func(tx *store.Tx) error { return putSetting(tx, settingCentre, want, c.Now()) })
	if err == nil {
		c.Log.InfoContext(ctx, "WeChat's order centre opens orders", "path", c.Path)
	}
	return err == nil, err
}

// setting reads a value that the installation keeps for itself; "" if there is none.
func setting(tx *store.Tx, name string) (string, error) {
	var values []string
	if err := tx.Raw("SELECT value FROM settings WHERE name = ?", name).Scan(&values).Error; err != nil || len(values) == 0 {
		return "", err
	}
	return values[0], nil
}

// putSetting keeps a value.
func putSetting(tx *store.Tx, name, value string, now model.Time) error {
	onDuplicate := " ON DUPLICATE KEY UPDATE value = VALUES(value), updated_at = VALUES(updated_at)"
	if tx.Dialect() == store.SQLite {
		onDuplicate = " ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at"
	}
	return tx.Exec("INSERT INTO settings (name, value, updated_at) VALUES (?, ?, ?)"+onDuplicate, name, value, now).Error
}

// claimSetting takes a row whose updated_at says until when it is taken; false while somebody else has it.
func claimSetting(tx *store.Tx, name string, now, until model.Time) (bool, error) {
	n, err := tx.Affected("UPDATE settings SET updated_at = ? WHERE name = ? AND updated_at <= ?", until, name, now)
	if err != nil || n == 1 {
		return n == 1, err
	}
	ignore := "INSERT IGNORE"
	if tx.Dialect() == store.SQLite {
		ignore = "INSERT OR IGNORE"
	}
	n, err = tx.Affected(ignore+" INTO settings (name, value, updated_at) VALUES (?, '', ?)", name, until)
	return n == 1, err
}
