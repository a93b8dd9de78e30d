package router

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func TestCatalogOperations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		h := newCatalogShop(t, s)
		top := idOf(as(t, h, "one", "POST", "/api/admin/v1/categories", `{"name":"服饰"}`, 201))
		below := idOf(as(t, h, "one", "POST", "/api/admin/v1/categories", fmt.Sprintf(`{"name":"上衣","parent_id":%d}`, top), 201))
		for i, name := range []string{"白T恤", "黑T恤", "袜子"} {
			made := as(t, h, "one", "POST", "/api/admin/v1/products", fmt.Sprintf(`{"name":%q,"category_id":%d,"skus":[{"specs":{},"price_fen":%d,"stock":1}]}`, name, below, 300-i), 201)
			as(t, h, "one", "POST", fmt.Sprintf("/api/admin/v1/products/%d/publish", idOf(made)), "", 200)
		}
		want := fmt.Sprintf(`{"list":[{"id":%d,"merchant_id":1,"name":"服饰","children":[{"id":%d,"merchant_id":1,"name":"上衣","children":[]}]}]}`, top, below)
		if got := call(t, h, "GET", "/api/v1/categories", ""); got.StatusCode != 200 || strings.TrimSpace(got.Text) != want {
			t.Errorf("got  %s\nwant %s", got.Text, want)
		}
		for query, want := range map[string]string{
			"":                                 "袜子 黑T恤 白T恤 3 1 20",
			"?sort=price":                      "袜子 黑T恤 白T恤 3 1 20",
			"?sort=-price&limit=2":             "白T恤 黑T恤 3 1 2",
			"?sort=-price&limit=2&page=2":      "袜子 3 2 2",
			"?q=t恤&sort=price":                 "黑T恤 白T恤 2 1 20",
			"?q=袜":                             "袜子 1 1 20",
			"?q=没有":                            "0 1 20",
			fmt.Sprint("?category_id=", top):   "袜子 黑T恤 白T恤 3 1 20",
			fmt.Sprint("?category_id=", below): "袜子 黑T恤 白T恤 3 1 20",
			"?category_id=999":                 "0 1 20",
			"?merchant_id=2":                   "0 1 20",
		} {
			got := call(t, h, "GET", "/api/v1/products"+query, "")
			var words []string
			for _, p := range list(got.Body["list"]) {
				words = append(words, p["name"].(string))
			}
			words = append(words, fmt.Sprint(got.Body["total"], " ", got.Body["page"], " ", got.Body["limit"]))
			if text := strings.Join(words, " "); got.StatusCode != 200 || text != want {
				t.Errorf("%s: %d %s, want %s", query, got.StatusCode, text, want)
			}
		}
		for query, field := range map[string]string{
			"?sort=cheap": "sort not_a_choice", "?page=0": "page out_of_range", "?limit=101": "limit out_of_range",
			"?category_id=x": "category_id wrong_type", "?q=" + strings.Repeat("a", 101): "q wrong_length",
		} {
			got := call(t, h, "GET", "/api/v1/products"+query, "")
			if got.StatusCode != 422 || fieldsOf(got.Body) != field {
				t.Errorf("%s: %d %s, want %s", query, got.StatusCode, got.Text, field)
			}
		}
		for _, id := range []string{"999999", "0", "-1", "x", "9007199254740992"} {
			if got := call(t, h, "GET", "/api/v1/products/"+id, ""); got.StatusCode != 404 || got.Body["code"] != string(fault.NotFoundError) {
				t.Errorf("product %s: %d %s, want not_found", id, got.StatusCode, got.Text)
			}
		}
	})
}

// upload makes the body of a form with one file.
func upload(t *testing.T, field string, data []byte) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile(field, "evil.html")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(data); err != nil || form.Close() != nil {
		t.Fatal(err)
	}
	return b.String(), form.FormDataContentType()
}

