package app_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/content"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/review"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
	"github.com/tidemall/tidemall/timeout"
)

func (v *village) hold(kind model.HoldKind, shopperID int64) *model.ContentHold {
	v.Helper()
	var rows []model.ContentHold
	if err := v.Store.Read(v.Context()).Where("kind = ? AND shopper_id = ?", kind, shopperID).Order("id DESC").Find(&rows).Error; err != nil {
		v.Fatal(err)
	}
	if len(rows) == 0 {
		return nil
	}
	return &rows[0]
}

// writing is one of the places where shoppers write.
type writing struct {
	kind  model.HoldKind
	field string
	// prepare returns a shopper and what writes a text for them.
	prepare func(v *village) (shopperID int64, write func(text string) error)
	// seen tells what of the text others see.
	seen func(v *village, shopperID int64) string
}

var writings = []writing{
	{
		model.HoldNickname, "nickname",
		func(v *village) (int64, func(string) error) {
			who := v.shopper()
			return who, func(text string) error {
				_, err := v.Accounts.ChangeProfile(v.Context(), who, account.ProfileInput{Nickname: &text})
				return err
			}
		},
		func(v *village, who int64) string {
			var s model.Shopper
			if err := v.Store.Read(v.Context()).First(&s, who).Error; err != nil {
				v.Fatal(err)
			}
			return strings.ReplaceAll(s.Nickname, "微信用户", "")
		},
	},
	{
		model.HoldRemark, "remark",
		func(v *village) (int64, func(string) error) {
			who := v.shopper()
			return who, func(text string) error {
				_, err := v.Orders.Place(v.Context(), who, v.basket(text))
				return err
			}
		},
		func(v *village, who int64) string {
			list, _, err := v.Orders.List(v.Context(), order.Filter{MerchantID: v.merchant, ShopperID: who}, store.Page{Number: 1, Limit: 10})
			if err != nil {
				v.Fatal(err)
			}
			if len(list) == 0 {
				return ""
			}
			mine, err := v.Orders.Get(v.Context(), who, list[0].No)
			if err != nil || mine.VisibleRemark() != mine.Remark || mine.Remark == "" {
				v.Errorf("the shopper sees %q of %q, %v", mine.VisibleRemark(), mine.Remark, err)
			}
			return list[0].VisibleRemark()
		},
	},
	{
		model.HoldReview, "content",
		func(v *village) (int64, func(string) error) {
			who := v.shopper()
			o, line := v.completed(who)
			return who, func(text string) error {
				_, err := v.Reviews.Add(v.Context(), who, o.No, review.Draft{LineID: line, Rating: 4, Content: text})
				return err
			}
		},
		func(v *village, who int64) string {
			list, _, err := v.Reviews.OfProduct(v.Context(), review.Filter{ProductID: v.product}, store.Cursor{}, 100)
			if err != nil {
				v.Fatal(err)
			}
			for _, r := range list {
				if r.ShopperID == who {
					return r.Content
				}
			}
			return ""
		},
	},
}

const checkPath = "/wxa/msg_sec_check"

func (v *village) fault(mode string, count int) {
	v.Helper()
	v.control("POST", "/sandbox/faults", map[string]any{"path": checkPath, "mode": mode, "count": count}, 201)
}

func (v *village) healed() {
	v.Helper()
	v.control("DELETE", "/sandbox/faults", nil, 204)
	v.await("the breaker's closing", func() bool {
		_, err := v.WeChat.CheckText(v.Context(), sandbox.OpenID("probe"), wechat.SceneComment, "好")
		return err == nil
	})
}

// opened lets the breaker of checks open.
func (v *village) opened() {
	v.Helper()
	v.fault("reset", -1)
	v.await("the breaker's opening", func() bool {
		began := time.Now()
		_, err := v.WeChat.CheckText(v.Context(), sandbox.OpenID("probe"), wechat.SceneComment, "好")
		if wechat.KindOf(err) == wechat.KindUnavailable {
			return true
		}
		v.failed = began
		return false
	})
}

// checks is how often WeChat was asked about a text.
func (v *village) checks() int {
	v.Helper()
	resp, err := http.Get(v.SandboxURL + "/sandbox/calls?path=" + checkPath)
	if err != nil {
		v.Fatal(err)
	}
	defer resp.Body.Close()
	var reply struct{ List []json.RawMessage }
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		v.Fatal(err)
	}
	return len(reply.List)
}

