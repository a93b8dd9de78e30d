package sandbox

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// begin has everything go wrong that the plan says.
func (r *rig) begin(plan object) {
	r.Helper()
	if status, reply := r.control("POST", "/sandbox/chaos", plan); status != 201 || reply["on"] != true {
		r.Fatalf("%d %v", status, reply)
	}
}

// did is how often the chaos did something.
func (r *rig) did(what string) int {
	r.Helper()
	_, reply := r.control("GET", "/sandbox/chaos", nil)
	n, _ := reply["did"].(object)[what].(float64)
	return int(n)
}

// attempts makes the same calls about two numbers of a shopper, as a shop would that insists, and does not care for the answers.
func (r *rig) attempts(shopper string) {
	for range 2 {
		no := "C" + randomDigits(14)
		body := r.order(no)
		body["payer"] = object{"openid": OpenID(shopper)}
		for range 8 {
			r.insist(r.signed("POST", "/v3/pay/transactions/jsapi", body, time.Now()))
			r.insist(r.signed("GET", "/v3/pay/transactions/out-trade-no/"+no+"?mchid="+r.keys.MchID, nil, time.Now()))
		}
	}
}

func (r *rig) insist(req *http.Request) {
	if resp, err := r.http.Do(req); err == nil {
		resp.Body.Close()
	}
}

// faultsByShopper is what happened to the calls of each shopper, in their order.
func (r *rig) faultsByShopper() map[string][]string {
	owners := map[string]string{} // by number
	found := map[string][]string{}
	for _, c := range r.calls() {
		no := strings.TrimPrefix(c.Path, "/v3/pay/transactions/out-trade-no/")
		if body, ok := c.Body.(object); ok {
			no, _ = body["out_trade_no"].(string)
			owners[no], _ = body["payer"].(object)["openid"].(string)
		}
		found[owners[no]] = append(found[owners[no]], c.Fault)
	}
	return found
}

type seen struct {
	Path, Fault string
	Body        any
}

func (r *rig) calls() (list []seen) {
	r.Helper()
	_, reply := r.control("GET", "/sandbox/calls", nil)
	for _, row := range reply["list"].([]any) {
		c := row.(object)
		fault, _ := c["fault"].(string)
		list = append(list, seen{c["path"].(string), fault, c["body"]})
	}
	return list
}

// TestChaosIsAFunctionOfTheSeed makes the same calls about other numbers, one shopper after the other and all at once: the same
// happens to each with the same seed, and something else with another one.
func TestChaosIsAFunctionOfTheSeed(t *testing.T) {
	shoppers := []string{"ann", "bob", "cid"}
	run := func(seed int, atOnce bool) map[string][]string {
		r := started(t)
		r.begin(object{"seed": seed, "delay_ms": 3, "calls": object{
			"timeout": 0.1, "timeout_after": 0.1, "reset": 0.1, "status": 0.1, "html": 0.1, "empty": 0.1, "bad_signature": 0.1, "delay": 0.1,
		}})
		var all sync.WaitGroup
		for _, s := range shoppers {
			all.Go(func() { r.attempts(s) })
			if !atOnce {
				all.Wait()
			}
		}
		all.Wait()
		return r.faultsByShopper()
	}
	first, again, other := run(1, false), run(1, true), run(2, false)
	for _, s := range shoppers {
		id := OpenID(s)
		if len(first[id]) != 32 || !slices.Equal(first[id], again[id]) {
			t.Errorf("%s: the same seed made %v first and %v then", s, first[id], again[id])
		}
		if slices.Equal(first[id], other[id]) {
			t.Errorf("%s: another seed makes the same: %v", s, other[id])
		}
	}
	if slices.Equal(first[OpenID("ann")], first[OpenID("bob")]) {
		t.Errorf("two shoppers meet the same: %v", first[OpenID("bob")])
	}
	modes := map[string]int{}
	for _, faults := range first {
		for _, f := range faults {
			modes[f]++
		}
	}
	if len(modes) != 9 || modes[""] > 50 {
		t.Errorf("of 96 calls of which four in five are to fail: %v", modes)
	}
}

func TestChaosNamesWhatIsWrongWithAPlan(t *testing.T) {
	r := started(t)
	for what, plan := range map[string]object{
		"unknown mode":         {"calls": object{"explode": 0.5}},
		"mode of another":      {"callbacks": object{"slow": 0.5}},
		"negative":             {"refunds": object{"slow": -0.1}},
		"above one":            {"tokens": object{"expire": 1.5}},
		"more than all":        {"calls": object{"reset": 0.6, "html": 0.6}},
		"no delay":             {"delay_ms": 0},
		"delay beyond measure": {"late_ms": 60001},
		"unknown field":        {"rates": object{}},
	} {
		status, reply := r.control("POST", "/sandbox/chaos", plan)
		if status != 400 || reply["message"] == "" {
			t.Errorf("%s: %d %v", what, status, reply)
		}
	}
	if _, reply := r.control("GET", "/sandbox/chaos", nil); reply["on"] != false {
		t.Errorf("a refused plan is on: %v", reply)
	}
}

