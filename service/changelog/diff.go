package changelog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"gorm.io/gorm/schema"

	"github.com/tidemall/tidemall/model"
)

// difference is what two states of a thing differ in.
type difference struct {
	before, after string // JSON objects, or empty
	merchantID    *int64 // as the fields say; nil where they do not
	same          bool
}

// noise are fields that change with every change, or that say no more than the entry itself.
var noise = map[string]bool{"id": true, "merchant_id": true, "version": true, "created_at": true, "updated_at": true, "changed_at": true, "deleted_at": true}

// compare returns the fields in which the states differ; of a thing that was made or removed, all that it has or had.
func compare(before, after any) (d difference, err error) {
	was, err := fieldsOf(before)
	if err != nil {
		return d, err
	}
	is, err := fieldsOf(after)
	if err != nil {
		return d, err
	}
	for _, fields := range []map[string]any{was, is} {
		if id, ok := fields["merchant_id"].(int64); ok {
			d.merchantID = &id
		}
	}
	d.same = was != nil && is != nil
	old, now := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for name := range union(was, is) {
		if noise[name] {
			continue
		}
		a, b, err := values(name, was, is)
		if err != nil {
			return d, err
		}
		if bytes.Equal(a, b) {
			continue
		}
		d.same = false
		keep(old, name, a, is == nil)
		keep(now, name, b, was == nil)
	}
	d.before, err = object(was, old)
	if err == nil {
		d.after, err = object(is, now)
	}
	return d, err
}

func union(a, b map[string]any) map[string]bool {
	all := map[string]bool{}
	for _, m := range []map[string]any{a, b} {
		for name := range m {
			all[name] = true
		}
	}
	return all
}

func values(name string, was, is map[string]any) (before, after json.RawMessage, err error) {
	if v, ok := was[name]; ok {
		if before, err = json.Marshal(v); err != nil {
			return nil, nil, fmt.Errorf("field %s: %w", name, err)
		}
	}
	if v, ok := is[name]; ok {
		if after, err = json.Marshal(v); err != nil {
			return nil, nil, fmt.Errorf("field %s: %w", name, err)
		}
	}
	return before, after, nil
}

// keep adds a field as it may be kept. Of a thing that was made or removed, what is not set is left out.
func keep(to map[string]json.RawMessage, name string, value json.RawMessage, whole bool) {
	if value == nil || (whole && (string(value) == "null" || string(value) == `""` || string(value) == "0" || string(value) == "false")) {
		return
	}
	to[name] = clean(name, value)
}

func object(of map[string]any, fields map[string]json.RawMessage) (string, error) {
	if of == nil {
		return "", nil
	}
	b, err := json.Marshal(fields)
	return string(b), err
}

// fieldsOf returns the fields of a state by their names in the database; nil for no state.
func fieldsOf(state any) (map[string]any, error) {
	v := reflect.ValueOf(state)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Invalid, reflect.Pointer:
		return nil, nil
	case reflect.Map:
		m, ok := reflect.TypeAssert[map[string]any](v)
		if !ok {
			return nil, fmt.Errorf("%T has no fields", state)
		}
		return m, nil
	case reflect.Struct:
		m := map[string]any{}
		structFields(v, m)
		return m, nil
	default:
		return nil, fmt.Errorf("%T has no fields", state)
	}
}

func structFields(v reflect.Value, into map[string]any) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case f.Anonymous && v.Field(i).Kind() == reflect.Struct:
			structFields(v.Field(i), into)
		case f.IsExported():
			into[nameOf(f)] = valueOf(v.Field(i).Interface())
		}
	}
}

// valueOf returns a field's value as the log shows it: a time that is not set is none.
func valueOf(v any) any {
	if t, ok := v.(model.Time); ok && t.IsZero() {
		return nil
	}
	return v
}

// nameOf returns the name of a field's column.
func nameOf(f reflect.StructField) string {
	for setting := range strings.SplitSeq(f.Tag.Get("gorm"), ";") {
		if column, ok := strings.CutPrefix(setting, "column:"); ok {
			return column
		}
	}
	return schema.NamingStrategy{}.ColumnName("", f.Name)
}
