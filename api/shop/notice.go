package shop

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/service/notice"
)

// Notices tells the mini-program which messages it may ask shoppers to agree to.
type Notices struct {
	Service interface {
		Offered(ctx context.Context) ([]notice.Template, error)
	}
}

// SubscribeTemplate is a template that tells of an event.
type SubscribeTemplate struct {
	Event      string `json:"event" example:"order_paid"`
	TemplateID string `json:"template_id" doc:"For wx.requestSubscribeMessage"`
}

// SubscribeTemplateListInput asks for the templates.
type SubscribeTemplateListInput struct{}

// Templates lists the templates that are on.
func (n *Notices) Templates(ctx context.Context, _ *SubscribeTemplateListInput) (*api.Reply[api.All[SubscribeTemplate]], error) {
	all, err := n.Service.Offered(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]SubscribeTemplate, len(all))
	for i, t := range all {
		list[i] = SubscribeTemplate{Event: t.Event.Name, TemplateID: t.TemplateID}
	}
	return api.NewAll(list), nil
}
