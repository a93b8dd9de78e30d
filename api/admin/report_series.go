package admin

import (
	"context"
	"time"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/report"
)

// SeriesInput asks for figures by hour or by day.
type SeriesInput struct {
	api.DayRange

	By string `query:"by" enum:"hour,day" default:"day" doc:"How long a span is; a range may have 31 days of hours, or 366 days"`
}

// longestByHour is the longest range of a series by the hour.
const longestByHour = 31 * 24 * time.Hour

// Series returns the figures of the orders placed in each hour or day of a time, oldest first; today where nothing is said.
func (r *Reports) Series(ctx context.Context, in *SeriesInput) (*api.Reply[api.All[Overview]], error) {
	from, to, err := r.bounds(ctx, in.DayRange)
	if err != nil {
		return nil, err
	}
	by := report.By(in.By)
	if by == report.ByHour {
		if err := notOver(longestByHour, from, to); err != nil {
			return nil, err
		}
	}
	points, err := r.Service.Series(ctx, api.Admin(ctx).MerchantID, from, to, by, api.Zone(ctx))
	if err != nil {
		return nil, err
	}
	out := make([]Overview, len(points))
	for i, p := range points {
		end := to
		if i+1 < len(points) {
			end = points[i+1].Start
		}
		out[i] = overviewOf(p.Start, end, p.Overview)
	}
	return api.NewAll(out), nil
}

// TopInput asks for the first of a list.
type TopInput struct {
	Limit int `query:"limit" minimum:"1" maximum:"100" default:"10"`
}

// BestSellersInput asks for what sold best in a time.
type BestSellersInput struct {
	api.DayRange
	TopInput
}

// BestSeller is what was paid for of a product.
type BestSeller struct {
	ProductID int64     `json:"product_id"`
	Name      string    `json:"name"`
	Quantity  int64     `json:"quantity" doc:"Pieces in paid orders, also if refunded afterwards"`
	PaidFen   model.Fen `json:"paid_fen" doc:"After discounts and adjustments"`
}

// BestSellers returns the products of which most pieces were paid for in a time of 366 days at most, most first; today where nothing is said.
func (r *Reports) BestSellers(ctx context.Context, in *BestSellersInput) (*api.Reply[api.All[BestSeller]], error) {
	from, to, err := r.bounds(ctx, in.DayRange)
	if err != nil {
		return nil, err
	}
	rows, err := r.Service.BestSellers(ctx, api.Admin(ctx).MerchantID, from, to, in.Limit)
	if err != nil {
		return nil, err
	}
	out := make([]BestSeller, len(rows))
	for i, b := range rows {
		out[i] = BestSeller{ProductID: b.ProductID, Name: b.Name, Quantity: b.Quantity, PaidFen: b.PaidFen}
	}
	return api.NewAll(out), nil
}

// LowStockInput asks for what is nearly sold out.
type LowStockInput struct {
	TopInput

	Most int64 `query:"most" minimum:"0" maximum:"1000000" default:"5" doc:"SKUs with at most so many pieces"`
}

// LowStock is a published SKU of which little is left.
type LowStock struct {
	SKUID     int64             `json:"sku_id"`
	ProductID int64             `json:"product_id"`
	Name      string            `json:"name"`
	Specs     map[string]string `json:"specs"`
	Stock     int64             `json:"stock"`
}

// LowStock returns the published SKUs of which least is left.
func (r *Reports) LowStock(ctx context.Context, in *LowStockInput) (*api.Reply[api.All[LowStock]], error) {
	rows, err := r.Service.LowStock(ctx, api.Admin(ctx).MerchantID, in.Most, in.Limit)
	if err != nil {
		return nil, err
	}
	out := make([]LowStock, len(rows))
	for i, s := range rows {
		out[i] = LowStock{SKUID: s.SKUID, ProductID: s.ProductID, Name: s.Name, Specs: s.Specs, Stock: s.Stock}
	}
	return api.NewAll(out), nil
}
