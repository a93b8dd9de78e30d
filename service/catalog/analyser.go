package catalog

import (
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	unicodetokens "github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/registry"
)

// The analyser: words as Unicode parts them, which makes every Chinese character a term of its own, so that a single one is
// found; full-width letters made narrow; lower case; "iPhone15" parted into "iphone" and "15". bleve's own CJK analyser makes
// pairs of characters and finds neither a single one nor the beginning of a word.
const (
	analyserName = "shop"
	partsName    = "shop_parts"
)

func init() {
	err := registry.RegisterTokenFilter(partsName, func(map[string]any, *registry.Cache) (analysis.TokenFilter, error) {
		return parts{}, nil
	})
	if err != nil {
		panic(err)
	}
}

func addAnalyser(m *mapping.IndexMappingImpl) error {
	return m.AddCustomAnalyzer(analyserName, map[string]any{
		"type": custom.Name, "tokenizer": unicodetokens.Name,
		"token_filters": []string{cjk.WidthName, lowercase.Name, partsName},
	})
}

// parts cuts a token where letters and digits meet; a point within a number ("3.5") belongs to it.
type parts struct{}

// Filter implements analysis.TokenFilter.
func (parts) Filter(in analysis.TokenStream) analysis.TokenStream {
	out := make(analysis.TokenStream, 0, len(in))
	for _, token := range in {
		for _, term := range cut(token.Term) {
			out = append(out, &analysis.Token{
				Term: term, Start: token.Start, End: token.End, Position: len(out) + 1, Type: token.Type,
			})
		}
	}
	return out
}

func cut(term []byte) [][]byte {
	var terms [][]byte
	start, digits := 0, false
	for at := 0; at < len(term); {
		r, size := utf8.DecodeRune(term[at:])
		letter, digit := unicode.IsLetter(r), unicode.IsDigit(r)
		switch {
		case at == start:
			digits = digit
		case letter && digits, digit && !digits:
			terms = append(terms, term[start:at])
			start, digits = at, digit
		}
		at += size
	}
	return append(terms, term[start:])
}
