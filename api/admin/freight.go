package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/shipping"
)

// Freight has the merchant's operations on freight rules.
type Freight struct {
	Service interface {
		List(ctx context.Context, merchantID int64) ([]model.FreightRule, error)
		Get(ctx context.Context, merchantID, id int64) (model.FreightRule, error)
		Create(ctx context.Context, merchantID int64, in shipping.RuleInput) (model.FreightRule, error)
		Update(ctx context.Context, merchantID, id, version int64, in shipping.RuleInput) (model.FreightRule, error)
		Delete(ctx context.Context, merchantID, id int64) error
	}
}

// FreightRuleBody is what a merchant says of a freight rule.
type FreightRuleBody struct {
	Name        string            `json:"name" minLength:"1" maxLength:"64" example:"全国"`
	Kind        model.FreightKind `json:"kind" enum:"piece,weight" doc:"Whether units are pieces or grams"`
	Regions     []string          `json:"regions,omitempty" maxItems:"200" maxLength:"64" doc:"Names of provinces or cities, or region codes; none means everywhere else. The most specific region decides"`
	FirstUnits  int64             `json:"first_units" minimum:"1" maximum:"10000000"`
	FirstFen    model.Fen         `json:"first_fen" minimum:"0" maximum:"10000000000" doc:"For the first units"`
	StepUnits   int64             `json:"step_units,omitempty" minimum:"0" maximum:"10000000"`
	StepFen     model.Fen         `json:"step_fen,omitempty" minimum:"0" maximum:"10000000000" doc:"For each further step begun"`
	FreeOverFen model.Fen         `json:"free_over_fen,omitempty" minimum:"0" maximum:"10000000000" doc:"Free from that much of goods after discount; 0 or absent means never"`
	Sort        int               `json:"sort,omitempty" minimum:"0" maximum:"9999" doc:"Among equally specific rules the lowest decides"`
}

func (b FreightRuleBody) input() shipping.RuleInput {
	return shipping.RuleInput{
		Name: b.Name, Kind: b.Kind, Regions: b.Regions, FirstUnits: b.FirstUnits, FirstFen: b.FirstFen,
		StepUnits: b.StepUnits, StepFen: b.StepFen, FreeOverFen: b.FreeOverFen, Sort: b.Sort,
	}
}

// FreightRule prices delivery to some regions.
type FreightRule struct {
	ID          int64             `json:"id"`
	Name        string            `json:"name"`
	Kind        model.FreightKind `json:"kind" enum:"piece,weight"`
	Regions     []string          `json:"regions" doc:"Empty means everywhere else"`
	FirstUnits  int64             `json:"first_units"`
	FirstFen    model.Fen         `json:"first_fen"`
	StepUnits   int64             `json:"step_units"`
	StepFen     model.Fen         `json:"step_fen"`
	FreeOverFen model.Fen         `json:"free_over_fen" doc:"0 means never"`
	Sort        int               `json:"sort"`
	Version     int64             `json:"version" doc:"Give it with a change"`
	CreatedAt   model.Time        `json:"created_at" format:"date-time"`
	UpdatedAt   model.Time        `json:"updated_at" format:"date-time"`
}

func ruleOf(r model.FreightRule) FreightRule {
	return FreightRule{
		ID: r.ID, Name: r.Name, Kind: r.Kind, Regions: r.Regions, FirstUnits: r.FirstUnits, FirstFen: r.FirstFen, StepUnits: r.StepUnits,
		StepFen: r.StepFen, FreeOverFen: r.FreeOverFen, Sort: r.Sort, Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

func ruleReply(r model.FreightRule, err error) (*api.Reply[FreightRule], error) {
	if err != nil {
		return nil, err
	}
	return api.Body(ruleOf(r)), nil
}

// FreightListInput asks for the rules.
type FreightListInput struct{}

// List lists the merchant's rules in their order.
func (f *Freight) List(ctx context.Context, _ *FreightListInput) (*api.Reply[api.All[FreightRule]], error) {
	rules, err := f.Service.List(ctx, api.Admin(ctx).MerchantID)
	if err != nil {
		return nil, err
	}
	list := make([]FreightRule, len(rules))
	for i, r := range rules {
		list[i] = ruleOf(r)
	}
	return api.NewAll(list), nil
}

// FreightGetInput names a rule.
type FreightGetInput struct{ api.IDPath }

// Get returns one rule.
func (f *Freight) Get(ctx context.Context, in *FreightGetInput) (*api.Reply[FreightRule], error) {
	return ruleReply(f.Service.Get(ctx, api.Admin(ctx).MerchantID, in.ID))
}

// FreightCreateInput makes a rule.
type FreightCreateInput struct{ Body FreightRuleBody }

// Create makes a rule.
func (f *Freight) Create(ctx context.Context, in *FreightCreateInput) (*api.Reply[FreightRule], error) {
	return ruleReply(f.Service.Create(ctx, api.Admin(ctx).MerchantID, in.Body.input()))
}

// FreightUpdateBody is what a rule becomes.
type FreightUpdateBody struct {
	FreightRuleBody
	Version int64 `json:"version" minimum:"1" maximum:"9007199254740991" doc:"The version that was read"`
}

// FreightUpdateInput changes a rule.
type FreightUpdateInput struct {
	api.IDPath
	Body FreightUpdateBody
}

// Update changes a rule.
func (f *Freight) Update(ctx context.Context, in *FreightUpdateInput) (*api.Reply[FreightRule], error) {
	return ruleReply(f.Service.Update(ctx, api.Admin(ctx).MerchantID, in.ID, in.Body.Version, in.Body.input()))
}

// FreightDeleteInput names a rule.
type FreightDeleteInput struct{ api.IDPath }

// Delete removes a rule.
func (f *Freight) Delete(ctx context.Context, in *FreightDeleteInput) (*api.Empty, error) {
	return nil, f.Service.Delete(ctx, api.Admin(ctx).MerchantID, in.ID)
}
