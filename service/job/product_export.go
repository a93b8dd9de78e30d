package job

import (
	"context"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/store"
)

// productPart is how many products a part has; their detail texts may be long.
const productPart = 100

type productParams struct {
	Filter  catalog.AdminFilter
	English bool
}

// ExportProducts makes a job that writes the merchant's products into a file that ImportProducts reads. It fails with state_conflict
// where MaxOpen jobs have not ended.
func (s *Service) ExportProducts(ctx context.Context, by Caller, f catalog.AdminFilter) (model.Job, error) {
	return s.export(ctx, by, model.JobProductExport, productParams{f, by.English})
}

type productExport struct {
	*Service
	productParams

	categories map[int64]string
}

func (r *Runner) beginProductExport(ctx context.Context, j *model.Job) (work, error) {
	p, err := params[productParams](j)
	if err != nil {
		return nil, err
	}
	categories, err := r.Products.CategoryPaths(ctx, j.MerchantID)
	if err != nil {
		return nil, err
	}
	total, err := r.Products.AdminCount(ctx, j.MerchantID, p.Filter)
	if err != nil {
		return nil, err
	}
	return &productExport{r.Service, p, categories}, r.count(ctx, j, total)
}

func (w *productExport) next(ctx context.Context, j *model.Job) (*step, error) {
	products, err := w.Products.AdminAfter(ctx, j.MerchantID, w.Filter, j.CursorID, productPart)
	if err != nil || len(products) == 0 && j.Step > 0 {
		return nil, err
	}
	out := newWriter()
	if j.Step == 0 {
		out.head(productColumns, w.English)
	}
	next := store.Cursor{}
	for _, p := range products {
		w.write(out, p)
		next.ID = p.ID
	}
	return w.exportPart(ctx, j, out, len(products), next)
}

// write writes a product, a line for each SKU; a product without any has one line, which lacks a price.
func (w *productExport) write(out *writer, p catalog.Product) {
	urls := make([]string, len(p.Images))
	for i, img := range p.Images {
		urls[i] = w.Pictures.URL(img.Key)
	}
	code := ""
	if p.Code != nil {
		code = *p.Code
	}
	own := []any{
		count(p.ID), code, p.Name, w.categories[p.CategoryID], p.Subtitle, p.DetailHTML, strings.Join(urls, " "),
		w.yes(p.Virtual), count(int64(p.Sort)), w.yes(p.Published),
	}
	if len(p.SKUs) == 0 {
		out.line(append(own, "", "", "", "", "", "", "", "", "", "")...)
	}
	for _, sku := range p.SKUs {
		line := append([]any{}, own...)
		for i := range catalog.MaxOptions {
			if i < len(p.Options) {
				line = append(line, p.Options[i].Name, sku.Specs[p.Options[i].Name])
			} else {
				line = append(line, "", "")
			}
		}
		out.line(append(line, yuan(sku.PriceFen), count(sku.Stock), count(sku.WeightG), w.Pictures.URL(sku.Image))...)
		// The text is the largest cell: the product's first line is enough.
		own[5] = ""
	}
}

func (w *productExport) yes(b bool) string {
	switch {
	case b && w.English:
		return "yes"
	case b:
		return "是"
	case w.English:
		return "no"
	}
	return "否"
}
