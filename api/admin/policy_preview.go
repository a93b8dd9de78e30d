package admin

import (
	"cmp"
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/policy"
)

// PolicyStage is a stage and what its policies may say.
type PolicyStage struct {
	Stage     string `json:"stage" enum:"pay,remind,ship,confirm,aftersale"`
	BuiltInMS int64  `json:"built_in_ms" doc:"What counts where no policy applies"`
	MinMS     int64  `json:"min_ms"`
	MaxMS     int64  `json:"max_ms"`
	Optional  bool   `json:"optional" doc:"Whether a policy may say 0, for no deadline"`
}

// Stages returns the stages.
func (p *Policies) Stages(context.Context, *struct{}) (*api.Reply[api.All[PolicyStage]], error) {
	var out []PolicyStage
	for _, b := range policy.AllBounds() {
		out = append(out, PolicyStage{b.Stage, b.BuiltIn.Milliseconds(), b.Min.Milliseconds(), b.Max.Milliseconds(), b.Optional})
	}
	return api.NewAll(out), nil
}

// PolicyPreviewBody is a draft of a policy, or of a change of one.
type PolicyPreviewBody struct {
	ID             int64  `json:"id,omitempty" minimum:"1" maximum:"9007199254740991" doc:"The policy that is to be changed; absent for a new one"`
	Stage          string `json:"stage,omitempty" enum:"pay,remind,ship,confirm,aftersale" doc:"Of a new one"`
	MerchantID     int64  `json:"merchant_id,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Of a new one; absent means every merchant, which only the platform may say"`
	OrderType      string `json:"order_type,omitempty" enum:"goods,virtual" doc:"Of a new one; absent means every type"`
	BizLine        string `json:"biz_line,omitempty" minLength:"1" maxLength:"32" doc:"Of a new one; absent means every business line"`
	DurationMS     *int64 `json:"duration_ms,omitempty" minimum:"0" maximum:"7776000000" doc:"In milliseconds"`
	Enabled        *bool  `json:"enabled,omitempty" doc:"True where absent"`
	RolloutPercent *int   `json:"rollout_percent,omitempty" minimum:"0" maximum:"100" doc:"100 where absent"`
}

// PolicyPreviewInput asks what a policy would do.
type PolicyPreviewInput struct{ Body PolicyPreviewBody }

// draft is the new policy that the body describes.
func (b PolicyPreviewBody) draft(ctx context.Context) policy.Draft {
	d := policy.Draft{Stage: b.Stage, MerchantID: b.MerchantID, OrderType: b.OrderType, BizLine: b.BizLine, Enabled: true, RolloutPercent: 100}
	if who := api.Admin(ctx); who.Platform && d.MerchantID == 0 {
		d.MerchantID = who.Named
	}
	if b.DurationMS != nil {
		d.DurationMS = *b.DurationMS
	}
	if b.Enabled != nil {
		d.Enabled = *b.Enabled
	}
	if b.RolloutPercent != nil {
		d.RolloutPercent = *b.RolloutPercent
	}
	return d
}

// PolicyTier is a policy that decides about a share of orders.
type PolicyTier struct {
	PolicyID   int64   `json:"policy_id,omitempty" doc:"Absent for the built-in duration and for a draft of a new policy"`
	Draft      bool    `json:"draft,omitempty" doc:"Whether it is the one that the preview is about"`
	DurationMS int64   `json:"duration_ms"`
	Percent    float64 `json:"percent" doc:"The share of these orders that it decides about"`
}

func tiersOf(rows []policy.Tier) []PolicyTier {
	out := make([]PolicyTier, len(rows))
	for i, t := range rows {
		out[i] = PolicyTier{t.ID, t.Draft, t.Duration.Milliseconds(), t.Percent}
	}
	return out
}

// PolicyEffect says which policies decide about one sort of orders, in the order in which they are tried.
type PolicyEffect struct {
	OrderType string       `json:"order_type" enum:"goods,virtual"`
	BizLine   string       `json:"biz_line,omitempty" doc:"Absent for orders of no business line, or of one without policies"`
	Before    []PolicyTier `json:"before"`
	After     []PolicyTier `json:"after"`
}

// PolicyPreview is what a policy would do.
type PolicyPreview struct {
	Orders          int64          `json:"orders" doc:"Orders that were looked at: the newest, since the day named"`
	Applies         int64          `json:"applies" doc:"Those of them about which the policy would have decided; of a new policy by its share, else by their numbers"`
	Percent         float64        `json:"percent" doc:"applies of orders; 0 where there are none"`
	Since           model.Time     `json:"since" format:"date-time"`
	Complete        bool           `json:"complete" doc:"Whether all orders since then were looked at"`
	Waiting         int64          `json:"waiting" doc:"Unpaid orders that were looked at; of the stage pay only"`
	Retimes         int64          `json:"retimes" doc:"Those of them whose deadline a re-timing by the policy would move"`
	WaitingComplete bool           `json:"waiting_complete" doc:"Whether all unpaid orders were looked at; else there are more"`
	Effects         []PolicyEffect `json:"effects"`
}

// Preview returns what a policy would do. The orders are those of the policy's merchant, else of the merchant that asks or is named,
// else everybody's; the unpaid ones of a policy for everybody are everybody's where the platform asks.
func (p *Policies) Preview(ctx context.Context, in *PolicyPreviewInput) (*api.Reply[PolicyPreview], error) {
	b := in.Body
	by := changing(ctx)
	change := policy.Change{DurationMS: b.DurationMS, Enabled: b.Enabled, RolloutPercent: b.RolloutPercent}
	trial, err := p.Service.Try(ctx, by, b.ID, b.draft(ctx), change)
	if err != nil {
		return nil, err
	}
	merchantID := cmp.Or(trial.Draft.MerchantID, seeing(ctx))
	seen, err := p.Previews.Preview(ctx, trial, merchantID, cmp.Or(trial.Draft.MerchantID, by.MerchantID))
	if err != nil {
		return nil, err
	}
	out := PolicyPreview{
		Orders: seen.Orders, Applies: seen.Applies, Since: seen.Since, Complete: seen.Complete,
		Waiting: seen.Waiting, Retimes: seen.Retimes, WaitingComplete: seen.WaitingComplete,
	}
	if seen.Orders > 0 {
		out.Percent = float64(seen.Applies*1000/seen.Orders) / 10
	}
	for _, e := range trial.Effects(merchantID) {
		out.Effects = append(out.Effects, PolicyEffect{e.OrderType, e.BizLine, tiersOf(e.Before), tiersOf(e.After)})
	}
	return api.Body(out), nil
}
