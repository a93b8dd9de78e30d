package catalog

import (
	"regexp"

	"github.com/microcosm-cc/bluemonday"
)

// detailPolicy allows what rich text editors write (headings, lists, tables, pictures, a few harmless styles) and nothing that
// runs, frames or posts.
var detailPolicy = func() *bluemonday.Policy {
	p := bluemonday.UGCPolicy()
	p.AllowStyles("text-align").MatchingEnum("left", "center", "right", "justify").Globally()
	p.AllowStyles("color", "background-color").Matching(regexp.MustCompile(`^(#[0-9a-fA-F]{3,8}|[a-z]+|rgba?\([0-9., %]+\))$`)).Globally()
	p.AllowStyles("font-size", "width", "max-width").Matching(regexp.MustCompile(`^[0-9]{1,4}(\.[0-9]+)?(px|em|rem|rpx|%)$`)).Globally()
	p.AllowStyles("font-weight").Matching(regexp.MustCompile(`^(bold|normal|[1-9]00)$`)).Globally()
	return p
}()

func sanitise(html string) string { return detailPolicy.Sanitize(html) }
