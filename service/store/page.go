package store

import (
	"encoding/base64"
	"fmt"

	"gorm.io/gorm"

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

// Cut leaves the rows of one page of those that were read with one more than limit, and returns the cursor of the next page; nil at
// the end.
func Cut[T any](rows []T, limit int, at func(row T) Cursor) ([]T, *Cursor) {
	if len(rows) <= limit {
		return rows, nil
	}
	next := at(rows[limit-1])
	return rows[:limit], &next
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

// After orders a list of the table's rows by (created_at, id), newest first, and leaves what follows the cursor. The index must have
// that order once the list's own equal columns are given. MariaDB is told to use it: left alone it looks the equal columns up, by the
// same index even, and walks over everything before the cursor. Where no index has the order, index is empty.
func (s *Store) After(q *gorm.DB, table, index string, c Cursor) *gorm.DB {
	if s.dialect == MySQL && index != "" {
		q = q.Table(table + " FORCE INDEX (" + index + ")")
	}
	if c != (Cursor{}) {
		q = q.Where("created_at <= ? AND (created_at < ? OR id < ?)", c.At, c.At, c.ID)
	}
	return q.Order("created_at DESC, id DESC")
}