func TestChaosKeepsToItsPath(t *testing.T) {
	r := started(t)
	r.begin(object{"path": "/close", "calls": object{"html": 1}})
	r.prepay("T00000001")
	if status, _ := r.close("T00000001"); status != 502 {
		t.Errorf("close: %d", status)
	}
	r.control("DELETE", "/sandbox/chaos", nil)
	if status, _ := r.close("T00000001"); status != 204 {
		t.Errorf("close after the chaos: %d", status)
	}
}

// paid has a number paid and returns it; the callback is on its way as the chaos has it.
func (r *rig) paid() string {
	r.Helper()
	no := "C" + randomDigits(14)
	r.payNow(r.prepay(no))
	return no
}

func (r *rig) payNow(prepay string) {
	r.Helper()
	if status, reply := r.control("POST", "/sandbox/pay", object{"prepay_id": prepay}); status != 200 {
		r.Fatalf("%d %v", status, reply)
	}
}

// nothing fails if a callback has come.
func (r *rig) nothing(what string) {
	r.Helper()
	select {
	case body := <-r.arrived:
		r.Errorf("%s: %s", what, body)
	default:
	}
}

func TestChaosOfCallbacks(t *testing.T) {
	t.Run("lost", func(t *testing.T) {
		r := started(t)
		r.begin(object{"callbacks": object{"lost": 1}})
		r.paid()
		r.control("DELETE", "/sandbox/chaos", nil)
		r.paid()
		r.arrival() // of the second
		r.nothing("the lost one")
		if n := r.did("callbacks.lost"); n != 1 {
			t.Errorf("%d are counted", n)
		}
	})
	t.Run("late until the end", func(t *testing.T) {
		r := started(t)
		r.begin(object{"callbacks": object{"late": 1}, "late_ms": 60000, "seed": 3})
		r.paid()
		r.nothing("the late one")
		r.control("DELETE", "/sandbox/chaos", nil)
		r.arrival()
	})
	t.Run("twice", func(t *testing.T) {
		r := started(t)
		r.begin(object{"callbacks": object{"twice": 1}})
		r.paid()
		if first, second := noticeID(t, r.arrival()), noticeID(t, r.arrival()); first != second {
			t.Errorf("%s and %s are two callbacks", first, second)
		}
	})
}

// lastNotice is the id of the latest callback.
func (r *rig) lastNotice() string {
	r.Helper()
	_, reply := r.control("GET", "/sandbox/notices", nil)
	list := reply["list"].([]any)
	return list[len(list)-1].(object)["id"].(string)
}

// TestChaosReorders pays numbers one after another, some of whose callbacks are to wait until another one is sent, and finds them
// behind it.
func TestChaosReorders(t *testing.T) {
	r := started(t)
	r.begin(object{"seed": 1, "callbacks": object{"reordered": 0.5}, "late_ms": 60000})
	var waiting []string
	overtaken := 0
	for range 12 {
		held := r.did("callbacks.reordered")
		r.paid()
		id := r.lastNotice()
		if r.did("callbacks.reordered") > held {
			r.nothing("one that is to be overtaken")
			waiting = append(waiting, id)
			continue
		}
		if got := noticeID(t, r.arrival()); got != id {
			t.Errorf("%s came before what was to overtake it", got)
		}
		for range waiting {
			if got := noticeID(t, r.arrival()); !slices.Contains(waiting, got) {
				t.Errorf("%s came, want one of %v", got, waiting)
			}
			overtaken++
		}
		waiting = nil
	}
	if overtaken == 0 {
		t.Error("none was overtaken: that shows nothing")
	}
}

// refund asks for one and returns the answer.
func (r *rig) refund(no, refundNo string) (int, object) {
	r.Helper()
	return r.pay("POST", refundPath, object{
		"out_trade_no": no, "out_refund_no": refundNo, "amount": object{"refund": 30, "total": 100, "currency": "CNY"}, "notify_url": r.shop.URL + "/notify/wechat/refund",
	})
}

func (r *rig) refundStatus(refundNo string) any {
	r.Helper()
	_, reply := r.pay("GET", refundPath+"/"+refundNo, nil)
	return reply["status"]
}

