package testserver

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// run calls WithServers and returns its exit code and output.
func run(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = WithServers(args, nil, &out, &errs)
	return code, out.String(), errs.String()
}

func TestWithServers_SetsTheVariablesAndStopsTheServers(t *testing.T) {
	for _, name := range []string{"mariadbd", "redis-server"} {
		if _, err := findProgram(name); err != nil {
			t.Skip(err)
		}
	}
	t.Setenv(EnvMySQL, "")
	t.Setenv(EnvRedis, "")
	code, out, errs := run("-redis", "--", "sh", "-c", "echo $"+EnvMySQL+"; echo $"+EnvRedis)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	dsn, addr, _ := strings.Cut(strings.TrimSpace(out), "\n")
	if !strings.HasPrefix(dsn, "root@tcp(127.0.0.1:") || !strings.HasPrefix(addr, "127.0.0.1:") {
		t.Fatalf("variables were %q and %q", dsn, addr)
	}
	if _, err := redisDo(addr, "PING"); err == nil {
		t.Error("the Redis still runs")
	}
	if err := open(t, dsn).Ping(); err == nil {
		t.Error("the MySQL still runs")
	}
}

func TestWithServers_LeavesNamedServersAlone(t *testing.T) {
	t.Setenv(EnvMySQL, "root@tcp(192.0.2.1:1)/")
	t.Setenv(EnvRedis, "192.0.2.1:2")
	code, out, errs := run("-redis", "--", "sh", "-c", "echo $"+EnvMySQL+" $"+EnvRedis)
	if code != 0 || out != "root@tcp(192.0.2.1:1)/ 192.0.2.1:2\n" {
		t.Errorf("exit %d, variables %q: %s", code, out, errs)
	}
}

func TestWithServers_SaysWhatItCouldNotStart(t *testing.T) {
	t.Setenv(EnvMySQL, "")
	t.Setenv(EnvRedis, "")
	t.Setenv("PATH", t.TempDir())
	old := systemDirs
	systemDirs = nil
	defer func() { systemDirs = old }()
	code, out, errs := run("--", "/bin/sh", "-c", "echo ran $"+EnvMySQL)
	if code != 0 || out != "ran\n" {
		t.Errorf("exit %d, output %q", code, out)
	}
	for _, want := range []string{"skipped: no mariadbd or mysqld", "skipped: no redis-server"} {
		if !strings.Contains(errs, want) {
			t.Errorf("stderr %q does not say %q", errs, want)
		}
	}
}

func TestWithServers_PassesTheExitCodeThrough(t *testing.T) {
	t.Setenv(EnvMySQL, "root@tcp(192.0.2.1:1)/")
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"--", "true"}, 0},
		{[]string{"--", "sh", "-c", "exit 3"}, 3},
		{[]string{"--", "sh", "-c", "kill -9 $$"}, 128 + 9},
		{[]string{"--", "no-such-program"}, 127},
		{[]string{"--", os.DevNull}, 126},
		{nil, 2},
		{[]string{"-no-such-flag"}, 2},
	} {
		if code, _, errs := run(c.args...); code != c.want {
			t.Errorf("%q: exit %d, want %d: %s", c.args, code, c.want, errs)
		}
	}
}

func TestRunPassingSignals(t *testing.T) {
	r, w := io.Pipe()
	signals := make(chan os.Signal, 1)
	cmd := exec.Command("sh", "-c", `trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done`)
	cmd.Stdout = w
	go func() {
		// Only after the trap is set does the signal mean exit 7.
		if _, err := r.Read(make([]byte, 16)); err == nil {
			signals <- syscall.SIGTERM
		}
	}()
	if code := runPassingSignals(cmd, signals, io.Discard); code != 7 {
		t.Errorf("exit %d, want the 7 of the command's own handler", code)
	}
}
