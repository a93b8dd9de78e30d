package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
