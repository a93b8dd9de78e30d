package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// contentBreaks are the instants at which the shop is killed while WeChat is asked again about what is held.
var contentBreaks = []string{"content.claimed", "content.asked", "content.submitted"}

// heldAgain is until when a held text is asked about for the first time, and again after a kill.
const heldAgain = 10*time.Second + 5*time.Second

// TestKilledWhileWeChatIsAskedAgain kills the shop at each of those instants. What was held is passed in the end, as WeChat says.
func TestKilledWhileWeChatIsAskedAgain(t *testing.T) {
	t.Parallel()
	program := breakable(t)
	redis := testserver.StartRedis(t)
	for _, point := range contentBreaks {
		t.Run(point+"/servers", func(t *testing.T) {
			t.Parallel()
			testContentBreak(t, program, point, parts{dsn: testserver.MySQL(t), addrs: redis.Addr()})
		})
	}
	t.Run("content.submitted/embedded", func(t *testing.T) {
		t.Parallel()
		testContentBreak(t, program, "content.submitted", parts{})
	})
}

func testContentBreak(t *testing.T, program, point string, p parts) {
	b := breakAt(t, program, point, p)
	admin, ann := b.admin(), b.shopper("ann")
	b.wechat().call(200, "POST", "/sandbox/settings", map[string]any{"push_url": b.url() + "/notify/wechat/push"})
	change, kind, path, calls := map[string]any{"nickname": "安安"}, "nickname", "/wxa/msg_sec_check", 3
	switch point {
	case "content.claimed":
		calls = 2
		fallthrough
	case "content.asked":
		b.fault(path, "reset", map[string]any{"count": 1})
	case "content.submitted":
		change, kind, path, calls = map[string]any{"avatar": ann.upload()}, "avatar", "/wxa/media_check_async", 2
	}
	b.insist(ann, "PUT", "/api/v1/me", change, 200)
	type hold struct {
		DecidedBy string `json:"decided_by"`
		Status    string `json:"status"`
	}
	eventually(t, heldAgain+recovery, "what was held is passed", func() (bool, string) {
		b.revive()
		list := as[listOf[hold]](admin, b.insist(admin, "GET", "/api/admin/v1/content-holds?status=passed&kind="+kind, nil, 200)).List
		return b.deaths == 1 && len(list) == 1 && list[0].DecidedBy == "wechat", fmt.Sprintf("%+v after %d breaks", list, b.deaths)
	})
	if me := as[map[string]any](ann, b.insist(ann, "GET", "/api/v1/me", nil, 200)); me[kind] != change[kind] || me["nickname_pending"] != nil {
		t.Errorf("the profile is %v, want %v", me, change)
	}
	// A change whose answer was lost is made again, and judged again.
	if got := as[listOf[struct{}]](b.wechat(), b.wechat().call(200, "GET", "/sandbox/calls?path="+path, nil)).List; len(got) < calls {
		t.Errorf("WeChat was asked %d times, want %d at least", len(got), calls)
	}
	b.exactlyOnce()
}
