package catalog

import (
	"context"

	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// MaxShelf is how many products go on or off the shelf in one request.
const MaxShelf = 100

// Pick names a product as somebody saw it.
type Pick struct{ ID, Version int64 }

// ShelfResult is what became of one product of a change of many.
type ShelfResult struct {
	Pick
	Code fault.Code // why it stayed as it was; empty where it is as wanted
}

// Shelve puts products on the shelf or takes them off, each in a transaction of its own, and says of each what became of it, in
// order: not_found, stale_version where somebody changed it since it was seen, state_conflict where it has no SKU to sell.
func (c *Catalog) Shelve(ctx context.Context, merchantID int64, picks []Pick, published bool) ([]ShelfResult, error) {
	p := &problems{}
	p.atMost("products", len(picks), MaxShelf)
	if err := p.err(); err != nil {
		return nil, err
	}
	results := make([]ShelfResult, len(picks))
	for i, pick := range picks {
		results[i] = c.shelve(ctx, merchantID, pick, published)
	}
	c.refresh(ctx, c.products)
	changelog.Nothing(ctx) // each that went has its entry; there may be none
	return results, nil
}

func (c *Catalog) shelve(ctx context.Context, merchantID int64, pick Pick, published bool) ShelfResult {
	done := ShelfResult{Pick: pick}
	err := c.store.Tx(ctx, func(tx *store.Tx) error {
		p, err := lockProduct(tx, merchantID, pick.ID)
		if err != nil {
			return err
		}
		if p.Version != pick.Version {
			return fault.New(fault.StaleVersion)
		}
		after, err := c.shelveLocked(tx, p, published)
		done.Version = after.Version
		return err
	})
	if err != nil {
		done = ShelfResult{Pick: pick, Code: fault.CodeOf(err)}
	}
	if done.Code == fault.InternalError {
		c.log.Error("a product did not go on or off the shelf", "product", pick.ID, "error", err)
	}
	return done
}

// SetSort gives a product its place in the merchant's own order; the larger comes first. Fails with not_found, stale_version and
// validation_failed.
func (c *Catalog) SetSort(ctx context.Context, merchantID, id, version int64, sort int) (Product, error) {
	p := &problems{}
	p.between("sort", int64(sort), -MaxSort, MaxSort)
	if err := p.err(); err != nil {
		return Product{}, err
	}
	var result Product
	err := c.store.Tx(ctx, func(tx *store.Tx) error {
		row, err := lockProduct(tx, merchantID, id)
		if err != nil {
			return err
		}
		if row.Version != version {
			return fault.New(fault.StaleVersion)
		}
		was := row
		row.Sort, row.Version, row.ChangedAt = sort, version+1, c.now()
		if err := writeProduct(tx, row); err != nil {
			return err
		}
		c.refreshAfter(ctx, tx, c.products)
		skus, err := skusOf(tx.DB, id)
		if err != nil {
			return err
		}
		result = Product{Product: row, SKUs: skus}
		return changelog.Record(tx, changelog.Product, id, was, row)
	})
	return result, err
}
