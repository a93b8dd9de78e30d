package admin

import (
	"context"
	"fmt"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/file"
	"github.com/tidemall/tidemall/service/store"
)

// Products has the operations of a merchant's products.
type Products struct {
	Service interface {
		AdminList(ctx context.Context, merchantID int64, f catalog.AdminFilter, page store.Page) ([]catalog.Product, int64, error)
		Product(ctx context.Context, merchantID, id int64) (catalog.Product, error)
		Create(ctx context.Context, merchantID int64, actor string, d catalog.Draft) (catalog.Product, error)
		Update(ctx context.Context, merchantID, id, version int64, actor string, d catalog.Draft) (catalog.Product, error)
		Publish(ctx context.Context, merchantID, id int64) (catalog.Product, error)
		Unpublish(ctx context.Context, merchantID, id int64) (catalog.Product, error)
		Shelve(ctx context.Context, merchantID int64, picks []catalog.Pick, published bool) ([]catalog.ShelfResult, error)
		SetSort(ctx context.Context, merchantID, id, version int64, sort int) (catalog.Product, error)
	}
	Pictures api.Pictures
}

// Product is a product as its merchant sees it.
type Product struct {
	ID          int64               `json:"id"`
	MerchantID  int64               `json:"merchant_id"`
	CategoryID  int64               `json:"category_id"`
	Code        string              `json:"code,omitempty" doc:"The merchant's own; absent where there is none"`
	Name        string              `json:"name"`
	Subtitle    string              `json:"subtitle,omitempty"`
	DetailHTML  string              `json:"detail_html,omitempty" doc:"As it was sanitised; absent in lists"`
	Images      []api.Picture       `json:"images"`
	Options     []api.ProductOption `json:"options" doc:"In display order"`
	SKUs        []SKU               `json:"skus"`
	MinPriceFen model.Fen           `json:"min_price_fen" doc:"Of the cheapest SKU"`
	Sales       int64               `json:"sales" doc:"Pieces paid for"`
	Virtual     bool                `json:"virtual" doc:"Nothing is shipped"`
	Sort        int                 `json:"sort" doc:"The larger comes first"`
	Published   bool                `json:"published"`
	Version     int64               `json:"version"`
	CreatedAt   model.Time          `json:"created_at" format:"date-time"`
	UpdatedAt   model.Time          `json:"updated_at" format:"date-time"`
}

// SKU is one combination of option values.
type SKU struct {
	ID       int64     `json:"id"`
	Specs    api.Specs `json:"specs"`
	PriceFen model.Fen `json:"price_fen"`
	Stock    int64     `json:"stock"`
	WeightG  int64     `json:"weight_g" doc:"In grams, for freight by weight"`
	Image    string    `json:"image,omitempty" format:"uri"`
}

func (p *Products) productOf(row catalog.Product) Product {
	out := Product{
		ID: row.ID, MerchantID: row.MerchantID, CategoryID: row.CategoryID, Name: row.Name, Subtitle: row.Subtitle, DetailHTML: row.DetailHTML,
		Images: api.PicturesOf(row.Images, p.Pictures), Options: api.ProductOptionsOf(row.Options), SKUs: make([]SKU, len(row.SKUs)),
		MinPriceFen: row.MinPriceFen, Sales: row.Sales, Virtual: row.Virtual, Sort: row.Sort, Published: row.Published, Version: row.Version,
		CreatedAt: row.CreatedAt, UpdatedAt: row.ChangedAt,
	}
	if row.Code != nil {
		out.Code = *row.Code
	}
	for i, k := range row.SKUs {
		out.SKUs[i] = SKU{ID: k.ID, Specs: k.Specs, PriceFen: k.PriceFen, Stock: k.Stock, WeightG: k.WeightG, Image: p.Pictures.URL(k.Image)}
	}
	return out
}

func (p *Products) reply(row catalog.Product, err error) (*api.Reply[Product], error) {
	if err != nil {
		return nil, err
	}
	return api.Body(p.productOf(row)), nil
}

// ProductsInput narrows a list of products.
type ProductsInput struct {
	api.PageInput
	ProductFilter
}

// ProductFilter says which of the merchant's products are meant.
type ProductFilter struct {
	CategoryID int64  `query:"category_id" minimum:"1" maximum:"9007199254740991" doc:"In this category or one below it"`
	Status     string `query:"status" enum:"published,unpublished" doc:"On the shelf or not"`
	Query      string `query:"q" maxLength:"60" doc:"Part of the name, of the subtitle or of the code"`
	LowStock   int64  `query:"stock_at_most" minimum:"-1" maximum:"999999999" default:"-1" doc:"Has a SKU with no more pieces than this; -1 does not narrow"`
	Sort       string `query:"sort" enum:"newest,sales,stock,default" default:"newest" doc:"stock: the least first; default: the merchant's own order, as shoppers see it"`
}

func (in ProductFilter) filter() catalog.AdminFilter {
	f := catalog.AdminFilter{CategoryID: in.CategoryID, Query: in.Query, Sort: catalog.Sort(in.Sort)}
	if in.Status != "" {
		f.Published = new(in.Status == "published")
	}
	if in.LowStock >= 0 {
		f.StockAtMost = &in.LowStock
	}
	return f
}

// List returns the merchant's products.
func (p *Products) List(ctx context.Context, in *ProductsInput) (*api.Reply[api.List[Product]], error) {
	rows, total, err := p.Service.AdminList(ctx, api.Admin(ctx).MerchantID, in.filter(), in.Numbered())
	if err != nil {
		return nil, err
	}
	products := make([]Product, len(rows))
	for i, row := range rows {
		products[i] = p.productOf(row)
	}
	return api.NewList(products, total, in.PageInput), nil
}

