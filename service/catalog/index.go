package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/mapping"

	"github.com/tidemall/tidemall/model"
)

// maxHits bounds how many products one search can find; the best ones are kept. Totals are exact up to here.
const maxHits = 10_000

// batchDocs is how many documents are indexed at a time.
const batchDocs = 200

// index is the search over the published products of all merchants. It is in memory: bleve's folders cannot be opened twice,
// and replicas on one machine would block each other.
type index struct {
	bleve    bleve.Index
	analyser analysis.Analyzer
	tree     *tree
	log      *slog.Logger
}

// The fields of a document. Category is the product's own; its name and its ancestors' are matched through the tree, so that
// renaming or moving a category needs no indexing.
const (
	fieldName     = "name"
	fieldSubtitle = "subtitle"
	fieldOptions  = "options"
	fieldCategory = "category"
)

func newIndex(t *tree, log *slog.Logger) (*index, error) {
	m := bleve.NewIndexMapping()
	if err := addAnalyser(m); err != nil {
		return nil, fmt.Errorf("search analyser: %w", err)
	}
	text := func(positions bool) *mapping.FieldMapping {
		f := bleve.NewTextFieldMapping()
		f.Analyzer, f.Store, f.IncludeInAll, f.DocValues, f.IncludeTermVectors = analyserName, false, false, false, positions
		return f
	}
	category := text(false)
	category.Analyzer = keyword.Name
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt(fieldName, text(true))
	doc.AddFieldMappingsAt(fieldSubtitle, text(true))
	doc.AddFieldMappingsAt(fieldOptions, text(false))
	doc.AddFieldMappingsAt(fieldCategory, category)
	m.DefaultMapping = doc
	memory, err := bleve.NewMemOnly(m)
	if err != nil {
		return nil, fmt.Errorf("search index: %w", err)
	}
	return &index{bleve: memory, analyser: m.AnalyzerNamed(analyserName), tree: t, log: log}, nil
}

func (x *index) close() error { return x.bleve.Close() }

// apply is called by one follower, never twice at a time. What cannot be indexed is logged and missing from searches only.
func (x *index) apply(changed []model.Product, removed []int64) {
	batch := x.bleve.NewBatch()
	flush := func(least int) {
		if batch.Size() < least {
			return
		}
		if err := x.bleve.Batch(batch); err != nil {
			x.log.Error("products are not searchable as they are now", "error", err)
		}
		batch.Reset()
	}
	for _, p := range changed {
		if !p.Published {
			batch.Delete(docID(p.ID))
		} else if err := batch.Index(docID(p.ID), document(p)); err != nil {
			x.log.Error("product is not searchable as it is now", "product", p.ID, "error", err)
		}
		flush(batchDocs)
	}
	for _, id := range removed {
		batch.Delete(docID(id))
		flush(batchDocs)
	}
	flush(1)
}

func document(p model.Product) map[string]any {
	values := []string{}
	for _, o := range p.Options {
		values = append(values, o.Values...)
	}
	return map[string]any{fieldName: p.Name, fieldSubtitle: p.Subtitle, fieldOptions: values, fieldCategory: docID(p.CategoryID)}
}

func docID(id int64) string { return strconv.FormatInt(id, 10) }

// search returns the ids of products that match the text, best first, at most maxHits.
func (x *index) search(ctx context.Context, text string) ([]int64, error) {
	q := x.query(text)
	if q == nil {
		return nil, nil
	}
	req := bleve.NewSearchRequestOptions(q, maxHits, 0, false)
	req.SortBy([]string{"-_score", "-_id"})
	found, err := x.bleve.SearchInContext(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	ids := make([]int64, 0, len(found.Hits))
	for _, hit := range found.Hits {
		id, err := strconv.ParseInt(hit.ID, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("search: document %q", hit.ID)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
