package catalog

import (
	"maps"
	"slices"
	"strings"

	"github.com/tidemall/tidemall/model"
)

// specKey is the canonical form of a SKU's specs, unique within the product: names in order, parted by characters that checked
// specs cannot contain. At most 3 × (20 + 1 + 40) + 2 characters, well within the column's 255.
func specKey(specs map[string]string) string {
	parts := make([]string, 0, len(specs))
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		parts = append(parts, name+"\x1f"+specs[name])
	}
	return strings.Join(parts, "\x1e")
}

// trimSpecs returns the specs without spaces around names and values; never nil.
func trimSpecs(specs map[string]string) map[string]string {
	out := make(map[string]string, len(specs))
	for name, value := range specs {
		out[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return out
}

// deriveOptions makes the options from the SKUs where the input names none: what was known keeps its place, new names follow in
// alphabetical order, new values in the order of the SKUs.
func deriveOptions(skus []SKUDraft, known []model.ProductOption) []model.ProductOption {
	values := map[string][]string{}
	for _, sku := range skus {
		for name, value := range sku.Specs {
			if !slices.Contains(values[name], value) {
				values[name] = append(values[name], value)
			}
		}
	}
	options := []model.ProductOption{}
	for _, o := range known {
		used, ok := values[o.Name]
		if !ok {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(o.Values), func(v string) bool { return !slices.Contains(used, v) })
		added := slices.DeleteFunc(used, func(v string) bool { return slices.Contains(kept, v) })
		options = append(options, model.ProductOption{Name: o.Name, Values: append(kept, added...)})
		delete(values, o.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		options = append(options, model.ProductOption{Name: name, Values: values[name]})
	}
	return options
}
