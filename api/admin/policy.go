package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/job"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
)

// Policies has the operations on timeout policies.
type Policies struct {
	Service interface {
		List(ctx context.Context, merchantID int64, page store.Page) ([]model.TimeoutPolicy, int64, error)
		Get(ctx context.Context, merchantID, id int64) (model.TimeoutPolicy, error)
		Versions(ctx context.Context, merchantID, id int64) ([]model.TimeoutPolicyVersion, error)
		Create(ctx context.Context, by policy.By, d policy.Draft) (model.TimeoutPolicy, error)
		Update(ctx context.Context, by policy.By, id int64, c policy.Change) (model.TimeoutPolicy, error)
		Rollback(ctx context.Context, by policy.By, id, version, to int64) (model.TimeoutPolicy, error)
		Remove(ctx context.Context, by policy.By, id, version int64) error
		Try(ctx context.Context, by policy.By, id int64, d policy.Draft, c policy.Change) (*policy.Trial, error)
	}
	Previews interface {
		Preview(ctx context.Context, t *policy.Trial, recentOf, waitingOf int64) (order.Preview, error)
	}
	Jobs interface {
		Retime(ctx context.Context, by job.Caller, policyID int64) (model.Job, error)
		Retimings(ctx context.Context, by job.Caller, policyID int64) ([]model.Job, error)
		CancelRetime(ctx context.Context, by job.Caller, policyID int64) error
	}
}

// Policy says how long a stage of an order may take.
type Policy struct {
	ID             int64      `json:"id"`
	Stage          string     `json:"stage" example:"pay"`
	MerchantID     int64      `json:"merchant_id,omitempty" doc:"Absent means every merchant"`
	OrderType      string     `json:"order_type,omitempty" doc:"Absent means every type"`
	BizLine        string     `json:"biz_line,omitempty" doc:"Absent means every business line"`
	DurationMS     int64      `json:"duration_ms" doc:"In milliseconds"`
	Enabled        bool       `json:"enabled"`
	RolloutPercent int        `json:"rollout_percent" doc:"The share of orders that it is for, chosen by their numbers"`
	Version        int64      `json:"version" doc:"Give it with a change"`
	CreatedAt      model.Time `json:"created_at" format:"date-time"`
	UpdatedAt      model.Time `json:"updated_at" format:"date-time"`
}

func policyOf(r model.TimeoutPolicy) Policy {
	return Policy{
		ID: r.ID, Stage: r.Stage, MerchantID: r.MerchantID, OrderType: r.OrderType, BizLine: r.BizLine, DurationMS: r.DurationMS,
		Enabled: r.Enabled, RolloutPercent: r.RolloutPercent, Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.ChangedAt,
	}
}

func policyReply(r model.TimeoutPolicy, err error) (*api.Reply[Policy], error) {
	if err != nil {
		return nil, err
	}
	return api.Body(policyOf(r)), nil
}

// PolicyVersion is a former or the present version of a policy.
type PolicyVersion struct {
	Version        int64 `json:"version"`
	DurationMS     int64 `json:"duration_ms"`
	Enabled        bool  `json:"enabled"`
	RolloutPercent int   `json:"rollout_percent"`

	Action      model.PolicyAction `json:"action,omitempty" enum:"create,update,rollback,remove" doc:"How it came to be"`
	FromVersion int64              `json:"from_version,omitempty" doc:"The version whose values a rollback took"`
	Actor       string             `json:"actor" doc:"Who made it" example:"admin:3"`
	CreatedAt   model.Time         `json:"created_at" format:"date-time"`
}

// seeing is the merchant whose things are shown; 0, for the platform while it names none, means everybody's.
func seeing(ctx context.Context) int64 {
	who := api.Admin(ctx)
	if who.Platform {
		return who.Named
	}
	return who.MerchantID
}

// changing is who changes policies: the platform may change all of them, also while it names a merchant.
func changing(ctx context.Context) policy.By {
	by := policy.By{Actor: api.Caller(ctx)}
	if who := api.Admin(ctx); !who.Platform {
		by.MerchantID = who.MerchantID
	}
	return by
}

// PolicyListInput asks for a page of policies.
type PolicyListInput struct{ api.PageInput }

// List returns policies in the order in which they are tried.
func (p *Policies) List(ctx context.Context, in *PolicyListInput) (*api.Reply[api.List[Policy]], error) {
	rows, total, err := p.Service.List(ctx, seeing(ctx), in.Numbered())
	if err != nil {
		return nil, err
	}
	out := make([]Policy, len(rows))
	for i, r := range rows {
		out[i] = policyOf(r)
	}
	return api.NewList(out, total, in.PageInput), nil
}

// PolicyBody is a new policy.
type PolicyBody struct {
	Stage          string `json:"stage" enum:"pay,remind,ship,confirm,aftersale" doc:"pay: from placing an order to its close (30 minutes where no policy applies; 1 s to 30 days). remind: how long before that the shopper is reminded (10 minutes; to 30 days). ship: from paying to the alert that it is not shipped (48 hours; to 90 days). confirm: from shipping to completion by itself (7 days; to 90 days). aftersale: from asking for an after-sale to the alert that it is not answered (48 hours; to 30 days)"`
	MerchantID     int64  `json:"merchant_id,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Absent means every merchant, which only the platform may say"`
	OrderType      string `json:"order_type,omitempty" enum:"goods,virtual" doc:"Absent means every type"`
	BizLine        string `json:"biz_line,omitempty" minLength:"1" maxLength:"32" doc:"Absent means every business line"`
	DurationMS     int64  `json:"duration_ms" minimum:"0" maximum:"7776000000" doc:"In milliseconds, from 1,000; 0 for no deadline, which pay cannot have"`
	Enabled        *bool  `json:"enabled,omitempty" doc:"True where absent. One that is off leaves it to the next less specific"`
	RolloutPercent *int   `json:"rollout_percent,omitempty" minimum:"0" maximum:"100" doc:"The share of orders that it is for; 100 where absent"`
}

