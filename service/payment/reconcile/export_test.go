package reconcile

import (
	"context"

	"github.com/tidemall/tidemall/model"
)

// Fetch is one step of the import, which stops where more says so.
func (s *Service) Fetch(ctx context.Context, b *model.Bill, more func() bool) (whole bool, err error) {
	return s.fetch(ctx, b, more)
}

// Compare is one step of the comparison, which stops where more says so.
func (s *Service) Compare(ctx context.Context, b *model.Bill, more func() bool) error {
	return s.compare(ctx, b, more)
}