// Get returns a product, on the shelf or not.
func (p *Products) Get(ctx context.Context, in *api.IDPath) (*api.Reply[Product], error) {
	return p.reply(p.Service.Product(ctx, api.Admin(ctx).MerchantID, in.ID))
}

// ProductBody is what is written of a product.
type ProductBody struct {
	Name       string              `json:"name" minLength:"1" maxLength:"60"`
	CategoryID int64               `json:"category_id" minimum:"1" maximum:"9007199254740991"`
	Code       string              `json:"code,omitempty" maxLength:"64" doc:"The merchant's own, unique within the merchant"`
	Subtitle   string              `json:"subtitle,omitempty" maxLength:"100"`
	DetailHTML string              `json:"detail_html,omitempty" maxLength:"100000" doc:"Is sanitised: scripts, frames and forms are dropped"`
	Images     []api.Picture       `json:"images,omitempty" maxItems:"9" doc:"As the upload answered them, in display order"`
	Options    []api.ProductOption `json:"options,omitempty" maxItems:"3" doc:"In display order; made from the SKUs' specs where absent"`
	Virtual    bool                `json:"virtual,omitempty" doc:"Nothing is shipped: no address, no freight"`
	Sort       int                 `json:"sort,omitempty" minimum:"-999999" maximum:"999999" doc:"The larger comes first"`
	SKUs       []SKUBody           `json:"skus" maxItems:"200" doc:"Every combination that is sold"`
}

// SKUBody is what is written of a SKU.
type SKUBody struct {
	ID       int64     `json:"id,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Of a SKU that is kept; without it the specs tell which one is meant"`
	Specs    api.Specs `json:"specs"`
	PriceFen model.Fen `json:"price_fen" minimum:"1" maximum:"10000000000"`
	Stock    *int64    `json:"stock,omitempty" minimum:"0" maximum:"999999999" doc:"Of a new SKU; refused for an existing one, whose stock has an operation of its own"`
	WeightG  int64     `json:"weight_g,omitempty" minimum:"0" maximum:"1000000" doc:"In grams, for freight by weight"`
	Image    string    `json:"image,omitempty" format:"uri" maxLength:"512" doc:"URL of a stored picture"`
}

// draft turns URLs of pictures into what is stored. The service knows whether they are there.
func (b ProductBody) draft() (catalog.Draft, error) {
	d := catalog.Draft{
		CategoryID: b.CategoryID, Code: b.Code, Name: b.Name, Subtitle: b.Subtitle, DetailHTML: b.DetailHTML, Virtual: b.Virtual, Sort: b.Sort,
		Images: make([]model.Image, len(b.Images)), SKUs: make([]catalog.SKUDraft, len(b.SKUs)),
	}
	wrong := fault.New(fault.ValidationFailed)
	picture := func(field, url string) model.Image {
		img, ok := file.Parse(url)
		if !ok {
			wrong.With(field, fault.FieldChoice, "不是本店的图片地址，请先上传", "is not the URL of a stored picture; upload it first")
		}
		return img
	}
	for i, img := range b.Images {
		d.Images[i] = picture(fmt.Sprintf("images[%d].url", i), img.URL)
	}
	if b.Options != nil {
		d.Options = make([]model.ProductOption, len(b.Options))
	}
	for i, o := range b.Options {
		d.Options[i] = model.ProductOption{Name: o.Name, Values: make([]string, len(o.Values))}
		for j, v := range o.Values {
			d.Options[i].Values[j] = string(v)
		}
	}
	for i, k := range b.SKUs {
		d.SKUs[i] = catalog.SKUDraft{ID: k.ID, Specs: k.Specs, PriceFen: k.PriceFen, Stock: k.Stock, WeightG: k.WeightG}
		if k.Image != "" {
			d.SKUs[i].Image = picture(fmt.Sprintf("skus[%d].image", i), k.Image).Key
		}
	}
	if len(wrong.Fields) > 0 {
		return catalog.Draft{}, wrong
	}
	return d, nil
}

// ProductCreateInput creates a product.
type ProductCreateInput struct{ Body ProductBody }

// Create adds a product, not yet on the shelf.
func (p *Products) Create(ctx context.Context, in *ProductCreateInput) (*api.Reply[Product], error) {
	d, err := in.Body.draft()
	if err != nil {
		return nil, err
	}
	return p.reply(p.Service.Create(ctx, api.Admin(ctx).MerchantID, api.Caller(ctx), d))
}

// ProductChange is a product with the version that was read.
type ProductChange struct {
	ProductBody

	Version int64 `json:"version" minimum:"1" maximum:"9007199254740991" doc:"As it was read"`
}

// ProductUpdateInput replaces a product.
type ProductUpdateInput struct {
	api.IDPath

	Body ProductChange
}

// Update replaces a product: what is left out of the body is emptied, SKUs that are left out are taken off sale.
func (p *Products) Update(ctx context.Context, in *ProductUpdateInput) (*api.Reply[Product], error) {
	d, err := in.Body.draft()
	if err != nil {
		return nil, err
	}
	return p.reply(p.Service.Update(ctx, api.Admin(ctx).MerchantID, in.ID, in.Body.Version, api.Caller(ctx), d))
}

// Publish puts a product on the shelf.
func (p *Products) Publish(ctx context.Context, in *api.IDPath) (*api.Reply[Product], error) {
	return p.reply(p.Service.Publish(ctx, api.Admin(ctx).MerchantID, in.ID))
}

// Unpublish takes a product off the shelf.
func (p *Products) Unpublish(ctx context.Context, in *api.IDPath) (*api.Reply[Product], error) {
	return p.reply(p.Service.Unpublish(ctx, api.Admin(ctx).MerchantID, in.ID))
}
