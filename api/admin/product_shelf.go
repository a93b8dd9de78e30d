package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/service/catalog"
)

// ProductPick names a product as it was read.
type ProductPick struct {
	ID      int64 `json:"id" minimum:"1" maximum:"9007199254740991"`
	Version int64 `json:"version" minimum:"1" maximum:"9007199254740991" doc:"As it was read"`
}

// ShelfBody puts many products on the shelf or takes them off.
type ShelfBody struct {
	Published bool          `json:"published" doc:"true puts them on the shelf, false takes them off"`
	Products  []ProductPick `json:"products" minItems:"1" maxItems:"100"`
}

// ShelfInput changes the shelf.
type ShelfInput struct{ Body ShelfBody }

// ShelfResult is what became of one product.
type ShelfResult struct {
	ID      int64  `json:"id"`
	Version int64  `json:"version" doc:"As it is now where it went well, otherwise as it was sent"`
	Code    string `json:"code,omitempty" doc:"Why it stayed as it was; absent where it is as wanted" example:"stale_version"`
}

// Shelve puts products on the shelf or takes them off and says of each what became of it.
func (p *Products) Shelve(ctx context.Context, in *ShelfInput) (*api.Reply[api.All[ShelfResult]], error) {
	picks := make([]catalog.Pick, len(in.Body.Products))
	for i, one := range in.Body.Products {
		picks[i] = catalog.Pick{ID: one.ID, Version: one.Version}
	}
	done, err := p.Service.Shelve(ctx, api.Admin(ctx).MerchantID, picks, in.Body.Published)
	if err != nil {
		return nil, err
	}
	results := make([]ShelfResult, len(done))
	for i, r := range done {
		results[i] = ShelfResult{ID: r.ID, Version: r.Version, Code: string(r.Code)}
	}
	return api.NewAll(results), nil
}

// ProductSort is a product's place with the version that was read.
type ProductSort struct {
	Sort    int   `json:"sort" minimum:"-999999" maximum:"999999" doc:"The larger comes first"`
	Version int64 `json:"version" minimum:"1" maximum:"9007199254740991" doc:"As it was read"`
}

// ProductSortInput gives a product its place.
type ProductSortInput struct {
	api.IDPath

	Body ProductSort
}

// SetSort gives a product its place in the merchant's own order.
func (p *Products) SetSort(ctx context.Context, in *ProductSortInput) (*api.Reply[Product], error) {
	return p.reply(p.Service.SetSort(ctx, api.Admin(ctx).MerchantID, in.ID, in.Body.Version, in.Body.Sort))
}
