package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/coupon"
	"github.com/tidemall/tidemall/service/store"
)

// Coupons has the merchant's operations on coupon templates.
type Coupons struct {
	Service interface {
		Templates(ctx context.Context, f coupon.TemplateFilter, page store.Page) ([]coupon.TemplateView, int64, error)
		Template(ctx context.Context, merchantID, id int64) (coupon.TemplateView, error)
		Create(ctx context.Context, merchantID int64, in coupon.TemplateInput) (coupon.TemplateView, error)
		Update(ctx context.Context, merchantID, id, version int64, in coupon.TemplateInput) (coupon.TemplateView, error)
		Stop(ctx context.Context, merchantID, id, version int64) (coupon.TemplateView, error)
		Resume(ctx context.Context, merchantID, id, version int64) (coupon.TemplateView, error)
	}
}

// CouponBody is what a merchant says of a coupon template.
type CouponBody struct {
	Name           string            `json:"name" minLength:"1" maxLength:"64" example:"满 100 减 10"`
	Kind           model.CouponKind  `json:"kind" enum:"amount,percent,free_shipping"`
	AmountFen      model.Fen         `json:"amount_fen,omitempty" minimum:"0" maximum:"10000000000" doc:"Kind amount, and required there"`
	PercentOff     int               `json:"percent_off,omitempty" minimum:"0" maximum:"99" doc:"Kind percent, and required there: 15 takes 15 % off"`
	MaxDiscountFen model.Fen         `json:"max_discount_fen,omitempty" minimum:"0" maximum:"10000000000" doc:"Kind percent: the most that it takes off; 0 or absent means no limit"`
	ThresholdFen   model.Fen         `json:"threshold_fen" minimum:"0" maximum:"10000000000" doc:"What the goods in scope must cost together"`
	Scope          model.CouponScope `json:"scope" enum:"all,category,product"`
	ScopeIDs       []int64           `json:"scope_ids,omitempty" maxItems:"200" minimum:"1" maximum:"9007199254740991" doc:"Ids of categories (with those below them) or products; none for scope all"`
	Total          int64             `json:"total" minimum:"1" maximum:"100000000" doc:"How many are issued at most"`
	PerShopper     int64             `json:"per_shopper" minimum:"1" maximum:"1000" doc:"How many one shopper may claim"`
	StartsAt       model.Time        `json:"starts_at" format:"date-time" doc:"Claims and use from here"`
	EndsAt         model.Time        `json:"ends_at" format:"date-time" doc:"Claims and use up to here"`
	ValidDays      int               `json:"valid_days,omitempty" minimum:"0" maximum:"3650" doc:"Days of 24 hours after the claim, never beyond ends_at; 0 or absent means until ends_at"`
}

func (b CouponBody) input() coupon.TemplateInput {
	return coupon.TemplateInput{
		Name: b.Name, Kind: b.Kind, AmountFen: b.AmountFen, PercentOff: b.PercentOff, MaxDiscountFen: b.MaxDiscountFen,
		ThresholdFen: b.ThresholdFen, Scope: b.Scope, ScopeIDs: b.ScopeIDs, Total: b.Total, PerShopper: b.PerShopper,
		StartsAt: b.StartsAt, EndsAt: b.EndsAt, ValidDays: b.ValidDays,
	}
}

// CouponTemplate is a template as its merchant sees it.
type CouponTemplate struct {
	ID             int64               `json:"id"`
	Status         model.TemplateState `json:"status" enum:"upcoming,running,stopped,ended" doc:"Whether it can be claimed"`
	Name           string              `json:"name"`
	Kind           model.CouponKind    `json:"kind" enum:"amount,percent,free_shipping"`
	AmountFen      model.Fen           `json:"amount_fen,omitempty"`
	PercentOff     int                 `json:"percent_off,omitempty"`
	MaxDiscountFen model.Fen           `json:"max_discount_fen,omitempty"`
	ThresholdFen   model.Fen           `json:"threshold_fen"`
	Scope          model.CouponScope   `json:"scope" enum:"all,category,product"`
	ScopeIDs       []int64             `json:"scope_ids,omitempty"`
	Scoped         []CouponScoped      `json:"scoped,omitempty" doc:"What scope_ids name, also what was removed since; of one template only, not in the list"`
	Total          int64               `json:"total"`
	PerShopper     int64               `json:"per_shopper"`
	Issued         int64               `json:"issued" doc:"How many shoppers have claimed so far"`
	Figures        CouponFigures       `json:"figures" doc:"What became of those that were issued"`
	StartsAt       model.Time          `json:"starts_at" format:"date-time"`
	EndsAt         model.Time          `json:"ends_at" format:"date-time"`
	ValidDays      int                 `json:"valid_days,omitempty"`
	StoppedAt      model.Time          `json:"stopped_at,omitempty" format:"date-time" doc:"Since when nobody may claim it; absent while it is issued"`
	Version        int64               `json:"version" doc:"Give it with a change"`
	CreatedAt      model.Time          `json:"created_at" format:"date-time"`
	UpdatedAt      model.Time          `json:"updated_at" format:"date-time"`
}