// What WeChat passes is shown, what it calls risky is refused before anything is stored, and everything else is held, soon enough:
// two seconds after a check that is not answered, at once while nothing is answered.
func TestEveryTextIsJudged(t *testing.T) {
	eachVillage(t, func(v *village) {
		for _, w := range writings {
			for _, c := range []struct {
				name, text string
				before     func()
				reason     model.HoldReason // empty: not held
				label      int
				again      bool // WeChat is asked again
				silent     bool
			}{
				{name: "pass", text: "放在门口"},
				{name: "doubtful", text: "可疑的话", reason: model.HoldDoubtful, label: 21000},
				{name: "61010", text: "好的", before: func() { v.control("POST", "/sandbox/settings", map[string]any{"check_unseen": true}, 200) }, reason: model.HoldFailed, again: true},
				{name: "silence", text: "好的", before: func() { v.fault("timeout", -1) }, reason: model.HoldFailed, again: true, silent: true},
				{name: "open breaker", text: "好的", before: v.opened, reason: model.HoldFailed, again: true, silent: true},
			} {
				who, write := w.prepare(v)
				if c.before != nil {
					c.before()
				}
				checks, began := v.checks(), time.Now()
				err := write(c.text)
				took, open := time.Since(began), time.Since(v.failed) < time.Second // as long as the breaker's pause
				checks = v.checks() - checks
				h := v.hold(w.kind, who)
				if c.silent {
					v.Logf("%s, %s: stored after %s", w.kind, c.name, took.Round(time.Millisecond))
				}
				switch {
				case err != nil || took > 8*time.Second:
					v.Errorf("%s, %s: %v after %s", w.kind, c.name, err, took)
				case open && checks > 0:
					v.Errorf("%s, %s: WeChat was asked %d times", w.kind, c.name, checks)
				case c.reason == "" && (h != nil || w.seen(v, who) != c.text):
					v.Errorf("%s, %s: others see %q, hold %+v", w.kind, c.name, w.seen(v, who), h)
				case c.reason != "" && (h == nil || h.Reason != c.reason || h.Label != c.label || h.Text != c.text || h.State != model.HoldHeld || (h.NextAt != nil) != c.again):
					v.Errorf("%s, %s: hold %+v", w.kind, c.name, h)
				case c.reason != "" && w.seen(v, who) != "":
					v.Errorf("%s, %s: others see %q", w.kind, c.name, w.seen(v, who))
				}
				v.control("POST", "/sandbox/settings", map[string]any{"check_unseen": false}, 200)
				if c.silent {
					v.healed()
				}
			}
			who, write := w.prepare(v)
			before := v.number("SELECT COUNT(*) FROM orders") + v.number("SELECT COUNT(*) FROM reviews")
			err := write("这是违规的")
			var f *fault.Error
			if !asFault(err, &f) || f.Code != fault.ContentRefused || len(f.Fields) != 1 || f.Fields[0].Field != w.field {
				v.Errorf("%s, risky: %v", w.kind, err)
			}
			if after := v.number("SELECT COUNT(*) FROM orders") + v.number("SELECT COUNT(*) FROM reviews"); after != before || v.hold(w.kind, who) != nil || w.seen(v, who) != "" {
				v.Errorf("%s, risky: something was stored", w.kind)
			}
		}
	})
}

func asFault(err error, into **fault.Error) bool {
	f, ok := err.(*fault.Error) //nolint:errorlint // the operations get it as it is
	*into = f
	return ok
}

// What was held because WeChat did not answer is asked about again by itself, and decided as WeChat then says.
func TestWeChatIsAskedAgainOnceItIsBack(t *testing.T) {
	eachVillage(t, func(v *village) {
		for _, w := range writings {
			for text, want := range map[string]struct {
				state  model.HoldState
				reason model.HoldReason
				seen   bool
			}{
				"好极了":   {model.HoldPassed, model.HoldFailed, true},
				"其实违规":  {model.HoldRefused, model.HoldFailed, false},
				"其实很可疑": {model.HoldHeld, model.HoldDoubtful, false},
			} {
				who, write := w.prepare(v)
				v.fault("reset", 1)
				if err := write(text); err != nil {
					v.Fatal(err)
				}
				h := v.hold(w.kind, who)
				if h == nil || h.NextAt == nil || h.NextAt.Sub(v.Now()) < 5*time.Second {
					v.Fatalf("hold %+v", h)
				}
				// Ten seconds are over.
				due := v.Now()
				if err := v.Store.Read(v.Context()).Exec("UPDATE content_holds SET next_at = ? WHERE id = ?", due, h.ID).Error; err != nil {
					v.Fatal(err)
				}
				if err := v.Engine.Schedule(v.Context(), timeout.Task{Kind: content.Kind, Key: strconv.FormatInt(h.ID, 10), Due: int64(due)}); err != nil {
					v.Fatal(err)
				}
				v.await("WeChat's word", func() bool { h = v.hold(w.kind, who); return h.NextAt == nil })
				if h.State != want.state || h.Reason != want.reason || (h.State != model.HoldHeld) != (h.DecidedBy == content.ByWeChat) {
					v.Errorf("%s %s: %+v", w.kind, text, h)
				}
				if got := w.seen(v, who); (got == text) != want.seen || got != "" && !want.seen {
					v.Errorf("%s %s: others see %q", w.kind, text, got)
				}
			}
		}
	})
}

