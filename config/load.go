package config

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
)

const prefix = "TIDEMALL_"

// Problem is one thing that is wrong, with the key or variable that it is about.
type Problem struct{ Key, Text string }

// Problems is the error of a configuration: everything that is wrong with it.
type Problems []Problem

// Error lists all problems, one a line.
func (p Problems) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the configuration has %d problem(s):", len(p))
	for _, one := range p {
		fmt.Fprintf(&b, "\n  %s: %s", one.Key, one.Text)
	}
	return b.String()
}

func (p *Problems) add(key, format string, args ...any) {
	*p = append(*p, Problem{key, fmt.Sprintf(format, args...)})
}

// field is a key with the place of its value.
type field struct {
	key    string
	secret bool
	value  reflect.Value
}

// variable returns the name of the key's variable.
func (f field) variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(f.key, ".", "_"))
}

// fields lists every key of a configuration in the order of the struct.
func (c *Config) fields() []field { return fieldsOf("", reflect.ValueOf(c).Elem()) }

func fieldsOf(path string, v reflect.Value) []field {
	var out []field
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key := f.Tag.Get("key")
		if path != "" {
			key = path + "." + key
		}
		if f.Type.Kind() == reflect.Struct {
			out = append(out, fieldsOf(key, v.Field(i))...)
			continue
		}
		out = append(out, field{key: key, secret: f.Tag.Get("secret") == "true", value: v.Field(i)})
	}
	return out
}

// Load reads the file, if its name is not empty, then the variables in environ (as of os.Environ), which win. It returns the
// checked configuration and warnings that do not keep the shop from starting. The error is Problems.
func Load(file string, environ []string) (*Config, []string, error) {
	c := defaults()
	said := map[string]bool{}
	var problems Problems
	if file != "" {
		c.readFile(file, said, &problems)
	}
	warnings := c.readVariables(environ, said, &problems)
	c.derive(said)
	c.check(&problems)
	if len(problems) > 0 {
		return nil, warnings, problems
	}
	return c, warnings, nil
}

func (c *Config) readFile(file string, said map[string]bool, problems *Problems) {
	text, err := os.ReadFile(file)
	if err != nil {
		problems.add("--config", "%s", err)
		return
	}
	k := koanf.New(".")
	if err := k.Load(rawbytes.Provider(text), yaml.Parser()); err != nil {
		problems.add("--config", "%s is not YAML: %s", file, err)
		return
	}
	known := map[string]field{}
	for _, f := range c.fields() {
		known[f.key] = f
	}
	all := k.All()
	for _, key := range k.Keys() {
		f, ok := known[key]
		if !ok {
			problems.add(key, "is no key of the configuration; see docs/configuration.md")
			continue
		}
		said[key] = true
		if err := f.setAny(all[key]); err != nil {
			problems.add(key, "%s", err)
		}
	}
}

// readVariables reads TIDEMALL_* and …_FILE. A variable nobody knows is a warning only: Kubernetes makes some up.
func (c *Config) readVariables(environ []string, said map[string]bool, problems *Problems) (warnings []string) {
	given := map[string]string{}
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok && strings.HasPrefix(name, prefix) {
			given[name] = value
		}
	}
	for _, f := range c.fields() {
		name := f.variable()
		value, ok := given[name]
		if path, fromFile := given[name+"_FILE"]; f.secret && fromFile && path != "" {
			if ok && value != "" {
				problems.add(f.key, "both %s and %s_FILE are set; keep one", name, name)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				problems.add(f.key, "%s_FILE: %s", name, err)
			}
			value, ok = strings.TrimRight(string(text), "\r\n"), true
		}
		delete(given, name)
		if f.secret {
			delete(given, name+"_FILE")
		}
		if !ok {
			continue
		}
		said[f.key] = true
		if err := f.set(value); err != nil {
			problems.add(f.key, "%s: %s", name, err)
		}
	}
	for name := range given {
		if !strings.HasPrefix(name, prefix+"TEST_") {
			warnings = append(warnings, name+" is no variable of the configuration; it is ignored")
		}
	}
	slices.Sort(warnings)
	return warnings
}

// set reads a value from text. Lists are separated by commas.
func (f field) set(text string) error {
	switch f.value.Kind() {
	case reflect.String:
		f.value.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(text)))
		if err != nil {
			return fmt.Errorf("want true or false")
		}
		f.value.SetBool(b)
	case reflect.Int:
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return fmt.Errorf("want a whole number")
		}
		f.value.SetInt(int64(n))
	case reflect.Slice:
		list := []string{}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		f.value.Set(reflect.ValueOf(list))
	default:
		panic("config: a field of a kind that set does not know: " + f.key)
	}
	return nil
}

// setAny reads a value from YAML.
func (f field) setAny(v any) error {
	switch v := v.(type) {
	case nil:
		return f.set("")
	case []any:
		if f.value.Kind() != reflect.Slice {
			return fmt.Errorf("want one value, not a list")
		}
		list := make([]string, len(v))
		for i, part := range v {
			list[i] = strings.TrimSpace(fmt.Sprint(part))
		}
		f.value.Set(reflect.ValueOf(list))
		return nil
	case map[string]any:
		return fmt.Errorf("want a value, not a section")
	default:
		return f.set(fmt.Sprint(v))
	}
}
