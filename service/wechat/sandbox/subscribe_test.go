package sandbox

import (
	"io"
	"strings"
	"testing"
)

// Lengths are counted in characters, and every kind of field has its own alphabet.
func TestSubscribeValues(t *testing.T) {
	for _, c := range []struct {
		kind, value string
		good        bool
	}{
		{"thing", strings.Repeat("茶", 20), true},
		{"thing", strings.Repeat("茶", 21), false},
		{"thing", "", false},
		{"thing", " ", false},
		{"thing", "a\nb", false},
		{"character_string", strings.Repeat("A", 32), true},
		{"character_string", strings.Repeat("A", 33), false},
		{"character_string", "单号1", false},
		{"number", "12.5", true},
		{"number", "twelve", false},
		{"letter", "abc", true},
		{"letter", "ab1", false},
		{"symbol", "!!", true},
		{"symbol", "!!!!!!", false},
		{"phrase", "超时未支付", true},
		{"phrase", "超时未支付了", false},
		{"phrase", "paid", false},
		{"name", "潮汐家居生活好物旗舰", true},
		{"name", "潮汐家居生活好物旗舰店", false},
		{"name", "Tide Home", true},
		{"name", "潮汐 Tide", false},
		{"amount", "¥99.00", true},
		{"amount", "99.00元", true},
		{"amount", "1234567890.5", false},
		{"amount", "about 5", false},
		{"time", "2019年10月1日 15:01", true},
		{"time", "15:01", true},
		{"time", "yesterday", false},
		{"date", "2019年10月1日", true},
		{"date", "15:01", false},
		{"phone_number", "+86 400-123-4567", true},
		{"phone_number", "call us", false},
		{"colour", "red", false},
	} {
		if got := valueFits(c.kind, c.value); got != c.good {
			t.Errorf("%s %q: %v, want %v", c.kind, c.value, got, c.good)
		}
	}
}

// Consents and messages survive a restart.
func TestSubscribeBooksSurvive(t *testing.T) {
	r := newRig(t)
	stop := r.start()
	template := strings.Repeat("t", 43)
	control := func(path string, body any, want int) object {
		t.Helper()
		status, reply := r.control("POST", path, body)
		if status != want {
			t.Fatalf("%s: %d %v, want %d", path, status, reply, want)
		}
		return reply
	}
	control("/sandbox/settings", object{"subscribe_grants": true}, 200)
	control("/sandbox/subscriptions", object{"name": "ann", "template_id": template, "grants": 2}, 200)
	send := func(want float64) {
		t.Helper()
		token := control("/cgi-bin/stable_token", object{"grant_type": "client_credential", "appid": r.keys.AppID, "secret": r.keys.AppSecret}, 200)["access_token"]
		reply := control("/cgi-bin/message/subscribe/send?access_token="+token.(string), object{
			"touser": OpenID("ann"), "template_id": template, "data": object{"thing1": object{"value": "茶"}},
		}, 200)
		if reply["errcode"] != want {
			t.Fatalf("%v, want errcode %v", reply, want)
		}
	}
	send(0)
	stop()
	r.start()
	send(0)
	send(43101)
	_, reply := r.control("GET", "/sandbox/messages?name=ann", nil)
	list := reply["list"].([]any)
	if len(list) != 2 || list[1].(object)["id"] != 2.0 {
		t.Errorf("%v", list)
	}
	resp, err := r.http.Get(r.url + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if page, err := io.ReadAll(resp.Body); err != nil || strings.Count(string(page), "<td class=\"goods\">茶</td>") != 2 {
		t.Errorf("the front page does not show both messages (%v):\n%s", err, page)
	}
	control("/sandbox/subscriptions", object{"name": "ann", "template_id": template, "grants": 0}, 400)
	control("/sandbox/subscriptions", object{"openid": "nobody", "template_id": template, "grants": 1}, 400)
}
