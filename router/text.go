package router

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidemall/tidemall/service/fault"
)

// checkText refuses control characters, but for tabs and line breaks, in every text of a request's body: whatever is written down is
// read again in logs, on labels, in CSV files and at WeChat. Fields of one line have stricter checks of their own.
func checkText(in any) error {
	body := reflect.ValueOf(in).Elem().FieldByName("Body")
	if !body.IsValid() {
		return nil
	}
	wrong := fault.New(fault.ValidationFailed)
	walkText(body, "", func(at, text string) {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unprintable) {
			wrong.With(at, fault.FieldFormat, "不能包含控制字符", "must not have control characters")
		}
	})
	if len(wrong.Fields) == 0 {
		return nil
	}
	return wrong
}

func unprintable(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) }

// walkText calls visit for every string of a decoded body with its path in the JSON.
func walkText(v reflect.Value, at string, visit func(at, text string)) {
	switch v.Kind() {
	case reflect.String:
		visit(at, v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walkText(v.Elem(), at, visit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walkText(v.Index(i), fmt.Sprintf("%s[%d]", at, i), visit)
		}
	case reflect.Map:
		for entry := v.MapRange(); entry.Next(); {
			walkText(entry.Key(), below(at, entry.Key().String()), visit)
			walkText(entry.Value(), below(at, entry.Key().String()), visit)
		}
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(v.Type()) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous || !f.IsExported() || name == "-" {
				continue
			}
			walkText(v.FieldByIndex(f.Index), below(at, name), visit)
		}
	}
}

func below(at, name string) string {
	if at == "" || name == "" {
		return at + name
	}
	return at + "." + name
}