// PolicyCreateInput makes a policy.
type PolicyCreateInput struct{ Body PolicyBody }

// Create makes a policy. Where the platform names a merchant in the query and none in the body, it is for that one.
func (p *Policies) Create(ctx context.Context, in *PolicyCreateInput) (*api.Reply[Policy], error) {
	b := in.Body
	d := policy.Draft{
		Stage: b.Stage, MerchantID: b.MerchantID, OrderType: b.OrderType, BizLine: b.BizLine,
		DurationMS: b.DurationMS, Enabled: true, RolloutPercent: 100,
	}
	if who := api.Admin(ctx); who.Platform && d.MerchantID == 0 {
		d.MerchantID = who.Named
	}
	if b.Enabled != nil {
		d.Enabled = *b.Enabled
	}
	if b.RolloutPercent != nil {
		d.RolloutPercent = *b.RolloutPercent
	}
	return policyReply(p.Service.Create(ctx, changing(ctx), d))
}

// PolicyUpdateBody is what a policy becomes; absent values stay. What it applies to may be repeated but not changed.
type PolicyUpdateBody struct {
	ID             *int64  `json:"id,omitempty" minimum:"1" maximum:"9007199254740991" doc:"May be repeated"`
	Stage          *string `json:"stage,omitempty" maxLength:"32" doc:"May be repeated"`
	MerchantID     *int64  `json:"merchant_id,omitempty" minimum:"1" maximum:"9007199254740991" doc:"May be repeated"`
	OrderType      *string `json:"order_type,omitempty" maxLength:"16" doc:"May be repeated"`
	BizLine        *string `json:"biz_line,omitempty" maxLength:"32" doc:"May be repeated"`
	DurationMS     *int64  `json:"duration_ms,omitempty" minimum:"0" maximum:"7776000000" doc:"In milliseconds, from 1,000; 0 for no deadline, which pay cannot have"`
	Enabled        *bool   `json:"enabled,omitempty"`
	RolloutPercent *int    `json:"rollout_percent,omitempty" minimum:"0" maximum:"100"`
	Version        int64   `json:"version" minimum:"1" maximum:"9007199254740991" doc:"The version that was read"`
}

// PolicyUpdateInput changes a policy.
type PolicyUpdateInput struct {
	api.IDPath
	Body PolicyUpdateBody
}

// Update makes a new version of a policy.
func (p *Policies) Update(ctx context.Context, in *PolicyUpdateInput) (*api.Reply[Policy], error) {
	b := in.Body
	if b.ID != nil && *b.ID != in.ID {
		return nil, fault.New(fault.ValidationFailed).With("id", fault.FieldChoice, "与路径中的编号不同", "is not the id in the path")
	}
	return policyReply(p.Service.Update(ctx, changing(ctx), in.ID, policy.Change{
		DurationMS: b.DurationMS, Enabled: b.Enabled, RolloutPercent: b.RolloutPercent, Version: b.Version,
		Stage: b.Stage, MerchantID: b.MerchantID, OrderType: b.OrderType, BizLine: b.BizLine,
	}))
}

// PolicyRollbackBody says where to go back to.
type PolicyRollbackBody struct {
	Version   int64 `json:"version,omitempty" minimum:"1" maximum:"9007199254740991" doc:"The version that was read; compared where given"`
	ToVersion int64 `json:"to_version,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Whose values to take; those of the one before the present where absent"`
}

// PolicyRollbackInput rolls a policy back.
type PolicyRollbackInput struct {
	api.IDPath
	Body *PolicyRollbackBody
}

// Rollback makes a new version with the values of a former one.
func (p *Policies) Rollback(ctx context.Context, in *PolicyRollbackInput) (*api.Reply[Policy], error) {
	var b PolicyRollbackBody
	if in.Body != nil {
		b = *in.Body
	}
	return policyReply(p.Service.Rollback(ctx, changing(ctx), in.ID, b.Version, b.ToVersion))
}

// PolicyRemoveInput names a policy and its version.
type PolicyRemoveInput struct {
	api.IDPath
	Version int64 `query:"version" required:"true" minimum:"1" maximum:"9007199254740991" doc:"The version that was read"`
}

// Remove takes a policy away.
func (p *Policies) Remove(ctx context.Context, in *PolicyRemoveInput) (*api.Empty, error) {
	return nil, p.Service.Remove(ctx, changing(ctx), in.ID, in.Version)
}

// PolicyInput names a policy.
type PolicyInput struct{ api.IDPath }

// Show returns a policy.
func (p *Policies) Show(ctx context.Context, in *PolicyInput) (*api.Reply[Policy], error) {
	return policyReply(p.Service.Get(ctx, seeing(ctx), in.ID))
}

// Versions returns all versions of a policy, newest first.
func (p *Policies) Versions(ctx context.Context, in *PolicyInput) (*api.Reply[api.All[PolicyVersion]], error) {
	rows, err := p.Service.Versions(ctx, seeing(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	out := make([]PolicyVersion, len(rows))
	for i, r := range rows {
		out[i] = PolicyVersion{
			Version: r.Version, DurationMS: r.DurationMS, Enabled: r.Enabled, RolloutPercent: r.RolloutPercent,
			Action: r.Action, FromVersion: r.FromVersion, Actor: r.Actor, CreatedAt: r.CreatedAt,
		}
	}
	return api.NewAll(out), nil
}
