package store

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"gorm.io/gorm/schema"
)

// insertion is how rows of a type are inserted: every column of the model, in one statement.
type insertion struct {
	head   string // INSERT INTO … VALUES
	row    string // (?, ?, …)
	fields []*schema.Field
}

// insertions caches insertion by reflect.Type.
var insertions, schemas sync.Map

// Insert adds to the batch that rows are inserted, in one statement, every column as it is in the row; ids must be set. It does
// what gorm's Create does, without building the statement anew for each call; the hot paths use it.
func Insert[T any](tx *Tx, b *Batch, rows ...T) error {
	if len(rows) == 0 {
		return nil
	}
	ins, err := insertionOf(tx, reflect.TypeFor[T](), new(T))
	if err != nil {
		return err
	}
	args := make([]any, 0, len(rows)*len(ins.fields))
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		for _, f := range ins.fields {
			v, _ := f.ValueOf(tx.Statement.Context, row)
			args = append(args, v)
		}
	}
	b.Add(ins.head+strings.Repeat(", "+ins.row, len(rows))[2:], args...)
	return nil
}

func insertionOf(tx *Tx, t reflect.Type, model any) (*insertion, error) {
	if known, ok := insertions.Load(t); ok {
		return known.(*insertion), nil
	}
	s, err := schema.Parse(model, &schemas, tx.NamingStrategy)
	if err != nil {
		return nil, fmt.Errorf("columns of %s: %w", t, err)
	}
	ins := &insertion{}
	var columns []string
	for _, f := range s.Fields {
		if f.DBName != "" {
			columns = append(columns, "`"+f.DBName+"`")
			ins.fields = append(ins.fields, f)
		}
	}
	ins.head = "INSERT INTO `" + s.Table + "` (" + strings.Join(columns, ", ") + ") VALUES "
	ins.row = "(" + strings.Repeat(", ?", len(columns))[2:] + ")"
	insertions.Store(t, ins)
	return ins, nil
}
