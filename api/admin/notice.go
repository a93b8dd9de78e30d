package admin

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/notice"
	"github.com/tidemall/tidemall/service/store"
)

// Notices has the platform's operations on subscribe messages: what shoppers are told, and what became of it.
type Notices struct {
	Service interface {
		Templates(ctx context.Context) ([]notice.Template, error)
		SetTemplate(ctx context.Context, event string, d notice.Draft) (notice.Template, error)
		List(ctx context.Context, state model.NoticeState, page store.Page) ([]notice.Listed, int64, error)
		ListAfter(ctx context.Context, state model.NoticeState, after store.Cursor, limit int) ([]notice.Listed, *store.Cursor, error)
	}
}

// SubscribeTemplate says which template of WeChat's tells shoppers of an event.
type SubscribeTemplate struct {
	Event      string            `json:"event" example:"order_paid"`
	Name       string            `json:"name" doc:"The event, in the language asked for"`
	TemplateID string            `json:"template_id,omitempty" doc:"As WeChat's console shows it"`
	Page       string            `json:"page,omitempty" doc:"Where a tap leads; {order_no} stands for the order's number"`
	Fields     map[string]string `json:"fields" doc:"The template's fields, such as thing1, and where their values come from"`
	Enabled    bool              `json:"enabled"`
	Version    int64             `json:"version" doc:"0 while it was never set"`
	ChangedAt  model.Time        `json:"changed_at,omitempty" format:"date-time"`
	Sources    []SubscribeSource `json:"sources" doc:"What a field may hold beside a fixed text, which is text: and the text"`
}

// SubscribeSource is where the value of a field may come from.
type SubscribeSource struct {
	Source string   `json:"source" example:"order_no"`
	Name   string   `json:"name" doc:"In the language asked for"`
	Kinds  []string `json:"kinds" doc:"The kinds of fields that it fills: a field is named by its kind and a number" example:"[\"character_string\",\"thing\"]"`
}

func subscribeTemplateOf(ctx context.Context, t notice.Template) SubscribeTemplate {
	lang := api.LanguageOf(ctx)
	out := SubscribeTemplate{
		Event: t.Event.Name, Name: lang.Pick(t.Event.Text), TemplateID: t.TemplateID, Page: t.Page, Fields: t.Fields, Enabled: t.Enabled,
		Version: t.Version, ChangedAt: t.ChangedAt,
	}
	for _, s := range t.Event.Sources() {
		out.Sources = append(out.Sources, SubscribeSource{Source: s.Name, Name: lang.Pick(s.Text), Kinds: s.Kinds})
	}
	return out
}

// SubscribeTemplateListInput asks for the templates.
type SubscribeTemplateListInput struct{}

// Templates lists the template of every event, also of those that have none yet.
func (n *Notices) Templates(ctx context.Context, _ *SubscribeTemplateListInput) (*api.Reply[api.All[SubscribeTemplate]], error) {
	all, err := n.Service.Templates(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]SubscribeTemplate, len(all))
	for i, t := range all {
		list[i] = subscribeTemplateOf(ctx, t)
	}
	return api.NewAll(list), nil
}

// SubscribeTemplateBody is what is to become of an event's template.
type SubscribeTemplateBody struct {
	TemplateID string          `json:"template_id" maxLength:"64" doc:"As WeChat's console shows it"`
	Page       string          `json:"page,omitempty" maxLength:"255" doc:"A page of the mini-program without a leading slash; {order_no} stands for the order's number"`
	Fields     SubscribeFields `json:"fields"`
	Enabled    bool            `json:"enabled"`
	Version    int64           `json:"version" minimum:"0" maximum:"9007199254740991" doc:"The one that was read; 0 where there was none"`
}

// SubscribeFields are the fields of a template by name, each with where its value comes from.
type SubscribeFields map[string]string

// Schema describes it.
func (SubscribeFields) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, Description: "1 to 10 fields of the template, each with a source of the event, or text: and a fixed text",
		MaxProperties: new(notice.MaxFields), AdditionalProperties: &huma.Schema{Type: huma.TypeString, MaxLength: new(64)},
		Examples: []any{map[string]string{"character_string1": "order_no", "thing2": "goods", "thing3": "text:感谢您的惠顾"}},
	}
}