// CouponFigures say what became of the coupons of a template; the first four add up to what was issued.
type CouponFigures struct {
	Available int64 `json:"available" doc:"Held and not used"`
	Locked    int64 `json:"locked" doc:"Held by an unpaid order"`
	Used      int64 `json:"used"`
	Expired   int64 `json:"expired" doc:"Past their end and not used"`
	GivenBack int64 `json:"given_back" doc:"How often an order that ended gave one back"`
}

// CouponScoped is a category or a product that a coupon is for.
type CouponScoped struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

func templateOf(t coupon.TemplateView) CouponTemplate {
	scoped := make([]CouponScoped, len(t.Scoped))
	for i, n := range t.Scoped {
		scoped[i] = CouponScoped(n)
	}
	return CouponTemplate{
		Scoped: scoped,
		ID:     t.ID, Status: t.Status, Figures: CouponFigures(t.Figures), StoppedAt: t.StoppedAt, Name: t.Name, Kind: t.Kind, AmountFen: t.AmountFen, PercentOff: t.PercentOff, MaxDiscountFen: t.MaxDiscountFen,
		ThresholdFen: t.ThresholdFen, Scope: t.Scope, ScopeIDs: t.ScopeIDs, Total: t.Total, PerShopper: t.PerShopper, Issued: t.Issued,
		StartsAt: t.StartsAt, EndsAt: t.EndsAt, ValidDays: t.ValidDays, Version: t.Version, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
}

func templateReply(t coupon.TemplateView, err error) (*api.Reply[CouponTemplate], error) {
	if err != nil {
		return nil, err
	}
	return api.Body(templateOf(t)), nil
}

// CouponListInput asks for a page of templates.
type CouponListInput struct {
	api.PageInput
	Status model.TemplateState `query:"status" enum:"upcoming,running,stopped,ended" doc:"Only templates that stand here"`
}

// List lists the merchant's templates, the newest first.
func (c *Coupons) List(ctx context.Context, in *CouponListInput) (*api.Reply[api.List[CouponTemplate]], error) {
	templates, total, err := c.Service.Templates(ctx, coupon.TemplateFilter{MerchantID: api.Admin(ctx).MerchantID, State: in.Status}, in.Numbered())
	if err != nil {
		return nil, err
	}
	list := make([]CouponTemplate, len(templates))
	for i, t := range templates {
		list[i] = templateOf(t)
	}
	return api.NewList(list, total, in.PageInput), nil
}

// CouponGetInput names a template.
type CouponGetInput struct{ api.IDPath }

// Get returns one template.
func (c *Coupons) Get(ctx context.Context, in *CouponGetInput) (*api.Reply[CouponTemplate], error) {
	return templateReply(c.Service.Template(ctx, api.Admin(ctx).MerchantID, in.ID))
}

// CouponCreateInput makes a template.
type CouponCreateInput struct{ Body CouponBody }

// Create makes a template.
func (c *Coupons) Create(ctx context.Context, in *CouponCreateInput) (*api.Reply[CouponTemplate], error) {
	return templateReply(c.Service.Create(ctx, api.Admin(ctx).MerchantID, in.Body.input()))
}

// CouponUpdateBody is what a template becomes.
type CouponUpdateBody struct {
	CouponBody
	Version int64 `json:"version" minimum:"1" maximum:"9007199254740991" doc:"The version that was read"`
}

// CouponUpdateInput changes a template.
type CouponUpdateInput struct {
	api.IDPath
	Body CouponUpdateBody
}

// Update changes a template.
func (c *Coupons) Update(ctx context.Context, in *CouponUpdateInput) (*api.Reply[CouponTemplate], error) {
	return templateReply(c.Service.Update(ctx, api.Admin(ctx).MerchantID, in.ID, in.Body.Version, in.Body.input()))
}

// CouponStopInput names the template whose claiming is stopped or resumed.
type CouponStopInput struct {
	api.IDPath
	Body VersionBody
}

// Stop ends the claiming of a template.
func (c *Coupons) Stop(ctx context.Context, in *CouponStopInput) (*api.Reply[CouponTemplate], error) {
	return templateReply(c.Service.Stop(ctx, api.Admin(ctx).MerchantID, in.ID, in.Body.Version))
}

// Resume lets shoppers claim a template again.
func (c *Coupons) Resume(ctx context.Context, in *CouponStopInput) (*api.Reply[CouponTemplate], error) {
	return templateReply(c.Service.Resume(ctx, api.Admin(ctx).MerchantID, in.ID, in.Body.Version))
}
