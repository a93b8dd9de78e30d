package content

import (
	"context"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// ByWeChat is who decided where WeChat did.
const ByWeChat = "wechat"

// Scope is whose holds somebody decides on: a merchant's, and with Platform also those of no merchant.
type Scope struct {
	MerchantID int64
	Platform   bool
}

func (s Scope) on(db *gorm.DB) *gorm.DB {
	if s.Platform {
		return db.Where("merchant_id IN ?", []int64{s.MerchantID, 0})
	}
	return db.Where("merchant_id = ?", s.MerchantID)
}

// Filter narrows a list of holds. State must be given; Kind "" is all.
type Filter struct {
	Scope
	State model.HoldState
	Kind  model.HoldKind
}

func (f Filter) on(db *gorm.DB) *gorm.DB {
	q := f.Scope.on(db.Model(&model.ContentHold{})).Where("state = ?", f.State)
	if f.Kind != "" {
		q = q.Where("kind = ?", f.Kind)
	}
	return q
}

// List returns a page of holds, newest first, and how many there are.
func (s *Service) List(ctx context.Context, f Filter, p store.Page) ([]model.ContentHold, int64, error) {
	var n int64
	if err := f.on(s.Store.Read(ctx)).Count(&n).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	var rows []model.ContentHold
	err := f.on(s.Store.Read(ctx)).Order("created_at DESC, id DESC").Offset(p.Offset()).Limit(p.Limit).Find(&rows).Error
	return rows, n, store.Classify(err)
}

// ListAfter returns up to limit holds that follow the cursor, newest first, and the cursor of the next page; nil at the end.
func (s *Service) ListAfter(ctx context.Context, f Filter, after store.Cursor, limit int) ([]model.ContentHold, *store.Cursor, error) {
	index := "ix_content_holds_merchant"
	if f.Platform { // two merchants' at once: none has the order
		index = ""
	}
	var rows []model.ContentHold
	q := s.Store.After(f.on(s.Store.Read(ctx)), "content_holds", index, after)
	if err := q.Limit(limit + 1).Find(&rows).Error; err != nil {
		return nil, nil, store.Classify(err)
	}
	rows, next := store.Cut(rows, limit, func(h model.ContentHold) store.Cursor { return store.Cursor{At: h.CreatedAt, ID: h.ID} })
	return rows, next, nil
}

// Decision is a person's word on a hold. Version is the hold's that they read.
type Decision struct {
	ID, Version int64
	Pass        bool
	By          string
}

// Decide passes or refuses what is held and returns the hold. not_found where the scope does not reach it, state_conflict where it
// is decided or superseded, stale_version.
func (s *Service) Decide(ctx context.Context, scope Scope, d Decision) (*model.ContentHold, error) {
	var decided *model.ContentHold
	err := s.Store.Tx(ctx, func(tx *store.Tx) error {
		h, err := holdByID(scope.on(tx.DB), d.ID)
		switch {
		case err != nil:
			return err
		case h == nil:
			return notFound()
		case h.State != model.HoldHeld:
			return fault.New(fault.StateConflict).Say("该内容已处理或已被新内容取代", "This was decided already, or something newer took its place")
		case h.Version != d.Version:
			return fault.New(fault.StaleVersion)
		}
		was, to := *h, model.HoldRefused
		if d.Pass {
			to = model.HoldPassed
		}
		ok, err := s.decide(tx, h, to, d.By)
		if err == nil && !ok {
			err = fault.New(fault.StaleVersion)
		}
		if err != nil {
			return err
		}
		decided = h
		return changelog.Record(tx, changelog.ContentHold, h.ID, was, h)
	})
	return decided, err
}

// decide ends a hold as it was read and has its effect; false where somebody else was first. The thing is locked before its hold.
func (s *Service) decide(tx *store.Tx, h *model.ContentHold, to model.HoldState, by string) (bool, error) {
	effect := s.effects[h.Kind]
	if err := effect.Lock(tx, h.RefID); err != nil {
		return false, err
	}
	now := s.Now()
	n, err := tx.Affected("UPDATE content_holds SET state = ?, decided_by = ?, decided_at = ?, next_at = NULL, version = version + 1 WHERE id = ? AND version = ? AND state IN ?",
		to, by, now, h.ID, h.Version, model.HoldTransitions.From(to))
	if err != nil || n == 0 {
		return false, err
	}
	h.State, h.DecidedBy, h.DecidedAt, h.NextAt, h.Version = to, by, now, nil, h.Version+1
	return true, effect.Apply(tx, *h, now)
}