// SubscribeTemplateInput sets the template of an event.
type SubscribeTemplateInput struct {
	Event string `path:"event" maxLength:"32" doc:"One of the events listed"`
	Body  SubscribeTemplateBody
}

// SetTemplate sets the template of an event.
func (n *Notices) SetTemplate(ctx context.Context, in *SubscribeTemplateInput) (*api.Reply[SubscribeTemplate], error) {
	t, err := n.Service.SetTemplate(ctx, in.Event, notice.Draft{
		TemplateID: in.Body.TemplateID, Page: in.Body.Page, Fields: in.Body.Fields, Enabled: in.Body.Enabled, Version: in.Body.Version,
	})
	if err != nil {
		return nil, err
	}
	return api.Body(subscribeTemplateOf(ctx, t)), nil
}

// Notice is what became of one message to a shopper.
type Notice struct {
	Event     string            `json:"event" example:"order_paid"`
	Status    model.NoticeState `json:"status" enum:"waiting,sent,refused,skipped,unsure" doc:"refused by WeChat; skipped since it was of no use any more; unsure: WeChat gave no certain answer"`
	Calls     int               `json:"calls" doc:"How often WeChat was called"`
	Code      string            `json:"code,omitempty" doc:"WeChat's errcode, such as 43101: the shopper did not agree, or to no further message"`
	Error     string            `json:"error,omitempty" doc:"Why it was not sent, or not yet"`
	NextAt    model.Time        `json:"next_at,omitempty" format:"date-time" doc:"When WeChat is called next"`
	CreatedAt model.Time        `json:"created_at" format:"date-time" doc:"When the thing happened that it tells of"`
	SentAt    model.Time        `json:"sent_at,omitempty" format:"date-time"`
}

func noticeOf(m model.SubscribeMessage) Notice {
	out := Notice{Event: m.Event, Status: m.State, Calls: m.Calls, Code: m.Code, Error: m.Error, CreatedAt: m.CreatedAt, SentAt: m.SentAt}
	if m.NextAt != nil {
		out.NextAt = *m.NextAt
	}
	return out
}

// SubscribeMessage is a message to a shopper in the platform's list.
type SubscribeMessage struct {
	ID int64 `json:"id"`
	Notice
	MerchantID int64  `json:"merchant_id"`
	ShopperID  int64  `json:"shopper_id"`
	OrderNo    string `json:"order_no"`
}

// SubscribeMessageListInput asks for a page of the messages to shoppers.
type SubscribeMessageListInput struct {
	api.DeepInput
	Status model.NoticeState `query:"status" enum:"waiting,sent,refused,skipped,unsure" doc:"Only messages that stand here"`
}

// Messages lists the messages to shoppers, newest first.
func (n *Notices) Messages(ctx context.Context, in *SubscribeMessageListInput) (*api.Reply[api.Deep[SubscribeMessage]], error) {
	rows, next, total, err := api.DeepRows(ctx, in.DeepInput,
		func(ctx context.Context, after store.Cursor, limit int) ([]notice.Listed, *store.Cursor, error) {
			return n.Service.ListAfter(ctx, in.Status, after, limit)
		},
		func(ctx context.Context, p store.Page) ([]notice.Listed, int64, error) {
			return n.Service.List(ctx, in.Status, p)
		},
		func(m notice.Listed) store.Cursor { return store.Cursor{At: m.CreatedAt, ID: m.ID} })
	if err != nil {
		return nil, err
	}
	out := make([]SubscribeMessage, len(rows))
	for i, m := range rows {
		out[i] = SubscribeMessage{ID: m.ID, Notice: noticeOf(m.SubscribeMessage), MerchantID: m.MerchantID, ShopperID: m.ShopperID, OrderNo: m.OrderNo}
	}
	return api.NewDeep(out, next, total, in.DeepInput), nil
}
