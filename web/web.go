// Package web holds the pages that the shop serves, built files embedded.
package web

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed home
var files embed.FS

// Handler serves the pages: / leads to the API's documentation, the sandbox's cashier and the health checks. A path that is no
// page is 404; API paths never get here.
func Handler() http.Handler {
	home, err := fs.Sub(files, "home")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	pages := http.FileServerFS(home)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		pages.ServeHTTP(w, r)
	})
}
