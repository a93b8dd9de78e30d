package coupon

import (
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Service issues coupon templates and lets shoppers claim them.
type Service struct {
	store *store.Store
	now   func() model.Time
}

// New returns the service; now is the shop's clock.
func New(s *store.Store, now func() model.Time) *Service { return &Service{store: s, now: now} }
