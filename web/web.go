// Package web holds the pages that the shop serves, built files embedded.
package web

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
)

//go:embed home
var files embed.FS

// Handler serves the pages: / leads to the API's documentation, to the health checks and, where sandboxURL is not empty, to the
// simulator that stands in for WeChat. A path that is no page is 404; API paths never get here.
func Handler(sandboxURL string) (http.Handler, error) {
	home, err := fs.Sub(files, "home")
	if err != nil {
		return nil, err
	}
	page, err := template.ParseFS(home, "index.html")
	if err != nil {
		return nil, err
	}
	var index bytes.Buffer
	if err := page.Execute(&index, struct{ SandboxURL string }{sandboxURL}); err != nil {
		return nil, err
	}
	pages := http.FileServerFS(home)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		if r.URL.Path != "/" {
			pages.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(index.Bytes()) // a reader who left needs no answer
	}), nil
}
