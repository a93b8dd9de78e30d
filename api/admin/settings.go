package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/file"
	"github.com/tidemall/tidemall/service/shop"
)

// ShopSettings has the merchant's operations on what it says of its shop.
type ShopSettings struct {
	Service interface {
		Get(ctx context.Context, merchantID int64) (shop.Settings, error)
		Set(ctx context.Context, merchantID int64, d shop.Draft) (shop.Settings, error)
	}
	Pictures api.Pictures
	Platform PlatformSettings
}

// PlatformSettings are settings of the installation that a merchant should know of. They are changed in its configuration.
type PlatformSettings struct {
	Timezone      string `json:"timezone" example:"Asia/Shanghai" doc:"Days in reports and filters are days there"`
	PublicURL     string `json:"public_url" doc:"Where shoppers reach the shop"`
	MaxUnpaid     int    `json:"max_unpaid" doc:"Unpaid orders a shopper may have"`
	ReviewDays    int    `json:"review_days" doc:"Days in which a completed order can be reviewed; 0: none"`
	AftersaleDays int    `json:"aftersale_days" doc:"Days after completion in which after-sales may be asked for; 0: without end"`
	ChangeLogDays int    `json:"change_log_days" doc:"Days for which the change log is kept; 0: for ever"`
	Sandbox       bool   `json:"sandbox" doc:"A simulator stands in for WeChat: no money moves"`
	Version       string `json:"version" doc:"The program's"`
}

// Contact is a name with a phone number and an address.
type Contact struct {
	Name    string `json:"name,omitempty" maxLength:"64" example:"潮汐仓库"`
	Phone   string `json:"phone,omitempty" maxLength:"20" example:"021-62345678"`
	Address string `json:"address,omitempty" maxLength:"255" example:"上海市黄浦区人民大道 200 号"`
}

// ShopSettingsView is a shop as its merchant sees it.
type ShopSettingsView struct {
	MerchantID   int64            `json:"merchant_id"`
	Name         string           `json:"name"`
	Logo         *api.Picture     `json:"logo,omitempty"`
	ContactPhone string           `json:"contact_phone,omitempty" doc:"Shown to shoppers"`
	Notice       string           `json:"notice,omitempty" doc:"Shown to shoppers in the shop"`
	Sender       Contact          `json:"sender" doc:"Stands on packing slips"`
	ReturnTo     Contact          `json:"return_to" doc:"Where shoppers send goods back to"`
	Version      int64            `json:"version" doc:"Give it with a change"`
	UpdatedAt    model.Time       `json:"updated_at,omitempty" format:"date-time"`
	Platform     PlatformSettings `json:"platform"`
}

func (s *ShopSettings) view(v shop.Settings) ShopSettingsView {
	out := ShopSettingsView{
		MerchantID: v.MerchantID, Name: v.Name, ContactPhone: v.ContactPhone, Notice: v.Notice, Sender: Contact(v.Sender), ReturnTo: Contact(v.ReturnTo),
		Version: v.Version, UpdatedAt: v.UpdatedAt, Platform: s.Platform,
	}
	if img, ok := file.Describe(v.Logo); ok {
		p := api.PictureOf(img, s.Pictures)
		out.Logo = &p
	}
	return out
}

// ShopSettingsInput asks for the settings.
type ShopSettingsInput struct{}

// Get returns the settings of the merchant's shop.
func (s *ShopSettings) Get(ctx context.Context, _ *ShopSettingsInput) (*api.Reply[ShopSettingsView], error) {
	v, err := s.Service.Get(ctx, api.Admin(ctx).MerchantID)
	if err != nil {
		return nil, err
	}
	return api.Body(s.view(v)), nil
}

// ShopSettingsBody is what the settings become.
type ShopSettingsBody struct {
	Name         string       `json:"name" minLength:"1" maxLength:"100" example:"潮汐小店"`
	Logo         *api.Picture `json:"logo,omitempty" doc:"As the upload answered it; none where absent"`
	ContactPhone string       `json:"contact_phone,omitempty" maxLength:"20" example:"400-123-4567"`
	Notice       string       `json:"notice,omitempty" maxLength:"500"`
	Sender       Contact      `json:"sender,omitzero"`
	ReturnTo     Contact      `json:"return_to,omitzero"`
	Version      int64        `json:"version" minimum:"1" maximum:"9007199254740991" doc:"The version that was read"`
}

// ShopSettingsChangeInput changes the settings.
type ShopSettingsChangeInput struct{ Body ShopSettingsBody }

// Set changes the settings of the merchant's shop.
func (s *ShopSettings) Set(ctx context.Context, in *ShopSettingsChangeInput) (*api.Reply[ShopSettingsView], error) {
	b := in.Body
	d := shop.Draft{
		Version: b.Version, Name: b.Name, ContactPhone: b.ContactPhone, Notice: b.Notice, Sender: model.Contact(b.Sender), ReturnTo: model.Contact(b.ReturnTo),
	}
	if b.Logo != nil {
		img, ok := file.Parse(b.Logo.URL)
		if !ok {
			return nil, fault.New(fault.ValidationFailed).With("logo.url", fault.FieldChoice, "不是本店的图片地址，请先上传", "is not the URL of a stored picture; upload it first")
		}
		d.Logo = img.Key
	}
	v, err := s.Service.Set(ctx, api.Admin(ctx).MerchantID, d)
	if err != nil {
		return nil, err
	}
	return api.Body(s.view(v)), nil
}
