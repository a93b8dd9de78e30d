package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/failpoint"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// breaks are the instants at which the shop is killed: every failpoint, some of them again at a later hit, which is another
// order's.
var breaks = []string{
	"place.written", "place.committed", "place.scheduled",
	"pay.begun", "pay.called", "pay.stored",
	"timeout.claimed", "timeout.handled", "timeout.acknowledged", "timeout.claimed:3", "timeout.handled:3",
	"due.written", "due.committed", "due.scheduled",
	"close.marked", "close.claimed", "close.queried", "close.unknown", "close.missing", "close.parked", "close.ended",
	"close.written", "close.committed", "close.claimed:3", "close.ended:3",
	"settle.written", "settle.committed", "settle.written:2", "settle.committed:2",
	"relay.leased", "relay.delivered", "relay.marked", "relay.leased:7", "relay.delivered:7",
}

// embedded are those at which the embedded shop is killed too: where it matters how the database and Redis came to lose what they
// lost.
var embedded = regexp.MustCompile(`^timeout\.[a-z]+$|\.(written|committed)$`)

// TestEveryFailpointIsBrokenAt fails for a failpoint at which no test kills the shop.
func TestEveryFailpointIsBrokenAt(t *testing.T) {
	tested := map[string]bool{}
	for _, b := range slices.Concat(breaks, stageBreaks, refundBreaks, shipBreaks, billBreaks, noticeBreaks, contentBreaks, aftersaleBreaks, jobBreaks, firstBreaks) {
		name, _, _ := strings.Cut(b, ":")
		tested[name] = true
	}
	found := failpointsOf(t, ".")
	if len(found) == 0 {
		t.Fatal("the sources have no failpoint: looked for wrongly")
	}
	for name, where := range found {
		if !tested[name] {
			t.Errorf("%s: no test breaks the shop at %s", where, name)
		}
		delete(tested, name)
	}
	for name := range tested {
		t.Errorf("no source has the failpoint %s", name)
	}
}

// failpointsOf finds the calls of failpoint.Hit in a tree of sources and returns the names with their places.
func failpointsOf(t *testing.T, root string) map[string]token.Position {
	t.Helper()
	found := map[string]token.Position{}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "tools" || strings.HasPrefix(d.Name(), ".") && path != root):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if name, at, ok := hitOf(n); ok {
				where := files.Position(at)
				if name == "" {
					t.Errorf("%s: the failpoint's name is no literal", where)
				} else if other, twice := found[name]; twice {
					t.Errorf("%s: the failpoint %s is at %s already", where, name, other)
				}
				found[name] = where
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// hitOf reads a call of failpoint.Hit; the name is empty if it is no literal.
func hitOf(n ast.Node) (name string, at token.Pos, ok bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return "", 0, false
	}
	callee, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || callee.Sel.Name != "Hit" {
		return "", 0, false
	}
	if pkg, isIdent := callee.X.(*ast.Ident); !isIdent || pkg.Name != "failpoint" {
		return "", 0, false
	}
	if literal, isLiteral := call.Args[0].(*ast.BasicLit); isLiteral {
		name, _ = strconv.Unquote(literal.Value)
	}
	return name, call.Pos(), true
}

// TestKilledAtEveryFailpoint kills the shop at each instant between placing an order and acknowledging its close, and starts it
// again. Orders that were never opened for payment, opened, opened with WeChat's answer or call lost, and paid with and without a
// callback, all end as they must, once.
// Cases T01, T12, T37.
func TestKilledAtEveryFailpoint(t *testing.T) {
	t.Parallel()
	program := breakable(t)
	redis := testserver.StartRedis(t)
	for _, point := range breaks {
		t.Run(point+"/servers", func(t *testing.T) {
			t.Parallel()
			testBreak(t, program, point, parts{dsn: testserver.MySQL(t), addrs: redis.Addr()})
		})
		if !embedded.MatchString(point) {
			continue
		}
		t.Run(point+"/embedded", func(t *testing.T) {
			t.Parallel()
			testBreak(t, program, point, parts{})
		})
	}
}

// restart is how long a shop may take to start again.
const restart = 5 * time.Second

