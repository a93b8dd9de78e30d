package cart

import (
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Bounds of a cart.
const (
	MaxQuantity = 9999 // of one SKU
	MaxItems    = 120
)

// Service keeps the carts.
type Service struct {
	store *store.Store
	now   func() model.Time
}

// New returns the service; now is the shop's clock.
func New(s *store.Store, now func() model.Time) *Service { return &Service{store: s, now: now} }
