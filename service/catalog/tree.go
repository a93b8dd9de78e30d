package catalog

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/tidemall/tidemall/model"
)

// Node is a category with what is below it, in display order.
type Node struct {
	model.Category
	Children []Node
}

// tree is the categories of all merchants in memory. Readers see one unchanging forest at a time.
type tree struct{ forest atomic.Pointer[forest] }

type forest struct {
	byID     map[int64]model.Category
	children map[int64][]int64 // in display order; roots of all merchants are below 0
}

func newTree() *tree {
	t := &tree{}
	t.forest.Store(newForest(map[int64]model.Category{}))
	return t
}

func newForest(byID map[int64]model.Category) *forest {
	f := &forest{byID: byID, children: map[int64][]int64{}}
	for id, c := range byID {
		f.children[c.ParentID] = append(f.children[c.ParentID], id)
	}
	for _, ids := range f.children {
		slices.SortFunc(ids, func(a, b int64) int { return displayOrder(byID[a], byID[b]) })
	}
	return f
}

// displayOrder puts the larger Sort first, then the older category.
func displayOrder(a, b model.Category) int {
	return cmp.Or(cmp.Compare(b.Sort, a.Sort), cmp.Compare(a.ID, b.ID))
}

// apply is called by one follower, never twice at a time.
func (t *tree) apply(changed []model.Category, removed []int64) {
	byID := maps.Clone(t.forest.Load().byID)
	for _, row := range changed {
		byID[row.ID] = row
	}
	for _, id := range removed {
		delete(byID, id)
	}
	t.forest.Store(newForest(byID))
}

func (t *tree) path(merchantID, categoryID int64) []int64 {
	if categoryID == 0 {
		return nil
	}
	f := t.forest.Load()
	path := []int64{categoryID}
	for at := f.byID[categoryID]; at.ParentID != 0 && at.MerchantID == merchantID && len(path) < MaxDepth; at = f.byID[at.ParentID] {
		path = append(path, at.ParentID)
	}
	return path
}

// below returns the category and everything under it.
func (t *tree) below(categoryID int64) []int64 { return t.forest.Load().below(categoryID) }

func (f *forest) below(categoryID int64) []int64 {
	ids := []int64{categoryID}
	for at := 0; at < len(ids) && len(ids) <= MaxCategories; at++ {
		ids = append(ids, f.children[ids[at]]...)
	}
	return ids
}

// nodes returns the tree under a parent; depth bounds it whatever the rows say.
func (f *forest) nodes(parentID int64, depth int) []Node {
	nodes := []Node{}
	if depth == 0 {
		return nodes
	}
	for _, id := range f.children[parentID] {
		nodes = append(nodes, Node{Category: f.byID[id], Children: f.nodes(id, depth-1)})
	}
	return nodes
}

// height is how many levels there are from the category down, itself included.
func (f *forest) height(categoryID int64) int {
	deepest := 0
	for _, id := range f.children[categoryID] {
		deepest = max(deepest, f.height(id))
	}
	return deepest + 1
}
