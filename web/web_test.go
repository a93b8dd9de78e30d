package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func TestPages(t *testing.T) {
	for _, sandbox := range []string{"", "http://127.0.0.1:18081"} {
		h, err := Handler(sandbox)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]int{"/": http.StatusOK, "/home.css": http.StatusOK, "/icon.svg": http.StatusOK, "/nothing": http.StatusNotFound} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			if w.Code != want {
				t.Errorf("%s: %d, want %d", path, w.Code, want)
			}
			if path == "/" && strings.Contains(w.Body.String(), `href="`+sandbox+`/"`) != (sandbox != "") {
				t.Errorf("sandbox %q: the front page is\n%s", sandbox, w.Body)
			}
		}
	}
}

// The panel's addresses are pages of one application; its files are cached for as long as their names say, and a file that is not
// there is not answered with a page.
func TestPanel(t *testing.T) {
	built := fstest.MapFS{
		"index.html":        {Data: []byte("<!doctype html><title>panel</title>")},
		"assets/index-1.js": {Data: []byte("export {}")},
		"icon.svg":          {Data: []byte("<svg/>")},
	}
	h, err := newPanel(built)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		status int
		cache  string
		page   bool
	}{
		"/":                  {200, "no-cache", true},
		"/index.html":        {200, "no-cache", true},
		"/orders/T202601":    {200, "no-cache", true},
		"/assets/index-1.js": {200, "public, max-age=31536000, immutable", false},
		"/assets/gone-2.js":  {404, "", false},
		"/icon.svg":          {200, "no-cache", false},
		"/gone.svg":          {404, "", false},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want.status || strings.Contains(w.Body.String(), "<title>panel") != want.page ||
			(want.status == 200 && w.Header().Get("Cache-Control") != want.cache) {
			t.Errorf("%s: %d, cache %q: %s", path, w.Code, w.Header().Get("Cache-Control"), w.Body)
		}
	}
}
