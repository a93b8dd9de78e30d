package admin

import (
	"context"
	"encoding/json"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/store"
)

// Changes has the operations on the change log.
type Changes struct {
	Service interface {
		List(ctx context.Context, f changelog.Filter, after store.Cursor, limit int) ([]model.AdminChange, *store.Cursor, error)
	}
}

// Change is an entry of the change log.
type Change struct {
	ID         int64          `json:"id"`
	At         model.Time     `json:"at" format:"date-time"`
	AdminID    int64          `json:"admin_id"`
	AdminName  string         `json:"admin_name" doc:"As it was then"`
	MerchantID int64          `json:"merchant_id,omitempty" doc:"Whose thing it is; absent for the platform's"`
	Action     string         `json:"action" doc:"The id of the operation" example:"admin-put-freight-rules-by-id"`
	Kind       string         `json:"kind" example:"freight_rule"`
	Ref        string         `json:"ref" doc:"The thing's id, or its number"`
	Before     map[string]any `json:"before,omitempty" doc:"The fields that changed, as they were; absent where something was made"`
	After      map[string]any `json:"after,omitempty" doc:"The same, as they became; absent where something was removed"`
	RequestID  string         `json:"request_id"`
	IP         string         `json:"ip,omitempty"`
}

// ChangeList is a page of the change log.
type ChangeList struct {
	List []Change `json:"list"`
	Next string   `json:"next,omitempty" doc:"Give it as after to read on; absent at the end"`
}

func changeOf(m model.AdminChange) Change {
	out := Change{
		ID: m.ID, At: m.CreatedAt, AdminID: m.AdminID, AdminName: m.AdminName, MerchantID: m.MerchantID, Action: m.Action, Kind: m.Kind, Ref: m.Ref,
		RequestID: m.RequestID, IP: m.IP,
	}
	for text, into := range map[string]*map[string]any{m.Before: &out.Before, m.After: &out.After} {
		if text != "" && json.Unmarshal([]byte(text), into) != nil {
			*into = nil
		}
	}
	return out
}

// ChangeListInput asks for a page of the change log.
type ChangeListInput struct {
	api.AfterInput
	api.DayRange
	AdminID int64  `query:"admin_id" minimum:"1" maximum:"9007199254740991" doc:"Only of this admin"`
	Action  string `query:"action" pattern:"^[0-9a-z-]*$" maxLength:"96" doc:"Only of this operation"`
	Kind    string `query:"kind" pattern:"^[a-z_]*$" maxLength:"32" doc:"Only of things of this kind"`
	Ref     string `query:"ref" maxLength:"64" doc:"Only of this thing, by its id or number; heeded with kind"`
}

// List lists what admins changed, newest first: of the merchant's things; for the platform while it names no merchant, of all.
func (c *Changes) List(ctx context.Context, in *ChangeListInput) (*api.Reply[ChangeList], error) {
	from, to, err := in.Bounds(ctx)
	if err != nil {
		return nil, err
	}
	by := api.Admin(ctx)
	f := changelog.Filter{
		MerchantID: by.MerchantID, All: by.Platform && by.Named == 0, AdminID: in.AdminID, Action: in.Action, Kind: changelog.Kind(in.Kind), Ref: in.Ref,
		From: from, To: to,
	}
	rows, next, err := c.Service.List(ctx, f, in.Cursor(), in.Limit)
	if err != nil {
		return nil, err
	}
	out := ChangeList{List: make([]Change, len(rows))}
	for i, r := range rows {
		out.List[i] = changeOf(r)
	}
	if next != nil {
		out.Next = next.String()
	}
	return api.Body(out), nil
}