// A person passes or refuses what is held, once.
func TestAPersonDecides(t *testing.T) {
	eachVillage(t, func(v *village) {
		for _, w := range writings {
			for _, pass := range []bool{true, false} {
				who, write := w.prepare(v)
				if err := write("可疑的话"); err != nil {
					v.Fatal(err)
				}
				h := v.hold(w.kind, who)
				if _, err := v.Content.Decide(v.Context(), content.Scope{MerchantID: 99}, content.Decision{ID: h.ID, Version: 1, Pass: true}); !fault.Is(err, fault.NotFoundError) {
					v.Errorf("%s by a stranger: %v", w.kind, err)
				}
				won := decideTogether(v, 8, content.Decision{ID: h.ID, Version: h.Version, Pass: pass, By: "admin:1"})
				if now := v.hold(w.kind, who); won != 1 || now.DecidedBy != "admin:1" || now.Version != 2 || (now.State == model.HoldPassed) != pass {
					v.Errorf("%s: %d decided, %+v", w.kind, won, now)
				}
				if got := w.seen(v, who); (got == "可疑的话") != pass || got != "" && !pass {
					v.Errorf("%s, passed %v: others see %q", w.kind, pass, got)
				}
			}
		}
	})
}

func decideTogether(v *village, n int, d content.Decision) (won int) {
	v.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			_, err := v.Content.Decide(v.Context(), content.Scope{MerchantID: v.merchant, Platform: true}, d)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !fault.Is(err, fault.StateConflict) && !fault.Is(err, fault.StaleVersion) {
				v.Error(err)
			}
		})
	}
	all.Wait()
	return won
}

// Two changes of a nickname at once: whichever is stored later counts, and a hold that something newer took the place of can never
// be approved.
func TestNicknamesThatRace(t *testing.T) {
	eachVillage(t, func(v *village) {
		superseded := 0
		for range 20 {
			who := v.shopper()
			var all sync.WaitGroup
			for _, name := range []string{"可疑的甲", "好乙"} {
				all.Go(func() {
					if _, err := v.Accounts.ChangeProfile(v.Context(), who, account.ProfileInput{Nickname: &name}); err != nil {
						v.Error(err)
					}
				})
			}
			all.Wait()
			h := v.hold(model.HoldNickname, who)
			name := writings[0].seen(v, who)
			_, err := v.Content.Decide(v.Context(), content.Scope{Platform: true}, content.Decision{ID: h.ID, Version: h.Version, Pass: true, By: "admin:1"})
			after := writings[0].seen(v, who)
			switch {
			case name != "好乙":
				v.Errorf("the nickname is %q", name)
			case h.State == model.HoldHeld && (err != nil || after != "可疑的甲"):
				v.Errorf("the newest: %v, %q", err, after)
			case h.State == model.HoldSuperseded && (!fault.Is(err, fault.StateConflict) && !fault.Is(err, fault.StaleVersion) || after != "好乙"):
				v.Errorf("superseded: %v, %q", err, after)
			}
			if h.State == model.HoldSuperseded {
				superseded++
			}
		}
		v.Logf("%d of 20 were superseded", superseded)
		// One after the other, so that both ways are seen for certain.
		who := v.shopper()
		for _, name := range []string{"可疑的甲", "可疑的丙", "好乙"} {
			if _, err := v.Accounts.ChangeProfile(v.Context(), who, account.ProfileInput{Nickname: &name}); err != nil {
				v.Fatal(err)
			}
		}
		if n := v.number("SELECT COUNT(*) FROM content_holds WHERE ref_id = ? AND state = 'superseded'", who); n != 2 {
			v.Errorf("%d holds are superseded", n)
		}
	})
}

// An order that is there already is given back without WeChat, with the remark that it had.
func TestAReplayNeedsNoWeChat(t *testing.T) {
	eachVillage(t, func(v *village) {
		who := v.shopper()
		b := v.basket("请放门口")
		first, err := v.Orders.Place(v.Context(), who, b)
		if err != nil {
			v.Fatal(err)
		}
		checks := v.checks()
		again, err := v.Orders.Place(v.Context(), who, b)
		if err != nil || again.ID != first.ID || v.checks() != checks {
			v.Errorf("%v after %d checks", err, v.checks()-checks)
		}
		other := b
		other.Remark = "换一个"
		if _, err := v.Orders.Place(v.Context(), who, other); !fault.Is(err, fault.IdempotencyKeyReused) {
			v.Errorf("another remark under the key: %v", err)
		}
		checks = v.checks()
		if _, err := v.Orders.Place(v.Context(), who, v.basket("")); err != nil || v.checks() != checks {
			v.Errorf("without a remark: %v after %d checks", err, v.checks()-checks)
		}
	})
}
