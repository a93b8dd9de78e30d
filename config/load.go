package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
)

// Problem is one thing wrong with the settings.
type Problem struct{ Key, Text string }

// Problems is everything wrong with the settings. Its text names keys and rules, never values of secrets.
type Problems []Problem

// Error lists the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Key + ": " + one.Text
	}
	return strings.Join(lines, "\n")
}

func (p *Problems) addf(key, format string, args ...any) {
	*p = append(*p, Problem{key, fmt.Sprintf(format, args...)})
}

// Load reads the settings: defaults, over them the YAML file (none where the name is empty), over that the variables of environ,
// which is os.Environ(). All that is wrong is reported at once, as Problems. Warnings are for the log. Nothing is written.
func Load(file string, environ []string) (*Config, []string, error) {
	return read(file, environ, func(string) bool { return true }, (*Config).complete)
}

// ofDatabase begin the keys of what commands use that need only the database.
var ofDatabase = []string{"env", "data_dir", "mysql.", "order.", "shop.", "log."}

// LoadDatabase is Load for those commands. Other settings are neither read nor asked for, and what they say may be wrong: a job
// that migrates has no secrets mounted but the database's. Only their names count, since a misspelt one is somebody's mistake.
func LoadDatabase(file string, environ []string) (*Config, []string, error) {
	used := func(key string) bool {
		return slices.ContainsFunc(ofDatabase, func(begin string) bool { return strings.HasPrefix(key, begin) })
	}
	return read(file, environ, used, func(c *Config, _ []*leaf, problems *Problems) []string { c.checkBasics(problems); return nil })
}

func read(
	file string, environ []string, used func(key string) bool, check func(*Config, []*leaf, *Problems) []string,
) (c *Config, warnings []string, err error) {
	c = &Config{}
	var problems Problems
	leaves := leavesOf(c)
	for _, l := range leaves {
		l.unused = !used(l.key)
		if l.hasFallback {
			if err := l.assign(l.fallback); err != nil {
				return nil, nil, fmt.Errorf("default of %s: %w", l.key, err)
			}
		}
	}
	readable := loadFile(file, leaves, &problems)
	warnings = loadVariables(environ, leaves, &problems)
	if readable { // else most of what is missing would be reported for that reason alone
		warnings = append(warnings, check(c, leaves, &problems)...)
	}
	if len(problems) > 0 {
		return nil, warnings, problems
	}
	return c, warnings, nil
}

func loadFile(file string, leaves []*leaf, problems *Problems) (readable bool) {
	if file == "" {
		return true
	}
	content, err := os.ReadFile(file)
	if err != nil {
		problems.addf("--config", "cannot be read: %v", err)
		return false
	}
	k := koanf.New(".")
	if err := k.Load(rawbytes.Provider(content), yaml.Parser()); err != nil {
		problems.addf("--config", "%s is not YAML: %v", file, err)
		return false
	}
	values := map[string]any{}
	flatten(k.Raw(), "", leaves, values)
	for _, l := range leaves {
		if v, ok := values[l.key]; ok {
			delete(values, l.key)
			if l.unused {
				continue
			}
			l.set = true
			if err := l.assignYAML(v); err != nil {
				problems.addf(l.key, "%v", err)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		problems.addf(key, "there is no such setting")
	}
	return true
}

// flatten writes nested maps as dotted keys. A map where a setting is expected stays one, to be refused by its type.
func flatten(m map[string]any, prefix string, leaves []*leaf, out map[string]any) {
	for name, v := range m {
		key := prefix + name
		known := slices.ContainsFunc(leaves, func(l *leaf) bool { return l.key == key })
		if sub, ok := v.(map[string]any); ok && !known {
			flatten(sub, key+".", leaves, out)
			continue
		}
		section := slices.ContainsFunc(leaves, func(l *leaf) bool { return strings.HasPrefix(l.key, key+".") })
		if v == nil && section {
			continue // a heading with everything under it commented out
		}
		out[key] = v
	}
}

func loadVariables(environ []string, leaves []*leaf, problems *Problems) (warnings []string) {
	env := map[string]string{}
	for _, line := range environ {
		if name, value, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, "TIDEMALL_") {
			env[name] = value
		}
	}
	for _, l := range leaves {
		value, set := env[l.variable]
		delete(env, l.variable)
		if l.secret {
			file := env[l.variable+"_FILE"]
			delete(env, l.variable+"_FILE")
			switch {
			case l.unused:
			case file != "" && value != "":
				problems.addf(l.key, "%s and %s_FILE are both set", l.variable, l.variable)
				continue
			case file != "":
				content, err := os.ReadFile(file)
				if err != nil {
					problems.addf(l.key, "the file of %s_FILE cannot be read: %v", l.variable, errors.Unwrap(err))
					continue
				}
				value, set = strings.TrimRight(string(content), "\r\n"), true
			}
		}
		if !set || l.unused {
			continue
		}
		l.set = true
		if err := l.assign(value); err != nil {
			problems.addf(l.key, "%v", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, "TIDEMALL_TEST_") {
			warnings = append(warnings, name+" is no setting and is ignored") // Kubernetes sets such for a service of that name
		}
	}
	return warnings
}
