package main

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	measured "github.com/tidemall/tidemall/timeout/load"
)

// TestBench_PrintsOneObject runs the load test beside a shop that is served by the same servers, and looks at what it says.
func TestBench_PrintsOneObject(t *testing.T) {
	onBoth(t, func(t *testing.T, p parts) {
		s := newShop(t, p)
		code, out, errs := runToEnd(t, s.env(), "bench", "timeout", "--json", "--count", "200", "--over", "200ms")
		var r measured.Report
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 {
			t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
		}
		if r.Count != 200 || r.OverMS != 200 || r.Callers != 16 || r.Missed != 0 || r.Early != 0 {
			t.Errorf("%s", out)
		}
		s.audit()
	})
}

// TestBench_CtrlCCleansUp interrupts the program while deadlines are due, as a person does.
func TestBench_CtrlCCleansUp(t *testing.T) {
	onBoth(t, func(t *testing.T, p parts) {
		dir := t.TempDir()
		code, said := interrupted(t, "acted on", append(p.env(), "TIDEMALL_DATA_DIR="+dir), "bench", "timeout", "--count", "600", "--over", "10m")
		if code != 1 || !strings.Contains(said, "removed") {
			t.Errorf("exit %d, saying\n%s", code, said)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left in data_dir: %v, %v", left, err)
		}
		if p.mysql != nil {
			noBenchDatabase(t, p.mysql.DSN())
		}
	})
}

// interrupted runs the program until standard error has the text, sends Ctrl-C, and returns how it ended and what it said.
func interrupted(t *testing.T, at string, env []string, args ...string) (code int, said string) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = t.TempDir(), append(bareEnv(), env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(90*time.Second, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	var all strings.Builder
	sent := false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		spoken.Hear([]byte(lines.Text() + "\n"))
		if !sent && strings.Contains(lines.Text(), at) {
			sent = true
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // the exit code says it
	return cmd.ProcessState.ExitCode(), all.String()
}

func noBenchDatabase(t *testing.T, dsn string) {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name LIKE 'tidemall\\_bench%'").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d databases are left, %v", n, err)
	}
}

// TestBench_WrongUse names what is wrong.
func TestBench_WrongUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, 2, "tidemall bench"},
		{[]string{"orders"}, 2, "timeout"},
		{[]string{"timeout", "--count", "-1"}, 2, "--count"},
		{[]string{"timeout", "--close", "--handler-ms", "5"}, 2, "--close"},
		{[]string{"timeout", "--help"}, 0, "database of its own"},
	} {
		if code, out, errs := runToEnd(t, nil, append([]string{"bench"}, c.args...)...); code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("bench %v: exit %d, %q; want %d and %q", c.args, code, out+errs, c.code, c.says)
		}
	}
}
