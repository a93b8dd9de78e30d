package router

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/swaggest/swgui/v5emb"
)

// mountDocs serves the OpenAPI document, made once from the tables, and a page to read it, whose assets are embedded.
func (r *Router) mountDocs() {
	spec, err := json.Marshal(r.api.OpenAPI())
	if err != nil {
		panic(fmt.Errorf("openapi: %w", err)) // an example in a table that JSON cannot hold
	}
	r.engine.GET("/openapi.json", func(c *gin.Context) {
		c.Header("Cache-Control", "no-cache")
		c.Data(http.StatusOK, "application/json", spec)
	})
	page := v5emb.New("Tidemall", "/openapi.json", "/docs")
	policy := docsPolicy(page)
	serve := func(c *gin.Context) {
		c.Header("Content-Security-Policy", policy)
		page.ServeHTTP(c.Writer, c.Request)
	}
	r.engine.GET("/docs", serve)
	r.engine.GET("/docs/*asset", serve)
}

var inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// docsPolicy allows the page's own inline scripts by their hashes, and no others.
func docsPolicy(page http.Handler) string {
	w := &pageBuffer{header: http.Header{}}
	page.ServeHTTP(w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/docs"}})
	var hashes strings.Builder
	for _, m := range inlineScript.FindAllStringSubmatch(w.String(), -1) {
		sum := sha256.Sum256([]byte(m[1]))
		hashes.WriteString(" 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'")
	}
	return strings.Replace(pagePolicy, "default-src 'self';", "default-src 'self'; script-src 'self'"+hashes.String()+";", 1)
}

// pageBuffer keeps what a handler writes.
type pageBuffer struct {
	bytes.Buffer

	header http.Header
}

func (b *pageBuffer) Header() http.Header { return b.header }
func (b *pageBuffer) WriteHeader(int)     {}