func TestPictureOperations(t *testing.T) {
	h := newCatalogShop(t, storetest.SQLite(t))
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 500, 250))); err != nil {
		t.Fatal(err)
	}
	post := func(path, who, field string, data []byte) reply {
		body, contentType := upload(t, field, data)
		return call(t, h, "POST", path, body, "Authorization", "Bearer "+who, "Content-Type", contentType)
	}
	stored := post("/api/v1/files", "ann", "file", b.Bytes())
	url, _ := stored.Body["url"].(string)
	if stored.StatusCode != 201 || !strings.HasPrefix(url, "http://shop.test/files/") || stored.Body["width"] != 500.0 || stored.Body["height"] != 250.0 {
		t.Fatalf("got %d %s", stored.StatusCode, stored.Text)
	}
	if again := post("/api/admin/v1/files", "one", "picture", b.Bytes()); again.StatusCode != 201 || again.Body["url"] != url {
		t.Errorf("the same from an admin, under another name: %d %s, want %s", again.StatusCode, again.Text, url)
	}
	for _, u := range []string{url, stored.Body["thumb_url"].(string)} {
		got := call(t, h, "GET", strings.TrimPrefix(u, "http://shop.test"), "")
		if got.StatusCode != 200 || got.Header.Get("Content-Type") != "image/jpeg" || got.Header.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.Contains(got.Header.Get("Cache-Control"), "immutable") || !strings.HasPrefix(got.Text, "\xff\xd8") {
			t.Errorf("%s: %d %v", u, got.StatusCode, got.Header)
		}
		headAsGet(t, h, strings.TrimPrefix(u, "http://shop.test"))
		if second := call(t, h, "GET", strings.TrimPrefix(u, "http://shop.test"), "", "If-None-Match", got.Header.Get("Etag")); second.StatusCode != 304 || second.Text != "" {
			t.Errorf("%s with its ETag: %d, want 304", u, second.StatusCode)
		}
	}
	headAsGet(t, h, "/files/"+strings.Repeat("0", 32)+"-1x1.jpg") // which is not there
	body, contentType := upload(t, "file", b.Bytes())
	if folded := call(t, h, "POST", "/api/v1/files", body, "Authorization", "Bearer ann", "Content-Type", strings.Replace(contentType, "multipart/form-data", "Multipart/FORM-data", 1)); folded.StatusCode != 201 {
		t.Errorf("a form by another case: %d %s", folded.StatusCode, folded.Text)
	}
	notForm := call(t, h, "POST", "/api/v1/files", `{}`, "Authorization", "Bearer ann", "Content-Type", "application/json")
	halfForm := call(t, h, "POST", "/api/v1/files", body[:len(body)/2], "Authorization", "Bearer ann", "Content-Type", contentType)
	for _, got := range []reply{notForm, halfForm} {
		if strings.Contains(strings.ToLower(got.Text), "json") || !strings.Contains(got.Text, "multipart/form-data") {
			t.Errorf("what a form is to be: %s", got.Text)
		}
	}
	for name, tc := range map[string]struct {
		got    reply
		status int
		code   fault.Code
	}{
		"no token":      {post("/api/v1/files", "x", "file", b.Bytes()), 401, fault.TokenInvalid},
		"no permission": {post("/api/admin/v1/files", "idle", "file", b.Bytes()), 403, fault.PermissionDenied},
		"html":          {post("/api/v1/files", "ann", "file", []byte("<script>alert(1)</script>")), 422, fault.ValidationFailed},
		"svg":           {post("/api/v1/files", "ann", "file", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)), 422, fault.ValidationFailed},
		"over 8 MiB":    {post("/api/v1/files", "ann", "file", make([]byte, 8<<20+1)), 413, fault.BodyTooLarge},
		"far over":      {post("/api/v1/files", "ann", "file", make([]byte, 9<<20)), 413, fault.BodyTooLarge},
		"not a form":    {notForm, 415, fault.UnsupportedMedia},
		"half a form":   {halfForm, 400, fault.MalformedBody},
		"missing":       {call(t, h, "GET", "/files/"+strings.Repeat("0", 32)+"-1x1.jpg", ""), 404, fault.NotFoundError},
		"no key":        {call(t, h, "GET", "/files/..%2f..%2fetc%2fpasswd", ""), 404, fault.NotFoundError},
	} {
		if tc.got.StatusCode != tc.status || tc.got.Body["code"] != string(tc.code) {
			t.Errorf("%s: %d %s, want %d %s", name, tc.got.StatusCode, tc.got.Text, tc.status, tc.code)
		}
	}
}

// A product shows the pictures that were uploaded for it.
func TestProductShowsItsPictures(t *testing.T) {
	h := newCatalogShop(t, storetest.SQLite(t))
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	body, contentType := upload(t, "file", b.Bytes())
	picture := call(t, h, "POST", "/api/admin/v1/files", body, "Authorization", "Bearer one", "Content-Type", contentType)
	category := idOf(as(t, h, "one", "POST", "/api/admin/v1/categories", `{"name":"服饰"}`, 201))
	made := as(t, h, "one", "POST", "/api/admin/v1/products", fmt.Sprintf(
		`{"name":"杯子","category_id":%d,"images":[%s],"skus":[{"specs":{},"price_fen":1,"stock":1,"image":%q}]}`, category, strings.TrimSpace(picture.Text), picture.Body["url"]), 201)
	as(t, h, "one", "POST", fmt.Sprintf("/api/admin/v1/products/%d/publish", idOf(made)), "", 200)
	seen := call(t, h, "GET", fmt.Sprintf("/api/v1/products/%d", idOf(made)), "")
	if images := list(seen.Body["images"]); len(images) != 1 || images[0]["url"] != picture.Body["url"] || images[0]["width"] != 40.0 || list(seen.Body["skus"])[0]["image"] != picture.Body["url"] {
		t.Errorf("got %s, want the picture %s", seen.Text, picture.Text)
	}
	if listed := call(t, h, "GET", "/api/v1/products", ""); list(listed.Body["list"])[0]["image"] != picture.Body["thumb_url"] {
		t.Errorf("got %s, want the thumbnail %s", listed.Text, picture.Text)
	}
}
