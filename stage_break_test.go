package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// stageBreaks are the instants at which the shop is killed while it reminds, gives alerts and completes, and while it re-times
// orders that wait: every failpoint of that, some of them again at a later hit, which is another stage's.
var stageBreaks = []string{
	"stage.written", "stage.committed", "stage.written:2", "stage.committed:2", "stage.written:3", "stage.committed:3",
	"change.claimed", "change.ended", "job.read", "job.written", "job.committed", "job.read:2", "job.written:2", "job.committed:2",
}

// TestKilledWhileStagesEnd kills the shop at each of those instants and starts it again: every reminder, alert and completion is
// had once, and every order that waits is re-timed once.
func TestKilledWhileStagesEnd(t *testing.T) {
	t.Parallel()
	program := breakable(t)
	redis := testserver.StartRedis(t)
	for _, point := range stageBreaks {
		t.Run(point+"/servers", func(t *testing.T) {
			t.Parallel()
			testStageBreak(t, program, point, parts{dsn: testserver.MySQL(t), addrs: redis.Addr()})
		})
		if !embedded.MatchString(point) || !strings.HasPrefix(point, "stage.") { // the lease of a re-timing is waited for once
			continue
		}
		t.Run(point+"/embedded", func(t *testing.T) {
			t.Parallel()
			testStageBreak(t, program, point, parts{})
		})
	}
}

func testStageBreak(t *testing.T, program, point string, p parts) {
	const stock, toPay, stage = 50, 10 * time.Minute, 1500 * time.Millisecond
	b := breakAt(t, program, point, p)
	g, ann := b.sell(stock, toPay), b.shopper("ann")
	for name, d := range map[string]time.Duration{"remind": toPay - stage, "ship": stage, "confirm": stage} {
		g.admin.call(201, "POST", "/api/admin/v1/timeout-policies", map[string]any{"stage": name, "duration_ms": d.Milliseconds()})
	}
	waiting := b.place(ann, g)
	b.awaitReason(g, waiting, "reminded to pay")

	bought := b.place(ann, g)
	b.confirm(b.pay(ann, bought), 1)
	b.awaitReason(g, bought, "not shipped in time")
	b.insist(g.admin, "POST", "/api/admin/v1/orders/"+bought+"/ship", map[string]any{"parcels": []any{map[string]any{"delivery": "virtual"}}}, 200)
	b.awaitReason(g, bought, "auto")

	opened := b.place(ann, g)
	b.awaitReason(g, opened, "reminded to pay")
	b.pay(ann, opened)
	b.retime(g, 2*toPay)
	// What comes after the last order is written may be what breaks the shop.
	eventually(t, recovery, "the failpoint breaks the shop", func() (bool, string) {
		b.revive()
		return b.deaths > 0, "it lives on"
	})
	for _, no := range []string{waiting, opened} {
		if o := b.history(g, no); o.PayDeadline.Sub(o.CreatedAt) != 2*toPay || o.count("deadline moved") != 1 || o.count("reminded to pay") != 1 {
			t.Errorf("order %s: %+v", no, o)
		}
	}
	var reasons []string
	for _, e := range b.history(g, bought).Events {
		reasons = append(reasons, e.To+": "+e.Reason)
	}
	if got := strings.Join(reasons, ", "); !regexp.MustCompile(`^pending_payment: placed, (pending_payment: reminded to pay, )?paid: paid, paid: not shipped in time, shipped: shipped, completed: auto$`).MatchString(got) {
		t.Errorf("order %s went through %s", bought, got)
	}
	b.exactlyOnce()
	g.wantStock(stock - 3)
}

// history is an order as the panel shows it.
type history struct {
	PayDeadline time.Time `json:"pay_deadline"`
	CreatedAt   time.Time `json:"created_at"`
	Events      []struct {
		To     string `json:"to"`
		Reason string `json:"reason"`
	} `json:"events"`
}

// count is how many of the events have a reason that begins so.
func (h history) count(reason string) (n int) {
	for _, e := range h.Events {
		if strings.HasPrefix(e.Reason, reason) {
			n++
		}
	}
	return n
}

func (b *broken) history(g *goods, no string) history {
	b.t.Helper()
	return as[history](g.admin, b.insist(g.admin, "GET", "/api/admin/v1/orders/"+no, nil, 200))
}

// awaitReason waits until an event of the order has the reason.
func (b *broken) awaitReason(g *goods, no, reason string) {
	b.t.Helper()
	eventually(b.t, 10*time.Second+recovery, fmt.Sprintf("order %s is %q", no, reason), func() (bool, string) {
		h := b.history(g, no)
		return h.count(reason) > 0, fmt.Sprint(h.Events)
	})
}

// retimeJob is how far a re-timing is.
type retimeJob struct {
	Status  string `json:"status"`
	Changed int64  `json:"changed"`
	Skipped int64  `json:"skipped"`
}

// retime changes the pay policy, asks for the orders that wait to follow and waits until they have.
func (b *broken) retime(g *goods, d time.Duration) {
	b.t.Helper()
	g.toPay(d)
	path := fmt.Sprintf("/api/admin/v1/timeout-policies/%d/retime", g.policy)
	b.insist(g.admin, "POST", path, nil, 202, 409) // 409 where the answer to the first was lost
	// The lease of a job whose replica was killed while it asked WeChat lasts 30 s.
	eventually(b.t, 30*time.Second+recovery, "the orders that wait are re-timed", func() (bool, string) {
		jobs := as[listOf[retimeJob]](g.admin, b.insist(g.admin, "GET", path, nil, 200)).List
		done := slices.IndexFunc(jobs, func(j retimeJob) bool { return j.Status == "done" })
		if done >= 0 && (jobs[done].Changed != 2 || jobs[done].Skipped != 0) {
			b.t.Errorf("jobs %+v, want 2 changed", jobs)
		}
		return done >= 0, fmt.Sprintf("%+v", jobs)
	})
}
