package admin

import (
	"context"
	"strings"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/aftersale"
)

// Aftersales has the merchant's operations of answering what shoppers ask for.
type Aftersales struct {
	Service interface {
		api.AftersaleLister
		GetForMerchant(ctx context.Context, merchantID, id int64) (*aftersale.View, error)
		Approve(ctx context.Context, merchantID, id int64, returnTo *model.Contact, ans aftersale.Answer) (*aftersale.View, error)
		Reject(ctx context.Context, merchantID, id int64, ans aftersale.Answer) (*aftersale.View, error)
		Receive(ctx context.Context, merchantID, id int64, restock bool, ans aftersale.Answer) (*aftersale.View, error)
	}
	Pictures api.Pictures
}

// AftersaleListInput asks for a page of the merchant's after-sales.
type AftersaleListInput struct {
	api.DeepInput
	Status  model.AftersaleState `query:"status" enum:"requested,approved,returning,refunding,refunded,rejected,withdrawn" doc:"Only after-sales that stand here"`
	Type    model.AftersaleType  `query:"type" enum:"refund,return_refund" doc:"Only after-sales of this type"`
	OrderNo string               `query:"order_no" maxLength:"32" doc:"Only those of the order with this number"`
	Sort    string               `query:"sort" enum:"newest,due" default:"newest" doc:"due: only those that wait for the merchant, in the order of when an answer is due, overdue ones first"`
	Overdue bool                 `query:"overdue" doc:"Only those that were not answered, or whose goods were not received, in time and still are not"`
}

// List returns the merchant's after-sales, newest first or in the order of when an answer is due.
func (a *Aftersales) List(ctx context.Context, in *AftersaleListInput) (*api.Reply[api.Deep[api.Aftersale]], error) {
	f := aftersale.Filter{
		MerchantID: api.Admin(ctx).MerchantID, State: in.Status, Type: in.Type, OrderNo: in.OrderNo, Overdue: in.Overdue, Queue: in.Sort == "due",
	}
	return api.AftersalePage(ctx, a.Service, f, in.DeepInput, a.Pictures)
}

// AftersaleDetail is an after-sale with everything that happened to it.
type AftersaleDetail struct {
	api.Aftersale
	Steps []AftersaleStep `json:"steps" doc:"Its changes, oldest first; none of changes from before they were kept"`
}

// AftersaleStep is one change of an after-sale.
type AftersaleStep struct {
	State      model.AftersaleState `json:"status" enum:"requested,approved,returning,refunding,refunded,rejected,withdrawn" doc:"Where it led"`
	Actor      string               `json:"actor" example:"admin:3" doc:"Who did it: shopper:ID, admin:ID, wechat"`
	Failed     bool                 `json:"failed,omitempty" doc:"The refund failed for good, and the after-sale waits for the merchant again"`
	Text       string               `json:"text,omitempty" doc:"The shopper's reason, the merchant's answer, or what WeChat said"`
	Carrier    string               `json:"carrier,omitempty" doc:"Of the parcel that the shopper sent back"`
	TrackingNo string               `json:"tracking_no,omitempty"`
	At         model.Time           `json:"at" format:"date-time"`
}

// AftersaleInput names an after-sale.
type AftersaleInput struct{ api.IDPath }

// Get returns one of the merchant's after-sales.
func (a *Aftersales) Get(ctx context.Context, in *AftersaleInput) (*api.Reply[AftersaleDetail], error) {
	return a.one(a.Service.GetForMerchant(ctx, api.Admin(ctx).MerchantID, in.ID))
}

// ApproveBody agrees to an after-sale.
type ApproveBody struct {
	Answer        string             `json:"answer,omitempty" maxLength:"200" doc:"For the shopper"`
	ReturnAddress *api.ReturnAddress `json:"return_address,omitempty" doc:"Where the goods go back to, whole; the shop's own where absent, and nowhere in particular where it has none. For return_refund only"`
	Version       int64              `json:"version" minimum:"1" maximum:"9007199254740991" doc:"The after-sale's version that was read"`
}

// ApproveInput approves an after-sale.
type ApproveInput struct {
	api.IDPath
	Body ApproveBody
}

// Approve agrees to an after-sale.
func (a *Aftersales) Approve(ctx context.Context, in *ApproveInput) (*api.Reply[AftersaleDetail], error) {
	var returnTo *model.Contact
	if in.Body.ReturnAddress != nil {
		to := model.Contact(*in.Body.ReturnAddress)
		returnTo = &to
	}
	return a.one(a.Service.Approve(ctx, api.Admin(ctx).MerchantID, in.ID, returnTo, answerOf(ctx, in.Body.Answer, in.Body.Version)))
}

// RejectBody refuses an after-sale.
type RejectBody struct {
	Answer  string `json:"answer" minLength:"1" maxLength:"200" doc:"For the shopper: why not"`
	Version int64  `json:"version" minimum:"1" maximum:"9007199254740991" doc:"The after-sale's version that was read"`
}

// RejectInput rejects an after-sale.
type RejectInput struct {
	api.IDPath
	Body RejectBody
}

// Reject refuses an after-sale.
func (a *Aftersales) Reject(ctx context.Context, in *RejectInput) (*api.Reply[AftersaleDetail], error) {
	answer, err := api.Written("answer", in.Body.Answer)
	if err != nil {
		return nil, err
	}
	return a.one(a.Service.Reject(ctx, api.Admin(ctx).MerchantID, in.ID, answerOf(ctx, answer, in.Body.Version)))
}

// ReceiveBody says that the goods came back.
type ReceiveBody struct {
	Restock *bool  `json:"restock,omitempty" doc:"The goods are for sale again; true where absent"`
	Answer  string `json:"answer,omitempty" maxLength:"200" doc:"For the shopper"`
	Version int64  `json:"version" minimum:"1" maximum:"9007199254740991" doc:"The after-sale's version that was read"`
}

// ReceiveInput receives the goods of an after-sale.
type ReceiveInput struct {
	api.IDPath
	Body ReceiveBody
}

// Receive records that the goods came back.
func (a *Aftersales) Receive(ctx context.Context, in *ReceiveInput) (*api.Reply[AftersaleDetail], error) {
	restock := in.Body.Restock == nil || *in.Body.Restock
	return a.one(a.Service.Receive(ctx, api.Admin(ctx).MerchantID, in.ID, restock, answerOf(ctx, in.Body.Answer, in.Body.Version)))
}

func answerOf(ctx context.Context, text string, version int64) aftersale.Answer {
	return aftersale.Answer{Text: strings.TrimSpace(text), Version: version, Actor: api.Caller(ctx)}
}

func (a *Aftersales) one(v *aftersale.View, err error) (*api.Reply[AftersaleDetail], error) {
	if err != nil {
		return nil, err
	}
	out := AftersaleDetail{Aftersale: api.AftersaleOf(*v, a.Pictures), Steps: make([]AftersaleStep, len(v.Steps))}
	for i, s := range v.Steps {
		out.Steps[i] = AftersaleStep(s)
	}
	return api.Body(out), nil
}
