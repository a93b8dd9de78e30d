package catalog

import "github.com/tidemall/tidemall/model"

// loggedProduct is a product as the change log shows it: what an admin sets, without what the shop counts.
type loggedProduct struct {
	model.Product

	Sales       any // hides the product's
	MinPriceFen any
	SKUs        []loggedSKU `gorm:"column:skus"`
}

type loggedSKU struct {
	ID       int64             `json:"id"`
	Specs    map[string]string `json:"specs,omitempty"`
	PriceFen model.Fen         `json:"price_fen"`
	WeightG  int64             `json:"weight_g,omitempty"`
	Image    string            `json:"image,omitempty"`
}

func logged(p Product) loggedProduct {
	out := loggedProduct{Product: p.Product, SKUs: make([]loggedSKU, len(p.SKUs))}
	for i, s := range p.SKUs {
		out.SKUs[i] = loggedSKU{ID: s.ID, Specs: s.Specs, PriceFen: s.PriceFen, WeightG: s.WeightG, Image: s.Image}
	}
	return out
}
