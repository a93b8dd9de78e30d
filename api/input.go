package api

import (
	"context"
	"regexp"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// PageInput asks for a numbered page. Embed it in an operation's input.
type PageInput struct {
	Page  int `query:"page" minimum:"1" maximum:"1000000" default:"1" doc:"Number of the page, from 1"`
	Limit int `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Rows a page"`
}

// Numbered returns the page as the services want it.
func (p PageInput) Numbered() store.Page { return store.Page{Number: p.Page, Limit: p.Limit} }

// DeepInput asks for a page of a long list: by number, or by cursor where the query has after, even an empty one.
type DeepInput struct {
	PageInput
	After string `query:"after" maxLength:"64" doc:"next of the page before; reads on without counting. Empty starts at the first row"`

	byCursor bool
	cursor   store.Cursor
}

// Resolve reads the cursor.
func (d *DeepInput) Resolve(ctx huma.Context) []error {
	u := ctx.URL()
	d.byCursor = u.Query().Has("after")
	if d.After == "" {
		return nil
	}
	c, ok := store.ParseCursor(d.After)
	if !ok {
		return []error{&huma.ErrorDetail{Location: "query.after", Message: string(fault.FieldFormat)}}
	}
	d.cursor = c
	return nil
}

// ByCursor reports whether the caller reads by cursor.
func (d *DeepInput) ByCursor() bool { return d.byCursor }

// Cursor returns where to read on; the zero Cursor is the start.
func (d *DeepInput) Cursor() store.Cursor { return d.cursor }

// FirstByCursor asks for the first page by cursor in place of that by number, for a list that cannot be counted. Other pages of it
// cannot be had by number: validation_failed.
func (d DeepInput) FirstByCursor() (DeepInput, error) {
	if d.Page != 1 {
		return d, fault.New(fault.ValidationFailed).With("page", fault.FieldRange, "按这些条件只能用 after 翻页", "of such a list can only be read on by after")
	}
	d.byCursor = true
	return d, nil
}

// AfterInput asks for a page of a long list that is read by cursor only.
type AfterInput struct {
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Rows a page"`
	After string `query:"after" maxLength:"64" doc:"next of the page before; empty starts at the first row"`

	cursor store.Cursor
}

// Resolve reads the cursor.
func (a *AfterInput) Resolve(huma.Context) []error {
	if a.After == "" {
		return nil
	}
	var ok bool
	if a.cursor, ok = store.ParseCursor(a.After); !ok {
		return []error{&huma.ErrorDetail{Location: "query.after", Message: string(fault.FieldFormat)}}
	}
	return nil
}

// Cursor returns where to read on; the zero Cursor is the start.
func (a *AfterInput) Cursor() store.Cursor { return a.cursor }

// DayRange limits a list or a report to a time: RFC 3339, from ≤ t < to; or days as YYYY-MM-DD in shop.timezone, both included.
type DayRange struct {
	From string `query:"from" maxLength:"40" doc:"From here on: RFC 3339, or a day YYYY-MM-DD in the shop's time zone" example:"2026-01-01"`
	To   string `query:"to" maxLength:"40" doc:"Up to here: RFC 3339 exclusive, or a day YYYY-MM-DD inclusive" example:"2026-01-31"`
}

// Bounds returns the range as from ≤ t < to; 0 where a side is open. An unreadable or reversed range is validation_failed.
func (d DayRange) Bounds(ctx context.Context) (from, to model.Time, err error) {
	zone := Zone(ctx)
	wrong := fault.New(fault.ValidationFailed)
	if d.From != "" {
		t, _, ok := parseDay(d.From, zone)
		if !ok {
			wrong.With("from", fault.FieldFormat, "须为 RFC 3339 时间或 YYYY-MM-DD", "must be RFC 3339 or YYYY-MM-DD")
		}
		from = model.CeilTime(t)
	}
	if d.To != "" {
		t, day, ok := parseDay(d.To, zone)
		if !ok {
			wrong.With("to", fault.FieldFormat, "须为 RFC 3339 时间或 YYYY-MM-DD", "must be RFC 3339 or YYYY-MM-DD")
		}
		if day {
			t = t.AddDate(0, 0, 1)
		}
		to = model.CeilTime(t)
	}
	if len(wrong.Fields) == 0 && d.From != "" && d.To != "" && to < from {
		wrong.With("to", fault.FieldRange, "不能早于 from", "must not be before from")
	}
	if len(wrong.Fields) > 0 {
		return 0, 0, wrong
	}
	return from, to, nil
}

func parseDay(s string, zone *time.Location) (t time.Time, day, ok bool) {
	if t, err := time.ParseInLocation(time.DateOnly, s, zone); err == nil {
		return t, true, true
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	return t, false, err == nil && t.Year() >= 1970 && t.Year() < 10000
}

// IdempotencyKey is the header that makes a repeated request harmless. Embed it in an operation's input.
type IdempotencyKey struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"8–64 of 0-9 A-Z a-z _ -. The same key with the same body gives the same thing again" example:"order-7f3a9c21"`
}

var keyShape = regexp.MustCompile(`^[0-9A-Za-z_-]{8,64}$`)

// Required returns the key; without a well-formed one the error is idempotency_key_required.
func (k IdempotencyKey) Required() (string, error) {
	if !keyShape.MatchString(k.IdempotencyKey) {
		return "", fault.New(fault.IdempotencyKeyNeeded).With("Idempotency-Key", fault.FieldFormat, "", "")
	}
	return k.IdempotencyKey, nil
}

// Optional returns the key, "" where there is none; a malformed one is the error idempotency_key_required.
func (k IdempotencyKey) Optional() (string, error) {
	if k.IdempotencyKey == "" {
		return "", nil
	}
	return k.Required()
}

// IDPath is the id in a path. An id that cannot exist is 404, like one that does not.
type IDPath struct {
	ID int64 `path:"id" minimum:"1" maximum:"9007199254740991" doc:"Id of the thing"`
}

// OrderPath is the order number in a path; what cannot be one is 404, so that a GET on /orders/quote is.
type OrderPath struct {
	No string `path:"no" pattern:"^T[0-9]{8}[0-9A-HJKMNP-TV-Z]{12}$" doc:"Number of the order" example:"T202601310123456789AB"`
}
