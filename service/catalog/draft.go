package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
)

// Draft is what an admin writes of a product.
type Draft struct {
	CategoryID int64
	Code       string // the merchant's own, unique within the merchant; empty = none
	Name       string
	Subtitle   string
	DetailHTML string // sanitised before it is stored
	Images     []model.Image
	Options    []model.ProductOption // in display order; nil = made from the SKUs' specs
	Virtual    bool
	Sort       int // the larger comes first
	SKUs       []SKUDraft
}

// SKUDraft is what an admin writes of a SKU.
type SKUDraft struct {
	ID       int64             // of a SKU of this product that is kept, whatever its specs become; 0 = told by Specs
	Specs    map[string]string // by option name; empty for a product's only SKU
	PriceFen model.Fen
	Stock    *int64 // of a SKU that is new; an existing one's changes by the stock operation
	WeightG  int64
	Image    string // a key in the file store, or empty
}

// tidy trims what people type and fills in what may be left out.
func (d *Draft) tidy(known []model.ProductOption) {
	d.Name, d.Subtitle, d.Code = strings.TrimSpace(d.Name), strings.TrimSpace(d.Subtitle), strings.TrimSpace(d.Code)
	d.DetailHTML = sanitise(d.DetailHTML)
	if d.Images == nil {
		d.Images = []model.Image{}
	}
	d.SKUs = slices.Clone(d.SKUs)
	for i := range d.SKUs {
		d.SKUs[i].Specs = trimSpecs(d.SKUs[i].Specs)
	}
	if d.Options == nil {
		d.Options = deriveOptions(d.SKUs, known)
		return
	}
	options := make([]model.ProductOption, len(d.Options))
	for i, o := range d.Options {
		options[i] = model.ProductOption{Name: strings.TrimSpace(o.Name), Values: make([]string, len(o.Values))}
		for j, v := range o.Values {
			options[i].Values[j] = strings.TrimSpace(v)
		}
	}
	d.Options = options
}

// check fails with validation_failed, naming every field that is wrong.
func (d *Draft) check() error {
	p := &problems{}
	p.text("name", d.Name, 1, MaxName)
	p.text("code", d.Code, 0, MaxCode)
	p.text("subtitle", d.Subtitle, 0, MaxSubtitle)
	if len([]rune(d.DetailHTML)) > MaxDetail {
		p.add("detail_html", fault.FieldLength, fmt.Sprintf("最多 %d 个字符", MaxDetail), fmt.Sprintf("may have %d characters at most", MaxDetail))
	}
	p.between("sort", int64(d.Sort), -MaxSort, MaxSort)
	p.atMost("images", len(d.Images), MaxImages)
	p.atMost("skus", len(d.SKUs), MaxSKUs)
	d.checkOptions(p)
	d.checkSKUs(p)
	return p.err()
}

func (d *Draft) checkOptions(p *problems) {
	p.atMost("options", len(d.Options), MaxOptions)
	names := map[string]bool{}
	for i, o := range d.Options {
		field := fmt.Sprintf("options[%d]", i)
		p.text(field+".name", o.Name, 1, MaxOptionName)
		if names[o.Name] {
			p.duplicate(field+".name", "规格名重复", "is the name of another option")
		}
		names[o.Name] = true
		if len(o.Values) == 0 {
			p.add(field+".values", fault.FieldRequired, "至少一个规格值", "must have a value")
		}
		p.atMost(field+".values", len(o.Values), MaxValues)
		values := map[string]bool{}
		for j, v := range o.Values {
			at := fmt.Sprintf("%s.values[%d]", field, j)
			p.text(at, v, 1, MaxOptionValue)
			if values[v] {
				p.duplicate(at, "规格值重复", "is there twice")
			}
			values[v] = true
		}
	}
}

func (d *Draft) checkSKUs(p *problems) {
	seen, ids := map[string]bool{}, map[int64]bool{}
	for i, sku := range d.SKUs {
		field := fmt.Sprintf("skus[%d]", i)
		d.checkSpecs(p, field+".specs", sku.Specs)
		key := specKey(sku.Specs)
		if seen[key] {
			p.duplicate(field+".specs", "与其他 SKU 的规格相同", "are those of another SKU")
		}
		seen[key] = true
		if sku.ID != 0 && ids[sku.ID] {
			p.duplicate(field+".id", "SKU 重复", "is there twice")
		}
		ids[sku.ID] = true
		p.between(field+".price_fen", int64(sku.PriceFen), 1, int64(model.MaxFen))
		if sku.Stock != nil {
			p.between(field+".stock", *sku.Stock, 0, MaxStock)
		}
		p.between(field+".weight_g", sku.WeightG, 0, MaxWeightG)
	}
}

func (d *Draft) checkSpecs(p *problems, field string, specs map[string]string) {
	for _, o := range d.Options {
		value, ok := specs[o.Name]
		switch {
		case !ok:
			p.add(field, fault.FieldRequired, fmt.Sprintf("缺少规格“%s”", o.Name), fmt.Sprintf("must name a value of %q", o.Name))
		case !slices.Contains(o.Values, value):
			p.add(field, fault.FieldChoice, fmt.Sprintf("“%s”没有规格值“%s”", o.Name, value), fmt.Sprintf("%q is not a value of %q", value, o.Name))
		}
	}
	for name := range specs {
		if !slices.ContainsFunc(d.Options, func(o model.ProductOption) bool { return o.Name == name }) {
			p.add(field, fault.FieldUnknown, fmt.Sprintf("没有规格“%s”", name), fmt.Sprintf("%q is not an option of this product", name))
		}
	}
}

// checkPictures makes sure that the pictures are stored here. It asks the file store, so it runs outside any transaction.
func (c *Catalog) checkPictures(ctx context.Context, d Draft) error {
	p := &problems{}
	known := map[string]bool{"": true}
	check := func(field, key string) error {
		there, asked := known[key]
		if !asked {
			var err error
			if there, err = c.pictures.Exists(ctx, key); err != nil {
				return err
			}
			known[key] = there
		}
		if !there {
			p.add(field, fault.FieldChoice, "图片不存在，请先上传", "is not a stored picture; upload it first")
		}
		return nil
	}
	for i, img := range d.Images {
		if img.Key == "" {
			p.add(fmt.Sprintf("images[%d].url", i), fault.FieldChoice, "不是本店的图片地址，请先上传", "is not the URL of a stored picture; upload it first")
		} else if err := check(fmt.Sprintf("images[%d].url", i), img.Key); err != nil {
			return err
		}
	}
	for i, sku := range d.SKUs {
		if err := check(fmt.Sprintf("skus[%d].image", i), sku.Image); err != nil {
			return err
		}
	}
	return p.err()
}
