package api

import (
	"context"

	"github.com/tidemall/tidemall/service/store"
)

// Reply is an operation's output that is only a body.
type Reply[T any] struct{ Body T }

// Body wraps a value as an operation's output.
func Body[T any](v T) *Reply[T] { return &Reply[T]{Body: v} }

// Empty is the output of operations that answer 204.
type Empty struct{}

// List is a numbered page of a list.
type List[T any] struct {
	List  []T   `json:"list" doc:"The rows of this page"`
	Total int64 `json:"total" doc:"Rows of all pages" minimum:"0" maximum:"9007199254740991"`
	Page  int   `json:"page" doc:"Number of this page, from 1" minimum:"1" maximum:"1000000"`
	Limit int   `json:"limit" doc:"Rows a page" minimum:"1" maximum:"100"`
}

// All is a list that is always whole.
type All[T any] struct {
	List []T `json:"list" doc:"All of them"`
}

// Deep is a page of a list that may be very long. Asked by number it says total, page and limit; asked by cursor it does not
// count. In both cases next leads on.
type Deep[T any] struct {
	List  []T    `json:"list" doc:"The rows of this page"`
	Next  string `json:"next,omitempty" doc:"Give it as after to read on; absent at the end"`
	Total *int64 `json:"total,omitempty" doc:"Rows of all pages; absent when asked by cursor" minimum:"0" maximum:"9007199254740991"`
	Page  int    `json:"page,omitempty" doc:"Number of this page; absent when asked by cursor" minimum:"1" maximum:"1000000"`
	Limit int    `json:"limit,omitempty" doc:"Rows a page; absent when asked by cursor" minimum:"1" maximum:"100"`
}

// NewList makes a page. A nil slice becomes an empty list.
func NewList[T any](rows []T, total int64, p PageInput) *Reply[List[T]] {
	return Body(List[T]{List: some(rows), Total: total, Page: p.Page, Limit: p.Limit})
}

// NewAll makes a whole list. A nil slice becomes an empty list.
func NewAll[T any](rows []T) *Reply[All[T]] { return Body(All[T]{List: some(rows)}) }

// NewDeep makes a page of a deep list; next is empty at the end. total is not shown where the caller asked by cursor.
func NewDeep[T any](rows []T, next string, total int64, in DeepInput) *Reply[Deep[T]] {
	d := Deep[T]{List: some(rows), Next: next}
	if !in.ByCursor() {
		d.Total, d.Page, d.Limit = &total, in.Page, in.Limit
	}
	return Body(d)
}

// DeepRows reads a page of a deep list by cursor or by number, as the caller asked; next is the cursor of the page that follows.
func DeepRows[T any](
	ctx context.Context, in DeepInput,
	byCursor func(ctx context.Context, after store.Cursor, limit int) ([]T, *store.Cursor, error),
	byNumber func(ctx context.Context, p store.Page) ([]T, int64, error),
	at func(row T) store.Cursor,
) (rows []T, next string, total int64, err error) {
	if in.ByCursor() {
		var c *store.Cursor
		if rows, c, err = byCursor(ctx, in.Cursor(), in.Limit); c != nil {
			next = c.String()
		}
		return rows, next, 0, err
	}
	rows, total, err = byNumber(ctx, in.Numbered())
	if n := len(rows); err == nil && n > 0 && int64(in.Numbered().Offset()+n) < total {
		next = at(rows[n-1]).String()
	}
	return rows, next, total, err
}

func some[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}
