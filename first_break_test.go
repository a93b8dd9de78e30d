package main

import (
	"testing"

	"github.com/tidemall/tidemall/timeout/failpoint"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// firstBreaks are the instants at which the first start is killed while it makes the platform's administrator.
var firstBreaks = []string{"admin.written", "admin.shown", "admin.committed"}

// TestKilledAtTheFirstStart kills the first start at each of those instants. Whichever it is, the password shown last lets the
// administrator in.
func TestKilledAtTheFirstStart(t *testing.T) {
	t.Parallel()
	program := breakable(t)
	for _, point := range firstBreaks {
		t.Run(point+"/servers", func(t *testing.T) {
			t.Parallel()
			testFirstBreak(t, program, point, parts{dsn: testserver.MySQL(t), addrs: "none"})
		})
		t.Run(point+"/embedded", func(t *testing.T) {
			t.Parallel()
			testFirstBreak(t, program, point, parts{})
		})
	}
}

func testFirstBreak(t *testing.T, program, point string, p parts) {
	s := &shop{t: t, dir: t.TempDir(), parts: p, extra: []string{"TIDEMALL_ADMIN_PASSWORD="}, http: "127.0.0.1:0", wx: "127.0.0.1:0"}
	killed := startProgram(t, program, append(s.env(), failpoint.EnvPoint+"="+point), "serve")
	<-killed.ended
	if state := killed.cmd.ProcessState.String(); state != "signal: killed" {
		t.Fatalf("the first start: %s\n%s", state, killed.err.String())
	}
	s.start()
	before := printedPassword.FindAllStringSubmatch(killed.output(), -1)
	after := printedPassword.FindAllStringSubmatch(s.p.output(), -1)
	want := map[string][2]int{"admin.written": {0, 1}, "admin.shown": {1, 1}, "admin.committed": {1, 0}}[point]
	if len(before) != want[0] || len(after) != want[1] {
		t.Fatalf("shown %q, then %q", before, after)
	}
	shown := append(before, after...)
	last := shown[len(shown)-1]
	s.shopper("").call(200, "POST", "/api/admin/v1/auth/login", map[string]any{"username": last[1], "password": last[2]})
}