func TestChaosOfRefunds(t *testing.T) {
	for mode, refusal := range map[string]string{"not_enough": "NOTENOUGH", "frequency": "FREQUENCYLIMITED"} {
		r := started(t)
		no := r.paid()
		r.arrival()
		r.begin(object{"refunds": object{mode: 1}})
		refused := 0
		for {
			status, reply := r.refund(no, "R1")
			if status == 200 {
				break
			}
			r.want(mode, status, reply, map[string]int{"not_enough": 403, "frequency": 429}[mode], refusal)
			refused++
		}
		if refused < 1 || refused > 3 || refused != r.did("refunds."+mode) {
			t.Errorf("%s: refused %d times", mode, refused)
		}
		r.arrival()
	}
	t.Run("abnormal", func(t *testing.T) {
		r := started(t)
		no := r.paid()
		r.arrival()
		r.begin(object{"refunds": object{"abnormal": 1}, "refund_ms": 1, "callbacks": object{"lost": 1}})
		r.refund(no, "R1")
		r.arrival()
		if got := r.refundStatus("R1"); got != "SUCCESS" {
			t.Errorf("after the one callback that is not lost: %v", got)
		}
		if n := r.did("callbacks.lost"); n != 1 {
			t.Errorf("%d lost, want that about ABNORMAL", n)
		}
	})
	t.Run("slow", func(t *testing.T) {
		r := started(t)
		r.control("POST", "/sandbox/settings", object{"refund_delay_ms": 0})
		no := r.paid()
		r.arrival()
		r.begin(object{"refunds": object{"slow": 1}, "refund_ms": 60000, "seed": 3})
		r.refund(no, "R1")
		if got := r.refundStatus("R1"); got != "PROCESSING" {
			t.Errorf("%v", got)
		}
		r.control("DELETE", "/sandbox/chaos", nil)
		r.arrival()
		if got := r.refundStatus("R1"); got != "SUCCESS" {
			t.Errorf("%v", got)
		}
	})
}

func TestChaosEndsTokens(t *testing.T) {
	r := started(t)
	token := func() string {
		_, reply := r.control("POST", "/cgi-bin/stable_token", object{"grant_type": "client_credential", "appid": r.keys.AppID, "secret": r.keys.AppSecret})
		return reply["access_token"].(string)
	}
	phone := func(token string) float64 {
		_, reply := r.control("POST", "/wxa/business/getuserphonenumber?access_token="+token, object{"code": "demo-ann"})
		return reply["errcode"].(float64)
	}
	first := token()
	r.begin(object{"tokens": object{"expire": 1}})
	if got := phone(first); got != 40001 {
		t.Errorf("the ended token: %v", got)
	}
	r.control("DELETE", "/sandbox/chaos", nil)
	second := token()
	if second == first || phone(second) != 0 || phone(first) == 0 {
		t.Errorf("the token after it works: %v, the ended one: %v", phone(second), phone(first))
	}
}

// TestBooksAddUp compares the books for two shoppers, one of whom gets a part back.
func TestBooksAddUp(t *testing.T) {
	r := started(t)
	r.control("POST", "/sandbox/settings", object{"refund_hold": true})
	first, second := r.paid(), r.paid()
	bob := r.order("C" + randomDigits(14))
	bob["payer"] = object{"openid": OpenID("bob")}
	_, reply := r.pay("POST", "/v3/pay/transactions/jsapi", bob)
	r.payNow(reply["prepay_id"].(string))
	r.prepay("T00000001") // never paid
	r.refund(first, "R1")
	r.refund(second, "R2")
	r.refund(second, "R3")
	r.control("POST", "/sandbox/refunds/R2", object{"status": "SUCCESS"})
	r.control("POST", "/sandbox/refunds/R3", object{"status": "CLOSED"})

	_, got := r.control("GET", "/sandbox/books", nil)
	rows := map[string]string{}
	for _, of := range []string{"list", "numbers"} {
		for _, row := range got[of].([]any) {
			b := row.(object)
			key, _ := b["out_trade_no"].(string)
			if key == "" {
				key = b["openid"].(string)
			}
			rows[key] = fmt.Sprint(b["paid_fen"], b["refunded_fen"], b["refunding_fen"], b["payments"], b["refunds"])
		}
	}
	want := map[string]string{
		OpenID("ann"): "200 30 30 2 1", OpenID("bob"): "100 0 0 1 0",
		first: "100 0 30 1 0", second: "100 30 0 1 1", bob["out_trade_no"].(string): "100 0 0 1 0",
	}
	if !maps.Equal(rows, want) {
		t.Errorf("%v, want %v", rows, want)
	}
}
