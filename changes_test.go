package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/router"
	"github.com/tidemall/tidemall/service/changelog"
)

// unrecorded are the writes of admins that leave nothing in the change log, with the reason.
var unrecorded = map[string]string{
	"POST /auth/login":               "nobody is known yet, and nothing changes",
	"POST /auth/logout":              "a session is no thing of the shop",
	"DELETE /auth/sessions/{id}":     "a session is no thing of the shop",
	"POST /auth/sessions/end-others": "a session is no thing of the shop",
	"POST /auth/sessions/end-all":    "a session is no thing of the shop",
	"POST /auth/totp":                "a secret asks for nothing until it is confirmed",
	"POST /timeout-policies/preview": "changes nothing",
	"POST /files":                    "a picture is shown by nothing yet",
}

// attempt is a call of a write that must succeed, and what it must leave in the change log.
type attempt struct {
	path string // the operation's, below the prefix, with its query
	body any    // JSON, or a form's file
	by   string // the username; "" is Alpha's owner
	want []entry
}

// form is a body that uploads a file.
type form string

// entry is what the change log must say of one thing.
type entry struct {
	kind changelog.Kind
	// before and after are parts of the fields as they were and as they became; "" where there must be none.
	before, after string
	// merchant is the name of the merchant whose thing it is; "" is Alpha, nobody the platform.
	merchant string
}

const nobody = "-"

// office is a town in which admins work.
type office struct {
	*town

	tokens map[string]string // of admins, by username
	calls  int
}

// TestEveryWriteOfAnAdminIsLogged makes every write of the table succeed once, and looks for its entries by the id of the request: of
// whom, of whose thing, and how it was before and after. A write that is added to the table needs a case here.
func TestEveryWriteOfAnAdminIsLogged(t *testing.T) {
	eachTown(t, func(w *town) {
		o := &office{town: w, tokens: map[string]string{"": w.alpha, "alpha": w.alpha, "admin": w.boss}}
		cases := map[string]func() attempt{}
		for _, some := range []map[string]func() attempt{o.ofPeople(), o.ofGoods(), o.ofCoupons(), o.ofOrders(), o.ofService(), o.ofTime(), o.ofJobs()} {
			maps.Copy(cases, some)
		}
		for _, route := range w.router.Routes() {
			name := route.Method + " " + strings.TrimPrefix(route.Path, "/api/admin/v1")
			if !strings.HasPrefix(route.Path, "/api/admin/v1") || route.Method == "GET" {
				continue
			}
			why, without := unrecorded[name]
			attempted, with := cases[name]
			switch delete(cases, name); {
			case route.Recorded == without:
				w.Errorf("%s leaves an entry: %t; it is unrecorded here because %q", name, route.Recorded, why)
			case !without && !with:
				w.Errorf("%s has no case here: make it succeed, and say what its entry says", name)
			case with:
				o.prove(name, route, attempted())
			}
		}
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			w.Errorf("%s is no write of the table", name)
		}
	})
}

// prove makes a call and compares what it left in the change log.
func (o *office) prove(name string, route router.Route, a attempt) {
	o.Helper()
	o.calls++
	id := fmt.Sprintf("proof-of-change-%d", o.calls)
	if status, reply := o.submit(a, route.Method, id); status != route.Status {
		o.Errorf("%s: %d %s, want %d", name, status, reply, route.Status)
		return
	}
	var rows []model.AdminChange
	if err := o.shop.Store.Read(o.Context()).Where("request_id = ?", id).Order("id").Find(&rows).Error; err != nil {
		o.Fatal(err)
	}
	if len(rows) != len(a.want) {
		o.Errorf("%s: %d entries, want %d: %+v", name, len(rows), len(a.want), rows)
		return
	}
	who := a.by
	if who == "" {
		who = "alpha"
	}
	for i, want := range a.want {
		got := rows[i]
		if got.Kind != string(want.kind) || got.Action != route.OperationID || got.AdminName != who || got.AdminID != o.idOf("admins", "username", who) || got.Ref == "" {
			o.Errorf("%s: %s %s by %s (%d), want %s by %s", name, got.Kind, got.Action, got.AdminName, got.AdminID, want.kind, who)
		}
		if merchant := o.merchantOf(want); got.MerchantID != merchant {
			o.Errorf("%s: the entry is of merchant %d, want %d", name, got.MerchantID, merchant)
		}
		for _, side := range []struct{ what, got, want string }{{"before", got.Before, want.before}, {"after", got.After, want.after}} {
			if !strings.Contains(side.got, side.want) || side.want == "" && side.got != "" {
				o.Errorf("%s: %s is %s, want %q in it", name, side.what, side.got, side.want)
			}
		}
		if got.Before == got.After && !strings.Contains(got.After, "***") { // of a secret nothing is kept but that it changed
			o.Errorf("%s: nothing differs: %s", name, got.After)
		}
	}
}

func (o *office) merchantOf(e entry) int64 {
	switch e.merchant {
	case "":
		return o.alphaID
	case nobody:
		return 0
	}
	return o.idOf("merchants", "name", e.merchant)
}

// idOf is the id of the row that has the name.
func (o *office) idOf(table, column, name string) (id int64) {
	o.Helper()
	if err := o.shop.Store.Read(o.Context()).Table(table).Where(column+" = ?", name).Select("id").Take(&id).Error; err != nil {
		o.Fatalf("%s %s: %v", table, name, err)
	}
	return id
}

// submit sends the attempt under a request id.
func (o *office) submit(a attempt, method, requestID string) (status int, reply string) {
	o.Helper()
	var body bytes.Buffer
	media := "application/json"
	switch b := a.body.(type) {
	case nil:
	case form:
		f := multipart.NewWriter(&body)
		part, err := f.CreateFormFile("file", "rows.csv")
		if err != nil {
			o.Fatal(err)
		}
		if _, err = part.Write([]byte(b)); err == nil {
			err = f.Close()
		}
		if err != nil {
			o.Fatal(err)
		}
		media = f.FormDataContentType()
	default:
		if err := json.NewEncoder(&body).Encode(b); err != nil {
			o.Fatal(err)
		}
	}
	req := httptest.NewRequestWithContext(o.Context(), method, "/api/admin/v1"+a.path, &body)
	req.Header.Set("Content-Type", media)
	req.Header.Set("Authorization", "Bearer "+o.tokens[a.by])
	req.Header.Set("X-Request-Id", requestID)
	rec := httptest.NewRecorder()
	o.router.ServeHTTP(rec, req)
	return rec.Code, rec.Body.String()
}
