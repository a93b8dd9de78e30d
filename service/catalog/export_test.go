package catalog

import (
	"context"
	"errors"
)

// Refresh reads what other replicas wrote, so that tests need not wait a second for it.
func (c *Catalog) Refresh(ctx context.Context) error {
	return errors.Join(c.categories.Refresh(ctx), c.products.Refresh(ctx))
}
