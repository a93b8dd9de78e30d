package store

import (
	"encoding/base64"
	"fmt"

	"github.com/tidemall/tidemall/model"
)

// Page is a page of a list: Number from 1, Limit from 1 to 100.
type Page struct{ Number, Limit int }

// Offset returns how many rows are before the page.
func (p Page) Offset() int { return (p.Number - 1) * p.Limit }

// Cursor is a place in a list ordered by (time, id), newest first. The zero Cursor is the start.
type Cursor struct {
	At model.Time
	ID int64
}

// String returns the cursor as the opaque text that clients hand back.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d", int64(c.At), c.ID))
}

// ParseCursor reads what String wrote; ok is false for anything else.
func ParseCursor(s string) (c Cursor, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return Cursor{}, false
	}
	var at int64
	if n, err := fmt.Sscanf(string(b), "%d.%d", &at, &c.ID); err != nil || n != 2 {
		return Cursor{}, false
	}
	c.At = model.Time(at)
	return c, c.String() == s
}
