package coupon

import (
	"cmp"
	"context"
	"slices"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Figures say what became of the coupons of a template. Available, Locked, Used and Expired add up to what was issued.
type Figures struct {
	Available int64
	Locked    int64
	Used      int64
	Expired   int64 // those past their end that nobody used
	GivenBack int64 // how often an order that ended gave one back
}

// TemplateView is a template as its merchant sees it.
type TemplateView struct {
	model.CouponTemplate
	Status  model.TemplateState
	Figures Figures
	// Scoped names what the template is for, in the order of its scope's ids; read of one template only.
	Scoped []Named
}

// Named is a category or a product, also one that was removed since.
type Named struct {
	ID   int64
	Name string
}

func (s *Service) view(ctx context.Context, t model.CouponTemplate, err error) (TemplateView, error) {
	if err != nil {
		return TemplateView{}, err
	}
	views, err := s.views(ctx, []model.CouponTemplate{t})
	if err != nil {
		return TemplateView{}, err
	}
	views[0].Scoped, err = s.scoped(ctx, t)
	return views[0], err
}

func (s *Service) scoped(ctx context.Context, t model.CouponTemplate) ([]Named, error) {
	table := map[model.CouponScope]string{model.ScopeCategory: "categories", model.ScopeProduct: "products"}[t.Scope]
	if table == "" {
		return nil, nil
	}
	var named []Named
	err := s.store.Read(ctx).Table(table).Select("id, name").Where("id IN ? AND merchant_id = ?", t.ScopeIDs, t.MerchantID).Scan(&named).Error
	slices.SortFunc(named, func(a, b Named) int {
		return cmp.Compare(slices.Index(t.ScopeIDs, a.ID), slices.Index(t.ScopeIDs, b.ID))
	})
	return named, store.Classify(err)
}

// views adds to templates what became of their coupons, by one query for all of them.
func (s *Service) views(ctx context.Context, templates []model.CouponTemplate) ([]TemplateView, error) {
	now := s.now()
	views, ids, at := make([]TemplateView, len(templates)), make([]int64, len(templates)), make(map[int64]*Figures, len(templates))
	for i, t := range templates {
		views[i] = TemplateView{CouponTemplate: t, Status: t.State(now)}
		ids[i], at[t.ID] = t.ID, &views[i].Figures
	}
	if len(ids) == 0 {
		return views, nil
	}
	var rows []struct {
		TemplateID         int64
		State              model.CouponState
		N, Past, GivenBack int64
	}
	err := s.store.Read(ctx).Raw(`SELECT template_id, state, COUNT(*) AS n, SUM(CASE WHEN expires_at <= ? THEN 1 ELSE 0 END) AS past,
		SUM(given_back) AS given_back FROM coupons WHERE template_id IN ? GROUP BY template_id, state`, now, ids).Scan(&rows).Error
	if err != nil {
		return nil, store.Classify(err)
	}
	for _, r := range rows {
		f := at[r.TemplateID]
		f.GivenBack += r.GivenBack
		switch r.State {
		case model.CouponAvailable: // nothing marks a coupon when its end passes
			f.Available, f.Expired = r.N-r.Past, f.Expired+r.Past
		case model.CouponExpired:
			f.Expired += r.N
		case model.CouponLocked:
			f.Locked = r.N
		case model.CouponUsed:
			f.Used = r.N
		}
	}
	return views, nil
}
