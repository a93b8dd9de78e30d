package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/content"
	"github.com/tidemall/tidemall/service/store"
)

// ContentHolds has the operations about what shoppers wrote and nobody else sees yet.
type ContentHolds struct {
	Service interface {
		List(ctx context.Context, f content.Filter, p store.Page) ([]model.ContentHold, int64, error)
		ListAfter(ctx context.Context, f content.Filter, after store.Cursor, limit int) ([]model.ContentHold, *store.Cursor, error)
		Decide(ctx context.Context, scope content.Scope, d content.Decision) (*model.ContentHold, error)
	}
	Pictures api.Pictures
}

// ContentHold is a text or a picture that is held, or was.
type ContentHold struct {
	ID        int64            `json:"id"`
	Kind      model.HoldKind   `json:"kind" enum:"nickname,avatar,remark,review,picture" doc:"What it is; a picture belongs to a review"`
	ShopperID int64            `json:"shopper_id" doc:"Who wrote it"`
	OrderNo   string           `json:"order_no,omitempty"`
	ReviewID  int64            `json:"review_id,omitempty"`
	Text      string           `json:"text,omitempty"`
	Picture   string           `json:"picture,omitempty" format:"uri"`
	Reason    model.HoldReason `json:"reason" enum:"waiting,doubtful,failed" doc:"waiting: WeChat looks at the picture; doubtful: WeChat wants a person to look; failed: WeChat did not answer and is asked again"`
	Label     int              `json:"label,omitempty" doc:"WeChat's number for what it suspects, such as 20002"`
	Status    model.HoldState  `json:"status" enum:"held,passed,refused,superseded"`
	NextAt    model.Time       `json:"next_at,omitempty" format:"date-time" doc:"When WeChat is asked again; absent where only a person is waited for"`
	DecidedBy string           `json:"decided_by,omitempty" example:"wechat"`
	DecidedAt model.Time       `json:"decided_at,omitempty" format:"date-time"`
	Version   int64            `json:"version"`
	CreatedAt model.Time       `json:"created_at" format:"date-time"`
}

func (c *ContentHolds) show(h model.ContentHold) ContentHold {
	out := ContentHold{
		ID: h.ID, Kind: h.Kind, ShopperID: h.ShopperID, OrderNo: h.OrderNo, Text: h.Text, Reason: h.Reason, Label: h.Label, Status: h.State,
		DecidedBy: h.DecidedBy, DecidedAt: h.DecidedAt, Version: h.Version, CreatedAt: h.CreatedAt,
	}
	if h.Kind == model.HoldReview || h.Kind == model.HoldPicture {
		out.ReviewID = h.RefID
	}
	if h.Kind.Pictured() {
		out.Text, out.Picture = "", c.Pictures.URL(h.Text)
	}
	if h.NextAt != nil {
		out.NextAt = *h.NextAt
	}
	return out
}

// ContentHoldListInput asks for a page of holds.
type ContentHoldListInput struct {
	api.DeepInput
	Status model.HoldState `query:"status" enum:"held,passed,refused,superseded" default:"held" doc:"Only those that stand here"`
	Kind   model.HoldKind  `query:"kind" enum:"nickname,avatar,remark,review,picture" doc:"Only those of this kind"`
}

func scopeOf(ctx context.Context) content.Scope {
	a := api.Admin(ctx)
	return content.Scope{MerchantID: a.MerchantID, Platform: a.Platform}
}

// All lists what is held of the merchant, and for admins of the platform also nicknames and avatars.
func (c *ContentHolds) All(ctx context.Context, in *ContentHoldListInput) (*api.Reply[api.Deep[ContentHold]], error) {
	f := content.Filter{Scope: scopeOf(ctx), State: in.Status, Kind: in.Kind}
	rows, next, total, err := api.DeepRows(ctx, in.DeepInput,
		func(ctx context.Context, after store.Cursor, limit int) ([]model.ContentHold, *store.Cursor, error) {
			return c.Service.ListAfter(ctx, f, after, limit)
		},
		func(ctx context.Context, p store.Page) ([]model.ContentHold, int64, error) {
			return c.Service.List(ctx, f, p)
		},
		func(h model.ContentHold) store.Cursor { return store.Cursor{At: h.CreatedAt, ID: h.ID} })
	if err != nil {
		return nil, err
	}
	out := make([]ContentHold, len(rows))
	for i, h := range rows {
		out[i] = c.show(h)
	}
	return api.NewDeep(out, next, total, in.DeepInput), nil
}

// VersionBody carries the version that was read.
type VersionBody struct {
	Version int64 `json:"version" minimum:"1" maximum:"9007199254740991" doc:"The version that was read"`
}

// DecideInput names a hold.
type DecideInput struct {
	api.IDPath
	Body VersionBody
}

// Approve shows everybody what was held.
func (c *ContentHolds) Approve(ctx context.Context, in *DecideInput) (*api.Reply[ContentHold], error) {
	return c.decide(ctx, in, true)
}

// Reject keeps from everybody for good what was held.
func (c *ContentHolds) Reject(ctx context.Context, in *DecideInput) (*api.Reply[ContentHold], error) {
	return c.decide(ctx, in, false)
}

func (c *ContentHolds) decide(ctx context.Context, in *DecideInput, pass bool) (*api.Reply[ContentHold], error) {
	h, err := c.Service.Decide(ctx, scopeOf(ctx), content.Decision{ID: in.ID, Version: in.Body.Version, Pass: pass, By: api.Caller(ctx)})
	if err != nil {
		return nil, err
	}
	return api.Body(c.show(*h)), nil
}
