package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// leaf is one setting.
type leaf struct {
	key                  string
	variable             string
	secret               bool
	fallback, shown, doc string
	hasFallback          bool
	min, max             int
	field                reflect.Value
	set                  bool // by the file or a variable
	unused               bool // by the command: passed over
}

// leavesOf lists the settings in the order of the struct; their fields are c's own.
func leavesOf(c *Config) []*leaf { return walk(reflect.ValueOf(c).Elem(), "") }

func walk(v reflect.Value, prefix string) []*leaf {
	var out []*leaf
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key := f.Tag.Get("key")
		if key == "" {
			continue
		}
		key = prefix + key
		if f.Type.Kind() == reflect.Struct {
			out = append(out, walk(v.Field(i), key+".")...)
			continue
		}
		l := &leaf{
			key: key, variable: "TIDEMALL_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_")),
			secret: f.Tag.Get("secret") == "true", fallback: f.Tag.Get("default"), shown: f.Tag.Get("shown"), doc: f.Tag.Get("doc"),
			field: v.Field(i),
		}
		l.hasFallback = l.fallback != ""
		l.min, _ = strconv.Atoi(f.Tag.Get("min"))
		l.max, _ = strconv.Atoi(f.Tag.Get("max"))
		out = append(out, l)
	}
	return out
}

// assign reads a text, such as a variable's.
func (l *leaf) assign(text string) error {
	switch l.field.Kind() {
	case reflect.String:
		l.field.SetString(text)
	case reflect.Bool:
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "true", "1", "yes", "on":
			l.field.SetBool(true)
		case "false", "0", "no", "off":
			l.field.SetBool(false)
		default:
			return errors.New("must be true or false")
		}
	case reflect.Int:
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < l.min || n > l.max {
			return fmt.Errorf("must be a whole number from %d to %d", l.min, l.max)
		}
		l.field.SetInt(int64(n))
	case reflect.Float64:
		x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(float64(l.min) <= x && x <= float64(l.max)) { // NaN is refused too
			return fmt.Errorf("must be a number from %d to %d", l.min, l.max)
		}
		l.field.SetFloat(x)
	default:
		var list []string
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		l.field.Set(reflect.ValueOf(list))
	}
	return nil
}

// assignYAML reads what the YAML parser found: a scalar, or a list of scalars where the setting is one.
func (l *leaf) assignYAML(v any) error {
	switch v := v.(type) {
	case nil:
		return l.assign("")
	case string, bool, int, int64, uint64:
		return l.assign(fmt.Sprint(v))
	case []any:
		if l.field.Kind() != reflect.Slice {
			return errors.New("must not be a list")
		}
		parts := make([]string, len(v))
		for i, p := range v {
			parts[i] = fmt.Sprint(p)
		}
		return l.assign(strings.Join(parts, ","))
	case float64:
		if l.field.Kind() == reflect.Float64 {
			return l.assign(strconv.FormatFloat(v, 'g', -1, 64))
		}
		return errors.New("is read as a fraction; put it in quotes")
	}
	return errors.New("must be a single value")
}

// show returns the value for people; of a secret only whether it is set.
func (l *leaf) show() string {
	text := fmt.Sprint(l.field.Interface())
	if list, ok := reflect.TypeAssert[[]string](l.field); ok {
		text = strings.Join(list, ",")
	}
	if l.secret && text != "" {
		return "***"
	}
	return text
}
