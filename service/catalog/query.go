package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search/query"
)

// maxTerms bounds the work of one search; what a person types beyond it is not looked at.
const maxTerms = 16

// Weights of the places where a term is found, and of the words standing together as typed.
const (
	boostName     = 3.0
	boostSubtitle = 1.5
	boostOptions  = 1.0
	boostCategory = 1.0
	boostPhrase   = 8.0
)

// query makes a query from what a person typed: every term must be found somewhere, words of letters or digits by their
// beginning; products whose name has the terms one after another come first. nil where the text has no term.
func (x *index) query(text string) query.Query {
	tokens := x.analyser.Analyze([]byte(text))
	if len(tokens) == 0 {
		return nil
	}
	tokens = tokens[:min(len(tokens), maxTerms)]
	terms := make([]string, len(tokens))
	must := make([]query.Query, len(tokens))
	for i, token := range tokens {
		terms[i] = string(token.Term)
		must[i] = x.anywhere(terms[i])
	}
	q := bleve.NewBooleanQuery()
	q.AddMust(must...)
	if len(terms) > 1 {
		for field, boost := range map[string]float64{fieldName: boostPhrase, fieldSubtitle: boostPhrase / 2} {
			phrase := bleve.NewPhraseQuery(terms, field)
			phrase.SetBoost(boost)
			q.AddShould(phrase)
		}
	}
	return q
}

// anywhere finds a term in any field, or in the name of the product's category or of one above it.
func (x *index) anywhere(term string) query.Query {
	var places []query.Query
	for field, boost := range map[string]float64{fieldName: boostName, fieldSubtitle: boostSubtitle, fieldOptions: boostOptions} {
		exact := bleve.NewTermQuery(term)
		exact.SetField(field)
		exact.SetBoost(boost)
		places = append(places, exact)
		if isWord(term) {
			begins := bleve.NewPrefixQuery(term)
			begins.SetField(field)
			begins.SetBoost(boost / 2)
			places = append(places, begins)
		}
	}
	for _, id := range x.categoriesNamed(term) {
		in := bleve.NewTermQuery(docID(id))
		in.SetField(fieldCategory)
		in.SetBoost(boostCategory)
		places = append(places, in)
	}
	return bleve.NewDisjunctionQuery(places...)
}

// isWord reports whether a term is of an alphabet: Chinese characters and kana have no beginnings.
func isWord(term string) bool {
	r, _ := utf8.DecodeRuneInString(term)
	return !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// categoriesNamed returns the categories with the term in their own name, and all that lie below them.
func (x *index) categoriesNamed(term string) []int64 {
	f := x.tree.forest.Load()
	seen := map[int64]bool{}
	var ids []int64
	for id, c := range f.byID {
		if !x.named(c.Name, term) {
			continue
		}
		for _, below := range f.below(id) {
			if !seen[below] {
				seen[below] = true
				ids = append(ids, below)
			}
		}
	}
	return ids
}

func (x *index) named(name, term string) bool {
	for _, token := range x.analyser.Analyze([]byte(name)) {
		if t := string(token.Term); t == term || isWord(term) && strings.HasPrefix(t, term) {
			return true
		}
	}
	return false
}
