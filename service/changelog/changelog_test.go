package changelog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

const now = model.Time(1_790_000_000_000)

func call() *changelog.Call {
	return &changelog.Call{
		Action: "admin-put-things", AdminID: 3, AdminName: "mei", MerchantID: 5, RequestID: "req-12345678", IP: "192.0.2.7", Now: func() model.Time { return now },
	}
}

func record(t *testing.T, s *store.Store, c *changelog.Call, before, after any) {
	t.Helper()
	err := s.Tx(changelog.Begin(t.Context(), c), func(tx *store.Tx) error {
		return changelog.Record(tx, changelog.FreightRule, 12, before, after)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func rows(t *testing.T, s *store.Store) (list []model.AdminChange) {
	t.Helper()
	if err := s.Read(t.Context()).Order("id").Find(&list).Error; err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAnEntrySaysWhoDidWhatAndHowItWas(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		c := call()
		record(t, s, c,
			model.FreightRule{ID: 12, MerchantID: 8, Name: "全国", FirstFen: 1000, Regions: []string{"上海市"}, Version: 1, UpdatedAt: 1},
			&model.FreightRule{ID: 12, MerchantID: 8, Name: "全国", FirstFen: 1200, Regions: []string{"上海市", "北京市"}, Version: 2, UpdatedAt: 2})
		want := []model.AdminChange{{
			ID: 1, AdminID: 3, AdminName: "mei", MerchantID: 8, Action: "admin-put-things", Kind: "freight_rule", Ref: "12",
			Before: `{"first_fen":1000,"regions":["上海市"]}`, After: `{"first_fen":1200,"regions":["上海市","北京市"]}`,
			RequestID: "req-12345678", IP: "192.0.2.7", CreatedAt: now,
		}}
		if diff := cmp.Diff(want, rows(t, s)); diff != "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}
		if !c.Recorded() {
			t.Error("the call does not know of its entry")
		}
	})
}

func TestWhatIsMadeOrRemovedIsKeptAsFarAsItIsSet(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		made := model.FreightRule{ID: 12, MerchantID: 5, Name: "全国", Kind: model.FreightPiece, Regions: []string{}, FirstUnits: 1, Version: 1, CreatedAt: 1}
		record(t, s, call(), nil, made)
		record(t, s, call(), made, nil)
		const fields = `{"first_units":1,"kind":"piece","name":"全国","regions":[]}`
		list := rows(t, s)
		if len(list) != 2 || list[0].Before != "" || list[0].After != fields || list[1].Before != fields || list[1].After != "" {
			t.Errorf("%+v", list)
		}
	})
}

func TestNothingIsKeptWithoutAnAdminOrADifferenceOrACommit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		shop := s.Tx(t.Context(), func(tx *store.Tx) error {
			return changelog.Record(tx, changelog.Order, "T1", nil, map[string]any{"a": 1})
		})
		if shop != nil {
			t.Error(shop)
		}
		same := call()
		record(t, s, same, map[string]any{"name": "x", "version": 1}, map[string]any{"name": "x", "version": 2})
		if !same.Recorded() {
			t.Error("a change that changes nothing is one that was thought of")
		}
		failed := call()
		sad := errors.New("sad")
		err := s.Tx(changelog.Begin(t.Context(), failed), func(tx *store.Tx) error {
			if err := changelog.Record(tx, changelog.Order, "T1", nil, map[string]any{"a": 1}); err != nil {
				return err
			}
			return sad
		})
		if !errors.Is(err, sad) || failed.Recorded() {
			t.Errorf("rolled back: %v, recorded %t", err, failed.Recorded())
		}
		replay := call()
		changelog.Nothing(changelog.Begin(t.Context(), replay))
		if changelog.Nothing(t.Context()); !replay.Recorded() {
			t.Error("a replay is no change that was forgotten")
		}
		if list := rows(t, s); len(list) != 0 {
			t.Errorf("%+v", list)
		}
	})
}

