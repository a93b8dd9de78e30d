// Package content judges what shoppers write and show before anybody else sees it. WeChat is asked outside of any transaction:
// what it calls risky is refused, what it passes is stored as it is, and everything else, its silence too, is held. A held text is
// seen by its author alone until WeChat, asked again, or a person has passed it.
package content

import (
	"context"
	"log/slog"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout"
)

// WeChat is what this package needs of WeChat. Errors are *wechat.Error; both calls end within wechat.ContentLimit.
type WeChat interface {
	CheckText(ctx context.Context, openID string, scene wechat.ContentScene, text string) (wechat.Verdict, error)
	CheckPicture(ctx context.Context, openID string, scene wechat.ContentScene, url string) (traceID string, err error)
}

// Scheduler hands deadlines to the timeout module. Its errors are only logged: the database is asked again.
type Scheduler interface {
	Schedule(ctx context.Context, tasks ...timeout.Task) error
}

// Pictures turns a key of the file store into an absolute URL that WeChat can fetch.
type Pictures interface{ URL(key string) string }

// Effect is what passing or refusing a kind of hold does to the thing that was held.
type Effect struct {
	// Lock locks the thing with the id, which is locked before its holds.
	Lock func(tx *store.Tx, refID int64) error
	// Apply runs in the transaction that decided the hold; h.State is passed or refused.
	Apply func(tx *store.Tx, h model.ContentHold, now model.Time) error
}

// Deps is what the service is made of; all are required.
type Deps struct {
	Store    *store.Store
	Now      func() model.Time
	Log      *slog.Logger
	WeChat   WeChat
	Tasks    Scheduler
	Pictures Pictures
}

// Service is safe for concurrent use once all effects are registered.
type Service struct {
	Deps
	effects map[model.HoldKind]Effect
}

// New makes the service.
func New(d Deps) *Service { return &Service{Deps: d, effects: map[model.HoldKind]Effect{}} }

// Register says what becomes of a kind of hold. Every kind that is held must be registered before it is decided.
func (s *Service) Register(kind model.HoldKind, e Effect) { s.effects[kind] = e }

// openID returns how WeChat knows the shopper.
func (s *Service) openID(ctx context.Context, shopperID int64) (string, error) {
	var ids []string
	if err := s.Store.Read(ctx).Raw("SELECT openid FROM shoppers WHERE id = ?", shopperID).Scan(&ids).Error; err != nil {
		return "", store.Classify(err)
	}
	if len(ids) == 0 {
		return "", fault.New(fault.NotFoundError)
	}
	return ids[0], nil
}

// schedule tells the timeout module of a hold's deadline, after the commit that made it.
func (s *Service) schedule(ctx context.Context, task timeout.Task) {
	if err := s.Tasks.Schedule(ctx, task); err != nil {
		s.Log.WarnContext(ctx, "a check could not be scheduled; the database will be asked for it", "error", err, "hold", task.Key)
	}
}
