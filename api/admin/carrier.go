package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/service/shipping"
)

// Carriers has the list of carriers.
type Carriers struct{}

// Carrier is a company that takes parcels.
type Carrier struct {
	Code         string `json:"code" doc:"WeChat's express_company; ship with it as carrier" example:"SF"`
	Name         string `json:"name" doc:"In the language asked for"`
	NeedsContact bool   `json:"needs_contact" doc:"WeChat wants the masked phone of sender or receiver with its tracking numbers"`
}

// CarrierListInput asks for the carriers.
type CarrierListInput struct{}

// List lists the carriers, the most used first.
func (*Carriers) List(ctx context.Context, _ *CarrierListInput) (*api.Reply[api.All[Carrier]], error) {
	all := shipping.Carriers()
	list := make([]Carrier, len(all))
	for i, c := range all {
		list[i] = Carrier{Code: c.Code, Name: api.LanguageOf(ctx).Pick(c.Name), NeedsContact: c.NeedsContact}
	}
	return api.NewAll(list), nil
}