// What is not to be kept is looked for in the whole row, however it came in.
func TestSecretsAndPhoneNumbersAreNotKept(t *testing.T) {
	s := storetest.SQLite(t)
	const mobile, landline, hash = "13812345678", "021-62345678", "$argon2id$v=19$m=19456$c2FsdA$aGFzaA"
	admin := model.Admin{ID: 4, Username: "clerk", PasswordHash: hash, RoleID: 2}
	changed := admin
	changed.PasswordHash, changed.RoleID = hash+"x", 7
	record(t, s, call(), admin, changed)
	record(t, s, call(), nil, map[string]any{
		"password": "correct horse", "claim_token": "claim-token-1", "app_secret": "app-secret-1", "openid": "openid-of-ann",
		"contact_phone": landline, "phone": 13812345678, "phones": []string{mobile}, "totp_secret": "JBSWY3DPEHPK3PXP",
		"sender": model.Contact{Name: "仓库", Phone: mobile, Address: "人民大道 200 号，电话" + mobile + "。"},
		"deep":   []any{map[string]any{"new_password": "correct horse", "note": "打 " + mobile}},
		"notice": "电话 13912345678、13712345679；tel13612345670，+8613512345671 或 138-1234-5672，86 138 1234 5673",
		"cipher": "sealed-number", "order_no": "T20260131139000011112", "tracking_no": "SF1390000111122",
	})
	list := rows(t, s)
	for _, r := range list {
		for _, needle := range []string{mobile, landline, hash, "correct horse", "claim-token-1", "app-secret-1", "openid-of-ann", "sealed-number", "JBSWY3DPEHPK3PXP", "12345678", "12345679", "12345670", "12345671", "1234-5672", "1234 5673"} {
			if strings.Contains(r.Before+r.After, needle) {
				t.Errorf("%s is kept in %s %s", needle, r.Before, r.After)
			}
		}
	}
	if list[0].Before != `{"password_hash":"***","role_id":2}` || list[0].After != `{"password_hash":"***","role_id":7}` {
		t.Errorf("that a password changed is to be seen: %s %s", list[0].Before, list[0].After)
	}
	for _, seen := range []string{"T20260131139000011112", "SF1390000111122", "138****5678", `"contact_phone":"***5678"`, "人民大道 200 号", "139****5678、137****5679；tel136****5670，+86135****5671 或 138****5672，86 138****5673"} {
		if !strings.Contains(list[1].After, seen) {
			t.Errorf("%s is not in %s", seen, list[1].After)
		}
	}
}

func TestLongFieldsAreCut(t *testing.T) {
	s := storetest.SQLite(t)
	many := make([]string, 200)
	for i := range many {
		many[i] = strings.Repeat("字", 400)
	}
	record(t, s, call(), nil, map[string]any{"detail_html": strings.Repeat("字", 5000), "many": many})
	after := rows(t, s)[0].After
	if !strings.Contains(after, "字… [5000]") || len(after) > 10_000 {
		t.Errorf("%d bytes: %.200s", len(after), after)
	}
}

func TestListIsNarrowedAndReadOn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		add := func(id, admin, merchant int64, action, kind, ref string, at model.Time) {
			t.Helper()
			row := model.AdminChange{ID: id, AdminID: admin, MerchantID: merchant, Action: action, Kind: kind, Ref: ref, CreatedAt: at}
			if err := s.Read(t.Context()).Create(&row).Error; err != nil {
				t.Fatal(err)
			}
		}
		add(1, 3, 5, "put", "order", "T1", 100)
		add(2, 4, 5, "put", "order", "T2", 200)
		add(3, 3, 6, "post", "order", "T3", 200)
		add(4, 3, 5, "post", "sku", "7", 300)
		add(5, 9, 0, "post", "bill", "2026-01-31", 400)
		log := changelog.New(s)
		for _, c := range []struct {
			name string
			f    changelog.Filter
			want []int64
		}{
			{"all", changelog.Filter{All: true}, []int64{5, 4, 3, 2, 1}},
			{"a merchant's", changelog.Filter{MerchantID: 5}, []int64{4, 2, 1}},
			{"an admin's", changelog.Filter{MerchantID: 5, AdminID: 3}, []int64{4, 1}},
			{"an admin's everywhere", changelog.Filter{All: true, AdminID: 3}, []int64{4, 3, 1}},
			{"an action", changelog.Filter{MerchantID: 5, Action: "put"}, []int64{2, 1}},
			{"a kind", changelog.Filter{MerchantID: 5, Kind: "order"}, []int64{2, 1}},
			{"a kind everywhere", changelog.Filter{All: true, Kind: "order", Action: "put"}, []int64{2, 1}},
			{"a thing", changelog.Filter{MerchantID: 5, Kind: "order", Ref: "T2"}, []int64{2}},
			{"somebody else's thing", changelog.Filter{MerchantID: 6, Kind: "order", Ref: "T2"}, nil},
			{"a time", changelog.Filter{All: true, From: 200, To: 400}, []int64{4, 3, 2}},
		} {
			if got := read(t, log, c.f); !cmp.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	})
}

// read reads a list to its end, two entries at a time.
func read(t *testing.T, log *changelog.Service, f changelog.Filter) (ids []int64) {
	t.Helper()
	for after := (store.Cursor{}); ; {
		rows, next, err := log.List(t.Context(), f, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		if next == nil {
			return ids
		}
		after = *next
	}
}
