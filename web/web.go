// Package web holds the pages that the shop serves, built files embedded.
package web

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

//go:embed home
var files embed.FS

// Handler serves the pages: / leads to the panel, to the API's documentation and, where sandboxURL is not empty, to the simulator
// that stands in for WeChat; /admin/ is the merchant panel. A path that is no page is 404; API paths never get here.
func Handler(sandboxURL string) (http.Handler, error) {
	home, err := newHome(sandboxURL)
	if err != nil {
		return nil, err
	}
	panel, err := panelFiles()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", home)
	if panel != nil {
		h, err := newPanel(panel)
		if err != nil {
			return nil, err
		}
		mux.Handle("/admin/", http.StripPrefix("/admin", h))
		mux.Handle("/admin", http.RedirectHandler("/admin/", http.StatusFound))
	}
	return gzhttp.GzipHandler(mux), nil
}

// newHome serves the small page at / and what it needs.
func newHome(sandboxURL string) (http.Handler, error) {
	home, err := fs.Sub(files, "home")
	if err != nil {
		return nil, err
	}
	page, err := template.ParseFS(home, "index.html")
	if err != nil {
		return nil, err
	}
	var index bytes.Buffer
	if err := page.Execute(&index, struct {
		SandboxURL string
		Panel      bool
	}{sandboxURL, PanelBuilt}); err != nil {
		return nil, err
	}
	pages := http.FileServerFS(home)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		if r.URL.Path == "/" {
			writePage(w, index.Bytes())
			return
		}
		pages.ServeHTTP(w, r)
	}), nil
}

// newPanel serves a single-page application: files by their names, which change with what is in them (but for index.html's), and
// index.html for every address that names a page, which is one without an extension.
func newPanel(built fs.FS) (http.Handler, error) {
	index, err := fs.ReadFile(built, "index.html")
	if err != nil {
		return nil, err
	}
	assets := http.FileServerFS(built)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/assets/"):
			if _, err := fs.Stat(built, strings.TrimPrefix(r.URL.Path, "/")); err == nil {
				w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
			}
			assets.ServeHTTP(w, r)
		case path.Ext(r.URL.Path) == "" || r.URL.Path == "/index.html":
			w.Header().Set("Cache-Control", "no-cache")
			writePage(w, index)
		default:
			w.Header().Set("Cache-Control", "no-cache")
			assets.ServeHTTP(w, r)
		}
	}), nil
}

func writePage(w http.ResponseWriter, page []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page) // a reader who left needs no answer
}
