package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
)

// Categories has the operations of a merchant's tree of categories.
type Categories struct {
	Service interface {
		Categories(ctx context.Context, merchantID int64) ([]catalog.Node, error)
		CreateCategory(ctx context.Context, merchantID int64, d catalog.CategoryDraft) (model.Category, error)
		UpdateCategory(ctx context.Context, merchantID, id, version int64, d catalog.CategoryDraft) (model.Category, error)
		MoveCategory(ctx context.Context, merchantID, id, version int64, to catalog.Move) (model.Category, error)
		DeleteCategory(ctx context.Context, merchantID, id int64) error
	}
}

// Category is a category without what is below it.
type Category struct {
	ID       int64  `json:"id"`
	ParentID int64  `json:"parent_id,omitempty" doc:"Absent at the top"`
	Name     string `json:"name"`
	Sort     int    `json:"sort" doc:"The larger comes first"`
	Version  int64  `json:"version"`
}

// CategoryNode is a category with what is below it.
type CategoryNode struct {
	Category

	Children []CategoryNode `json:"children" doc:"In display order; three levels at most"`
}

func categoryOf(c model.Category) Category {
	return Category{ID: c.ID, ParentID: c.ParentID, Name: c.Name, Sort: c.Sort, Version: c.Version}
}

func categoryNodesOf(nodes []catalog.Node) []CategoryNode {
	out := make([]CategoryNode, len(nodes))
	for i, n := range nodes {
		out[i] = CategoryNode{Category: categoryOf(n.Category), Children: categoryNodesOf(n.Children)}
	}
	return out
}

// List returns the whole tree.
func (c *Categories) List(ctx context.Context, _ *struct{}) (*api.Reply[api.All[CategoryNode]], error) {
	nodes, err := c.Service.Categories(ctx, api.Admin(ctx).MerchantID)
	if err != nil {
		return nil, err
	}
	return api.NewAll(categoryNodesOf(nodes)), nil
}

// CategoryBody is what is written of a category.
type CategoryBody struct {
	Name     string `json:"name" minLength:"1" maxLength:"30"`
	ParentID int64  `json:"parent_id,omitempty" minimum:"0" maximum:"9007199254740991" doc:"Absent or 0 at the top"`
	Sort     int    `json:"sort,omitempty" minimum:"-999999" maximum:"999999" doc:"The larger comes first"`
}

func (b CategoryBody) draft() catalog.CategoryDraft {
	return catalog.CategoryDraft{Name: b.Name, ParentID: b.ParentID, Sort: b.Sort}
}

// CategoryCreateInput creates a category.
type CategoryCreateInput struct{ Body CategoryBody }

// Create adds a category.
func (c *Categories) Create(ctx context.Context, in *CategoryCreateInput) (*api.Reply[Category], error) {
	made, err := c.Service.CreateCategory(ctx, api.Admin(ctx).MerchantID, in.Body.draft())
	if err != nil {
		return nil, err
	}
	return api.Body(categoryOf(made)), nil
}

// CategoryChange is a category with the version that was read.
type CategoryChange struct {
	CategoryBody

	Version int64 `json:"version" minimum:"1" maximum:"9007199254740991" doc:"As it was read"`
}

// CategoryUpdateInput replaces a category.
type CategoryUpdateInput struct {
	api.IDPath

	Body CategoryChange
}

// Update replaces a category's name, place and order.
func (c *Categories) Update(ctx context.Context, in *CategoryUpdateInput) (*api.Reply[Category], error) {
	row, err := c.Service.UpdateCategory(ctx, api.Admin(ctx).MerchantID, in.ID, in.Body.Version, in.Body.draft())
	if err != nil {
		return nil, err
	}
	return api.Body(categoryOf(row)), nil
}

// CategoryMove is where a category goes, with the version that was read.
type CategoryMove struct {
	ParentID int64 `json:"parent_id,omitempty" minimum:"0" maximum:"9007199254740991" doc:"Absent or 0 at the top"`
	AfterID  int64 `json:"after_id,omitempty" minimum:"0" maximum:"9007199254740991" doc:"The category there that it follows; absent or 0 for the first place"`
	Version  int64 `json:"version" minimum:"1" maximum:"9007199254740991" doc:"As it was read"`
}

// CategoryMoveInput moves a category.
type CategoryMoveInput struct {
	api.IDPath

	Body CategoryMove
}

// Move puts a category into another place of the tree.
func (c *Categories) Move(ctx context.Context, in *CategoryMoveInput) (*api.Reply[Category], error) {
	to := catalog.Move{ParentID: in.Body.ParentID, AfterID: in.Body.AfterID}
	row, err := c.Service.MoveCategory(ctx, api.Admin(ctx).MerchantID, in.ID, in.Body.Version, to)
	if err != nil {
		return nil, err
	}
	return api.Body(categoryOf(row)), nil
}

// Delete removes an empty category.
func (c *Categories) Delete(ctx context.Context, in *api.IDPath) (*api.Empty, error) {
	return nil, c.Service.DeleteCategory(ctx, api.Admin(ctx).MerchantID, in.ID)
}
