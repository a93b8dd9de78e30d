package shop

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/review"
	"github.com/tidemall/tidemall/service/store"
)

// Catalog has the operations of looking around in the shop. They need no token.
type Catalog struct {
	Service interface {
		Categories(ctx context.Context, merchantID int64) ([]catalog.Node, error)
		List(ctx context.Context, f catalog.Filter, page store.Page) ([]model.Product, int64, error)
		Detail(ctx context.Context, id int64) (catalog.Product, error)
	}
	Ratings interface {
		RatingOf(ctx context.Context, productID int64) (review.Rating, error)
	}
	Pictures api.Pictures
}

// Category is a node of the tree of categories.
type Category struct {
	ID         int64      `json:"id"`
	MerchantID int64      `json:"merchant_id"`
	Name       string     `json:"name"`
	Children   []Category `json:"children" doc:"In display order; three levels at most"`
}

func categoriesOf(nodes []catalog.Node) []Category {
	out := make([]Category, len(nodes))
	for i, n := range nodes {
		out[i] = Category{ID: n.ID, MerchantID: n.MerchantID, Name: n.Name, Children: categoriesOf(n.Children)}
	}
	return out
}

// OfMerchant narrows a list to one merchant.
type OfMerchant struct {
	MerchantID int64 `query:"merchant_id" minimum:"1" maximum:"9007199254740991" doc:"Of this merchant only"`
}

// Categories returns the tree of categories.
func (c *Catalog) Categories(ctx context.Context, in *OfMerchant) (*api.Reply[api.All[Category]], error) {
	nodes, err := c.Service.Categories(ctx, in.MerchantID)
	if err != nil {
		return nil, err
	}
	return api.NewAll(categoriesOf(nodes)), nil
}

// ProductCard is a product in a list.
type ProductCard struct {
	ID          int64     `json:"id"`
	MerchantID  int64     `json:"merchant_id"`
	CategoryID  int64     `json:"category_id"`
	Name        string    `json:"name"`
	Subtitle    string    `json:"subtitle,omitempty"`
	Image       string    `json:"image,omitempty" format:"uri" doc:"Thumbnail of the first picture"`
	MinPriceFen model.Fen `json:"min_price_fen" doc:"Of the cheapest SKU"`
	Sales       int64     `json:"sales" doc:"Pieces paid for"`
	Virtual     bool      `json:"virtual" doc:"Nothing is shipped"`
}

// ProductsInput narrows and orders a list of products.
type ProductsInput struct {
	api.PageInput
	OfMerchant

	CategoryID int64        `query:"category_id" minimum:"1" maximum:"9007199254740991" doc:"In this category or one below it"`
	Query      string       `query:"q" maxLength:"100" doc:"Words of the name, the subtitle, option values or category; all must be found, Latin ones by their beginning"`
	Sort       catalog.Sort `query:"sort" enum:"default,sales,newest,price,-price" default:"default" doc:"default is the merchant's order, and by relevance with q"`
}

// Products lists what is on the shelf.
func (c *Catalog) Products(ctx context.Context, in *ProductsInput) (*api.Reply[api.List[ProductCard]], error) {
	f := catalog.Filter{CategoryID: in.CategoryID, MerchantID: in.MerchantID, Query: in.Query, Sort: in.Sort}
	rows, total, err := c.Service.List(ctx, f, in.Numbered())
	if err != nil {
		return nil, err
	}
	cards := make([]ProductCard, len(rows))
	for i, p := range rows {
		cards[i] = ProductCard{
			ID: p.ID, MerchantID: p.MerchantID, CategoryID: p.CategoryID, Name: p.Name, Subtitle: p.Subtitle,
			Image: api.ThumbOf(p.Images, c.Pictures), MinPriceFen: p.MinPriceFen, Sales: p.Sales, Virtual: p.Virtual,
		}
	}
	return api.NewList(cards, total, in.PageInput), nil
}

// Product is a product with what is needed to choose a SKU.
type Product struct {
	ID           int64               `json:"id"`
	MerchantID   int64               `json:"merchant_id"`
	MerchantName string              `json:"merchant_name"`
	CategoryID   int64               `json:"category_id"`
	Name         string              `json:"name"`
	Subtitle     string              `json:"subtitle,omitempty"`
	DetailHTML   string              `json:"detail_html,omitempty" doc:"Sanitised: no scripts, frames or forms"`
	Images       []api.Picture       `json:"images"`
	Options      []api.ProductOption `json:"options" doc:"In display order; none for a product with a single SKU"`
	SKUs         []SKU               `json:"skus"`
	MinPriceFen  model.Fen           `json:"min_price_fen"`
	Sales        int64               `json:"sales" doc:"Pieces paid for"`
	Rating       api.Rating          `json:"rating" doc:"What its reviews say in sum"`
	Virtual      bool                `json:"virtual" doc:"Nothing is shipped"`
}

// SKU is one combination of option values that can be bought.
type SKU struct {
	ID       int64     `json:"id"`
	Specs    api.Specs `json:"specs"`
	PriceFen model.Fen `json:"price_fen"`
	Stock    int64     `json:"stock"`
	Image    string    `json:"image,omitempty" format:"uri"`
}

// Product returns a product on the shelf.
func (c *Catalog) Product(ctx context.Context, in *api.IDPath) (*api.Reply[Product], error) {
	p, err := c.Service.Detail(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	rating, err := c.Ratings.RatingOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := Product{
		ID: p.ID, MerchantID: p.MerchantID, MerchantName: p.MerchantName, CategoryID: p.CategoryID, Name: p.Name, Subtitle: p.Subtitle,
		DetailHTML: p.DetailHTML, Images: api.PicturesOf(p.Images, c.Pictures), Options: api.ProductOptionsOf(p.Options),
		SKUs: make([]SKU, len(p.SKUs)), MinPriceFen: p.MinPriceFen, Sales: p.Sales, Rating: api.RatingOf(rating), Virtual: p.Virtual,
	}
	for i, k := range p.SKUs {
		out.SKUs[i] = SKU{ID: k.ID, Specs: k.Specs, PriceFen: k.PriceFen, Stock: k.Stock, Image: c.Pictures.URL(k.Image)}
	}
	return api.Body(out), nil
}
