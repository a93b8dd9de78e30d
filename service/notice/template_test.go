package notice

import (
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Whatever a text holds, its value is cut at a character, is never empty, and stays as it is when fitted again.
func TestValuesAreFitted(t *testing.T) {
	limits := map[string]int{
		"thing": 20, "character_string": 32, "number": 32, "letter": 32, "symbol": 5, "phrase": 5, "phone_number": 17, "name": 20,
	}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"thing", "character_string", "number", "letter", "symbol", "phrase", "phone_number", "name"}).Draw(t, "kind")
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[一-龥a-z0-9 ！😀]{0,60}`)).Draw(t, "text")
		got := fit(kind, text)
		if n := utf8.RuneCountInString(got); n == 0 || n > limits[kind] || !utf8.ValidString(got) || strings.TrimSpace(got) != got {
			t.Fatalf("%s of %q is %q", kind, text, got)
		}
		if again := fit(kind, got); again != got {
			t.Fatalf("%s of %q is %q, then %q", kind, text, got, again)
		}
	})
}

func TestFixedValues(t *testing.T) {
	for _, c := range []struct{ kind, text, want string }{
		{"thing", strings.Repeat("潮", 21), strings.Repeat("潮", 20)},
		{"thing", "a\tb\nc", "a b c"},
		{"thing", "", "无"},
		{"phrase", "已发货 Shipped", "已发货"},
		{"phrase", "超时未支付了", "超时未支付"},
		{"character_string", "单号SF12 34", "SF1234"},
		{"character_string", "", "-"},
		{"name", "潮汐家居 Tide", "潮汐家居"},
		{"name", "Tide Home & Garden of the World", "Tide Home Garden of"},
		{"name", "123", "无"},
		{"phone_number", "0 a 0", "0 0"},
	} {
		if got := fit(c.kind, c.text); got != c.want {
			t.Errorf("%s of %q is %q, want %q", c.kind, c.text, got, c.want)
		}
	}
	for fen, want := range map[model.Fen]string{0: "0.00元", 5: "0.05元", 9900: "99.00元", 9_999_999_999: "99999999.99元", model.MaxFen: "100000000元"} {
		if got := yuan(fen); got != want {
			t.Errorf("%d fen are %q, want %q", fen, got, want)
		}
	}
}

func TestTemplatesAreChecked(t *testing.T) {
	good := Draft{TemplateID: strings.Repeat("t", 43), Page: "pages/order/detail?no={order_no}", Fields: map[string]string{"thing1": "goods"}, Enabled: true}
	d := newDesk(t, sqlite(t))
	for field, change := range map[string]func(*Draft){
		"template_id":       func(d *Draft) { d.TemplateID = "short" },
		"page":              func(d *Draft) { d.Page = "/pages/order" },
		"fields":            func(d *Draft) { d.Fields = nil },
		"fields.remark":     func(d *Draft) { d.Fields = map[string]string{"remark": "goods"} },
		"fields.thing":      func(d *Draft) { d.Fields = map[string]string{"thing": "goods"} },
		"fields.thing1":     func(d *Draft) { d.Fields = map[string]string{"thing1": "phone"} },
		"fields.thing2":     func(d *Draft) { d.Fields = map[string]string{"thing2": "refund_at"} }, // of another event
		"fields.amount1":    func(d *Draft) { d.Fields = map[string]string{"amount1": "goods"} },
		"fields.thing3":     func(d *Draft) { d.Fields = map[string]string{"thing3": "text:" + strings.Repeat("长", 21)} },
		"fields.phrase1":    func(d *Draft) { d.Fields = map[string]string{"phrase1": "text:paid"} },
		"fields.time1":      func(d *Draft) { d.Fields = map[string]string{"time1": "text:soon"} },
		"fields.thing4":     func(d *Draft) { d.Fields = map[string]string{"thing4": "text:"} },
		"fields.character1": func(d *Draft) { d.Fields = map[string]string{"character1": "order_no"} },
	} {
		draft := good
		change(&draft)
		_, err := d.SetTemplate(t.Context(), EventPaid, draft)
		var f *fault.Error
		if !fault.Is(err, fault.ValidationFailed) || !asFault(err, &f) || len(f.Fields) != 1 || f.Fields[0].Field != field {
			t.Errorf("%s: %v", field, err)
			continue
		}
		want := fault.FieldFormat // of a name, or of a fixed text; only what is chosen from a list is no choice of it
		switch field {
		case "fields":
			want = fault.FieldLength
		case "fields.thing1", "fields.thing2", "fields.amount1":
			want = fault.FieldChoice
		}
		if f.Fields[0].Code != want {
			t.Errorf("%s is %s, want %s", field, f.Fields[0].Code, want)
		}
	}
	if _, err := d.SetTemplate(t.Context(), "moon_rises", good); !fault.Is(err, fault.NotFoundError) {
		t.Errorf("an event that is none: %v", err)
	}
	if _, err := d.SetTemplate(t.Context(), EventPaid, good); err != nil {
		t.Error(err)
	}
}

// Of those who change a template at once one has their way; the others are told that they read an old one.
func TestTemplateVersions(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		offered := func() int {
			on, err := d.Offered(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(on)
		}
		for version := range int64(3) {
			var won, stale int
			var mu sync.Mutex
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() {
					draft := Draft{TemplateID: strings.Repeat("t", 43), Fields: map[string]string{"thing1": "goods"}, Enabled: version != 2, Version: version}
					got, err := d.SetTemplate(t.Context(), EventPaid, draft)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil && got.Version == version+1:
						won++
					case fault.Is(err, fault.StaleVersion):
						stale++
					default:
						t.Errorf("version %d: %+v %v", version, got, err)
					}
				})
			}
			wg.Wait()
			if won != 1 || stale != 4 {
				t.Errorf("version %d: %d won, %d were stale", version, won, stale)
			}
			if want := map[bool]int{true: 1, false: 0}[version != 2]; offered() != want {
				t.Errorf("version %d: %d templates are on, want %d", version, offered(), want)
			}
		}
	})
}

func TestLists(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		for _, name := range []string{EventPaid, EventShipped} {
			d.template(name, map[string]string{"thing1": "goods"})
			if err := d.heard(name); err != nil {
				t.Fatal(err)
			}
		}
		first := d.rows()[0]
		d.run(&first)
		for state, want := range map[model.NoticeState]int64{"": 2, model.NoticeSent: 1, model.NoticeWaiting: 1, model.NoticeRefused: 0} {
			list, total, err := d.List(t.Context(), state, store.Page{Number: 1, Limit: 20})
			if err != nil || total != want || int64(len(list)) != want {
				t.Errorf("%q: %d of %d, %v", state, len(list), total, err)
			}
			for _, m := range list {
				if m.OrderNo != d.order.No {
					t.Errorf("%+v", m)
				}
			}
		}
		page, next, err := d.ListAfter(t.Context(), "", store.Cursor{}, 1)
		if err != nil || len(page) != 1 || next == nil || page[0].Event != EventShipped {
			t.Fatalf("the first page: %v %v %v", page, next, err)
		}
		page, next, err = d.ListAfter(t.Context(), "", *next, 1)
		if err != nil || len(page) != 1 || next != nil || page[0].Event != EventPaid {
			t.Errorf("the last page: %v %v %v", page, next, err)
		}
		if of, err := d.OfOrder(t.Context(), 11); err != nil || len(of) != 2 || of[0].Event != EventPaid {
			t.Errorf("%v %v", of, err)
		}
	})
}
