package bucket_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidemall/tidemall/service/file"
	"github.com/tidemall/tidemall/service/file/bucket"
)

// s3 is the little of S3 that pictures need: put, get and head of an object.
type s3 struct {
	mu      sync.Mutex
	objects map[string][]byte
}

func (s *s3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Method {
	case http.MethodPut:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.objects[r.URL.Path] = body
	case http.MethodGet, http.MethodHead:
		body, ok := s.objects[r.URL.Path]
		if !ok {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `<Error><Code>NoSuchKey</Code></Error>`)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.Header().Set("ETag", `"x"`)
		if r.Method == http.MethodGet {
			_, _ = w.Write(body)
		}
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func TestPicturesInS3(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	store := &s3{objects: map[string][]byte{}}
	server := httptest.NewServer(store)
	defer server.Close()
	opened, err := bucket.Open(t.Context(), "s3://pictures?region=test&use_path_style=true&request_checksum_calculation=when_required&endpoint="+server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	files := file.New(opened, "http://shop.test")
	defer func() {
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	}()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	img, err := files.Save(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	if keys := slices.Sorted(maps.Keys(store.objects)); !slices.Equal(keys, []string{"/pictures/" + img.ThumbKey, "/pictures/" + img.Key}) {
		t.Errorf("stored %v, want %v", keys, img)
	}
	content, err := files.Read(t.Context(), img.Key)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(content.Body)
	if err != nil || content.Body.Close() != nil || !bytes.HasPrefix(data, []byte("\xff\xd8")) {
		t.Errorf("read %d bytes (%v), want a JPEG", len(data), err)
	}
	if there, err := files.Exists(t.Context(), strings.Replace(img.Key, "30x20", "31x20", 1)); there || err != nil {
		t.Errorf("a picture that was never stored: %v (%v)", there, err)
	}
}

func TestOpenNamesTheSetting(t *testing.T) {
	if _, err := bucket.Open(t.Context(), "ftp://pictures", ""); err == nil || !strings.HasPrefix(err.Error(), "files.url: ") {
		t.Errorf("got %v, want files.url named", err)
	}
	opened, err := bucket.Open(t.Context(), "", t.TempDir()+"/new")
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
}
