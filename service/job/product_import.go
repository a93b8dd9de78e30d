package job

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// importWork makes and changes products, one a step.
type importWork struct {
	*Service

	products   []productLines
	categories map[string][]int64 // by path, and by "#" with the id
}

func (r *Runner) beginImport(ctx context.Context, j *model.Job) (work, error) {
	data, err := r.input(ctx, j)
	if err != nil {
		return nil, err
	}
	w := &importWork{Service: r.Service, categories: map[string][]int64{}}
	if w.products, err = readProducts(data); err != nil {
		return nil, err
	}
	paths, err := r.Products.CategoryPaths(ctx, j.MerchantID)
	for id, p := range paths {
		p = categoryPath(p)
		w.categories[p] = append(w.categories[p], id)
		w.categories["#"+strconv.FormatInt(id, 10)] = []int64{id}
	}
	return w, err
}

func (w *importWork) next(ctx context.Context, j *model.Job) (*step, error) {
	if j.Step >= int64(len(w.products)) {
		return nil, nil
	}
	p := w.products[j.Step]
	st := &step{line: p.own[0].no, subject: p.subject(), rows: 1}
	e, err := p.entry(w.categories)
	if err == nil {
		err = w.Products.CheckEntry(ctx, e)
	}
	if own(err) {
		st.wrong = p.located(err)
		return st, nil
	}
	if err != nil {
		return nil, err
	}
	st.effect = func(tx *store.Tx) (outcome, error) {
		do := func() (catalog.Imported, error) { return w.Products.ImportIn(tx, j.MerchantID, j.Actor, e) }
		if j.DryRun {
			do = func() (catalog.Imported, error) { return w.Products.PlanEntry(tx, j.MerchantID, e) }
		}
		done, err := do()
		if err != nil {
			return outcome{}, p.located(err)
		}
		return outcomeOf(done, j.DryRun), nil
	}
	return st, nil
}

var skuField = regexp.MustCompile(`^skus\[([0-9]+)\]`)

// located names the lines of the file in an error that counts SKUs.
func (p productLines) located(err error) error {
	f, ok := err.(*fault.Error) //nolint:errorlint // it is changed only where it stands alone
	if !ok {
		return err
	}
	for i, field := range f.Fields {
		m := skuField.FindStringSubmatch(field.Field)
		if m == nil {
			continue
		}
		if at, err := strconv.Atoi(m[1]); err == nil && at < len(p.own) {
			f.Fields[i].Field = fmt.Sprintf("line %d%s", p.own[at].no, field.Field[len(m[0]):])
		}
	}
	return f
}

func outcomeOf(done catalog.Imported, dry bool) outcome {
	will, would := "", ""
	if dry {
		will, would = "将", "would be "
	}
	switch {
	case done.Created:
		return outcome{
			code: "created", zh: fmt.Sprintf("%s新增，含 %d 个规格", will, done.Added), en: fmt.Sprintf("%screated with %d SKUs", would, done.Added),
		}
	case done.Changed:
		return outcome{
			code: "updated", zh: fmt.Sprintf("%s更新：新增 %d、修改 %d、移除 %d 个规格", will, done.Added, done.Edited, done.Removed),
			en: fmt.Sprintf("%supdated: %d SKUs added, %d changed, %d removed", would, done.Added, done.Edited, done.Removed),
		}
	}
	return outcome{code: "unchanged", zh: "无变化", en: "nothing changes"}
}
