package changelog

import (
	"context"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Service reads the change log.
type Service struct{ store *store.Store }

// New returns the service.
func New(s *store.Store) *Service { return &Service{store: s} }

// Filter says which entries a list has; zero fields mean all.
type Filter struct {
	// MerchantID is whose things, where All is false.
	MerchantID int64
	All        bool
	AdminID    int64
	Action     string
	Kind       Kind
	Ref        string // heeded with a kind
	From, To   model.Time
}

// index returns the index that has the list in its order. Where there are several filters the narrowest has it, and what it finds is
// looked through for the rest.
func (f Filter) index() string {
	switch {
	case f.Kind != "" && f.Ref != "":
		return "ix_admin_changes_ref"
	case f.AdminID != 0:
		return "ix_admin_changes_admin"
	case f.All:
		return "ix_admin_changes_created"
	case f.Action != "":
		return "ix_admin_changes_action"
	case f.Kind != "":
		return "ix_admin_changes_kind"
	}
	return "ix_admin_changes_merchant"
}

// List returns up to limit entries that follow the cursor, newest first, and the cursor of the next page; nil at the end. It costs the
// same at any depth.
func (s *Service) List(ctx context.Context, f Filter, after store.Cursor, limit int) ([]model.AdminChange, *store.Cursor, error) {
	var rows []model.AdminChange
	q := f.narrow(s.store.Read(ctx).Model(&model.AdminChange{}))
	if err := s.store.After(q, "admin_changes", f.index(), after).Limit(limit + 1).Find(&rows).Error; err != nil {
		return nil, nil, store.Classify(err)
	}
	rows, next := store.Cut(rows, limit, func(r model.AdminChange) store.Cursor { return store.Cursor{At: r.CreatedAt, ID: r.ID} })
	return rows, next, nil
}

func (f Filter) narrow(q *gorm.DB) *gorm.DB {
	if !f.All {
		q = q.Where("merchant_id = ?", f.MerchantID)
	}
	if f.AdminID != 0 {
		q = q.Where("admin_id = ?", f.AdminID)
	}
	if f.Action != "" {
		q = q.Where("action = ?", f.Action)
	}
	if f.Kind != "" {
		q = q.Where("kind = ?", f.Kind)
		if f.Ref != "" {
			q = q.Where("ref = ?", f.Ref)
		}
	}
	if f.From != 0 {
		q = q.Where("created_at >= ?", f.From)
	}
	if f.To != 0 {
		q = q.Where("created_at < ?", f.To)
	}
	return q
}
