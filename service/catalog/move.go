package catalog

import (
	"context"
	"slices"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// sortStep leaves room between neighbours, so that most moves change one category only.
const sortStep = 10

// Move is where a category goes: under a parent, 0 for the top, and right behind one of the categories there, 0 for the first place.
type Move struct{ ParentID, AfterID int64 }

// MoveCategory puts a category into its new place. Its neighbours get new sorting numbers only where there is no room between
// theirs. Fails with not_found, stale_version, and validation_failed where it would come to lie below itself or too deep, or where
// the one before it is not there.
func (c *Catalog) MoveCategory(ctx context.Context, merchantID, id, version int64, to Move) (model.Category, error) {
	var row model.Category
	err := c.store.Tx(ctx, func(tx *store.Tx) error {
		all, err := lockCategories(tx, merchantID)
		if err != nil {
			return err
		}
		if row, err = all.known(id, version); err != nil {
			return err
		}
		if err := all.acceptsMove(id, to.ParentID); err != nil {
			return err
		}
		was := row
		changed, err := all.place(row, to)
		if err != nil {
			return err
		}
		now := c.now()
		for _, one := range changed {
			one.Version, one.ChangedAt = one.Version+1, now
			if err := writeCategory(tx, one); err != nil {
				return err
			}
			if one.ID == id {
				row = one
			}
		}
		c.refreshAfter(ctx, tx, c.categories)
		return changelog.Record(tx, changelog.Category, id, was, row)
	})
	return row, err
}

// place returns the categories that change when one goes to its new place, itself among them.
func (f *forest) place(moved model.Category, to Move) ([]model.Category, error) {
	var row []model.Category // the new neighbours, in display order
	for _, id := range f.children[to.ParentID] {
		if id != moved.ID {
			row = append(row, f.byID[id])
		}
	}
	at := slices.IndexFunc(row, func(c model.Category) bool { return c.ID == to.AfterID }) + 1
	if at == 0 && to.AfterID != 0 {
		return nil, fault.New(fault.ValidationFailed).With("after_id", fault.FieldChoice, "不是该上级下的分类", "is not one of the categories there")
	}
	moved.ParentID = to.ParentID
	if sort, ok := between(row, at); ok {
		moved.Sort = sort
		return []model.Category{moved}, nil
	}
	row = slices.Insert(row, at, moved)
	var changed []model.Category
	for i, c := range row {
		if sort := (len(row) - i) * sortStep; c.Sort != sort || c.ID == moved.ID {
			c.Sort = sort
			changed = append(changed, c)
		}
	}
	return changed, nil
}

// between returns a sorting number that belongs at the place in the row; false where its neighbours leave none.
func between(row []model.Category, at int) (sort int, ok bool) {
	above, below := MaxSort+1, -MaxSort-1
	if at > 0 {
		above = row[at-1].Sort
	}
	if at < len(row) {
		below = row[at].Sort
	}
	switch {
	case len(row) == 0:
		return 0, true
	case at == 0:
		sort = below + sortStep
	case at == len(row):
		sort = above - sortStep
	default:
		sort = below + (above-below)/2
	}
	return sort, below < sort && sort < above
}