func testBreak(t *testing.T, program, point string, p parts) {
	const stock, toPay = 50, 15 * time.Second
	b := breakAt(t, program, point, p)
	g, ann := b.sell(stock, time.Hour), b.shopper("ann")
	placing := strings.HasPrefix(point, "place.")
	if placing { // what is placed then has to be due by itself; a restart lies before it is opened
		g.toPay(toPay)
	}

	ends := map[string]string{} // the order's last state, by number
	unpaid := []string{b.place(ann, g), b.place(ann, g)}
	opened, lost, paid, unnoticed := b.place(ann, g), b.place(ann, g), b.place(ann, g), b.place(ann, g)
	for _, no := range append(unpaid, opened, lost) {
		ends[no] = "closed"
	}
	ends[paid], ends[unnoticed] = "paid", "paid"
	b.confirm(b.pay(ann, paid), 1)
	b.confirm(b.pay(ann, unnoticed), 0)
	b.pay(ann, opened)
	b.fault("/v3/pay/transactions/jsapi", "reset", map[string]any{"count": 1})
	b.insist(ann, "POST", "/api/v1/orders/"+lost+"/pay", nil, 200, 503)

	if !placing {
		b.fallDue(6*time.Second, append(unpaid, opened, lost, unnoticed)...)
	}
	// A claim of an attempted order keeps others out for 20 s.
	const within = toPay + claimLife + recovery
	for no, end := range ends {
		o := b.await(ann, no, end, within)
		if late := lateness(o.PayDeadline, o.ClosedAt); end == "closed" && (late < 0 || late > restart+claimLife+bound || slices.Contains(unpaid, no) && late > restart+lease+bound) {
			t.Errorf("order %s closed %v after its deadline", no, late)
		}
	}
	// What comes after the last order's end may be what breaks the shop.
	eventually(t, within, "the failpoint breaks the shop", func() (bool, string) {
		b.revive()
		return b.deaths > 0, "it lives on"
	})
	b.exactlyOnce()
	g.wantStock(stock - 2)
	for _, no := range slices.Sorted(maps.Keys(ends)) {
		g.wantEvents(no, "pending_payment", ends[no])
	}
}

// broken is a shop that is to break once, at the point.
type broken struct {
	shop

	point  string
	deaths int
}

// breakAt starts a shop of the program, with a simulated WeChat beside it that outlives it, which breaks once at the point.
func breakAt(t *testing.T, program, point string, p parts) *broken {
	t.Helper()
	b := &broken{point: point, shop: shop{
		t: t, program: program, dir: t.TempDir(), parts: p, http: "127.0.0.1:0",
		extra: []string{wechatAlone(t), failpoint.EnvPoint + "=" + point},
	}}
	b.start()
	return b
}

// revive starts the shop again, without the failpoint, if it has broken.
func (b *broken) revive() {
	b.t.Helper()
	if !b.p.hasEnded() {
		return
	}
	if state := b.p.cmd.ProcessState.String(); state != "signal: killed" || b.deaths > 0 {
		b.t.Fatalf("the shop that was to break at %s once: %s, for the %d. time\n%s", b.point, state, b.deaths+1, b.p.err.String())
	}
	b.deaths++
	b.program, b.extra = binary, b.extra[:1]
	b.start()
}

// insist makes a request until it is answered: one that the shop broke in is made again, as a phone would.
func (b *broken) insist(p person, method, path string, body any, statuses ...int) reply {
	b.t.Helper()
	key := newKey()
	for {
		r, err := p.try(method, path, body, "Idempotency-Key", key)
		if err == nil {
			if !slices.Contains(statuses, r.status) {
				b.t.Fatalf("%s %s: %d %s, want %v", method, path, r.status, r.text, statuses)
			}
			return r
		}
		eventually(b.t, 10*time.Second, fmt.Sprintf("the shop that broke %s %s has ended", method, path), func() (bool, string) {
			return b.p.hasEnded(), fmt.Sprintf("alive, the error was %v", err)
		})
		b.revive()
	}
}

func (b *broken) place(p person, g *goods) string {
	b.t.Helper()
	body := placement{basket{Items: []item{{SKUID: g.sku, Quantity: 1}}}, 9900}
	return as[order](p, b.insist(p, "POST", "/api/v1/orders", body, 201)).No
}

func (b *broken) pay(p person, no string) payParams {
	b.t.Helper()
	return as[payParams](p, b.insist(p, "POST", "/api/v1/orders/"+no+"/pay", nil, 200))
}

func (b *broken) await(p person, no, status string, within time.Duration) (o order) {
	b.t.Helper()
	eventually(b.t, within, "order "+no+" is "+status, func() (bool, string) {
		o = as[order](p, b.insist(p, "GET", "/api/v1/orders/"+no, nil, 200))
		return o.Status == status, fmt.Sprintf("%s (closing: %v)", o.Status, o.Closing)
	})
	return o
}
