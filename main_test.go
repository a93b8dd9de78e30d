package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidemall/tidemall/service/telemetry/leaktest"
	"github.com/tidemall/tidemall/timeout/stall"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// These tests run the program as people do: the real binary, its own processes, killed and started again. What they know of it is
// what it answers.

// binary is the program under test, built once for all tests.
var binary string

// password is the platform administrator's in every shop of these tests.
const password = "pass-for-process-tests"

func TestMain(m *testing.M) {
	flag.Parse()
	if !flagGiven("test.parallel") {
		_ = flag.Set("test.parallel", "8") // they wait for deadlines most of the time
	}
	machine = stall.Start()
	code := build(m.Run)
	machine.Stop()
	os.Exit(code)
}

// machine knows when the machine stood still.
var machine *stall.Watch

// lateness is how long one instant comes after another, but for the time that the machine stood still meanwhile: a bound on it means
// the program. It is negative where the instant comes before.
func lateness(after, at time.Time) time.Duration {
	late := at.Sub(after)
	return min(late, max(0, late-machine.Between(after, at)))
}

func flagGiven(name string) (given bool) {
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// build makes the binary in a temporary directory that lives as long as the tests.
func build(tests func() int) int {
	dir, err := os.MkdirTemp("", "tidemall-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "tidemall")
	if err := goBuild(binary, "noui"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	spoken.Knows("the administrator's password", password)
	spoken.Knows("an owner's password", townPassword)
	code := tests()
	for _, leak := range spoken.Leaks() {
		fmt.Fprintln(os.Stderr, "FAIL: a process wrote", leak)
		code = max(code, 1)
	}
	return code
}

// spoken is what all processes of these tests wrote. When they have ended it is searched for what no log may hold.
var spoken leaktest.Ear

// learn reads the secrets of a process' data directory, before it is removed: the simulated WeChat's and the installation's own.
func learn(env []string) {
	for _, v := range env {
		dir, ok := strings.CutPrefix(v, "TIDEMALL_DATA_DIR=")
		if !ok {
			continue
		}
		if raw, err := os.ReadFile(filepath.Join(dir, "sandbox", "keys.json")); err == nil {
			_ = spoken.KnowsAll(raw, leaktest.PublicNames...)
		}
		if raw, err := os.ReadFile(filepath.Join(dir, "secret")); err == nil {
			spoken.Knows("the installation's secret", string(raw))
		}
	}
}

func goBuild(program, tags string) error {
	out, err := exec.Command("go", "build", "-buildvcs=false", "-tags", tags, "-o", program, ".").CombinedOutput()
	if err != nil {
		return fmt.Errorf("building the program with tags %s: %w\n%s", tags, err, out)
	}
	return nil
}

// breakable returns the program with failpoints in it.
func breakable(t *testing.T) string {
	t.Helper()
	program, err := buildBreakable()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

var buildBreakable = sync.OnceValues(func() (string, error) {
	program := binary + "-breakable"
	return program, goBuild(program, "noui failpoint")
})

// parts are what a shop stands on.
type parts struct {
	mysql, redis *testserver.Server // nil where embedded, or shared with other tests
	dsn, addrs   string             // of MySQL and Redis; empty where embedded, or named by the servers above
}

func (p parts) env() []string {
	if p.mysql != nil {
		p.dsn = cmp.Or(p.dsn, p.mysql.DSN())
	}
	if p.redis != nil {
		p.addrs = cmp.Or(p.addrs, p.redis.Addr())
	}
	var env []string
	if p.dsn != "" {
		env = append(env, "TIDEMALL_MYSQL_DSN="+p.dsn)
	}
	if p.addrs != "" {
		env = append(env, "TIDEMALL_REDIS_ADDRS="+p.addrs)
	}
	return env
}

// realParts starts a MySQL that keeps its commits and a Redis that keeps nothing.
func realParts(t *testing.T) parts {
	return parts{mysql: testserver.StartMySQL(t), redis: testserver.StartRedis(t)}
}

// onBoth runs a test on the embedded parts and on real servers.
func onBoth(t *testing.T, test func(t *testing.T, p parts)) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) { t.Parallel(); test(t, parts{}) })
	t.Run("servers", func(t *testing.T) { t.Parallel(); test(t, realParts(t)) })
}

// shop is a served shop: a data directory, the parts and a process that can be killed and started again at the same addresses.
type shop struct {
	t       *testing.T
	program string // the binary, if not the usual one
	dir     string
	parts   parts
	extra   []string // variables beside the usual
	p       *process
	http    string // host:port once known
	wx      string // the simulator's host:port once known
}

// newShop serves an empty shop with variables of its own.
func newShop(t *testing.T, p parts, extra ...string) *shop {
	t.Helper()
	s := &shop{t: t, dir: t.TempDir(), parts: p, extra: extra, http: "127.0.0.1:0", wx: "127.0.0.1:0"}
	s.start()
	return s
}

func (s *shop) env() []string {
	env := append([]string{
		"TIDEMALL_DATA_DIR=" + s.dir, "TIDEMALL_HTTP_ADDR=" + s.http, "TIDEMALL_ADMIN_PASSWORD=" + password, "TIDEMALL_DEMO=false", "TIDEMALL_LOG_LEVEL=warn",
	}, s.parts.env()...)
	if !strings.Contains(strings.Join(s.extra, "\n"), "TIDEMALL_WECHAT_SANDBOX_URL") {
		env = append(env, "TIDEMALL_WECHAT_SANDBOX_ADDR="+s.wx)
	}
	return append(env, s.extra...)
}

var (
	servesAt    = regexp.MustCompile(`serves at http://(\S+)`)
	simulatedAt = regexp.MustCompile(`simulated at http://(\S+)`)
)

// start serves the shop and returns once it says where.
func (s *shop) start() {
	s.t.Helper()
	s.p = startProgram(s.t, cmp.Or(s.program, binary), s.env(), "serve")
	s.http = s.p.says(servesAt)
	if found := simulatedAt.FindStringSubmatch(s.p.output()); found != nil {
		s.wx = found[1]
	} else {
		s.wx = s.p.says(simulatedAt)
	}
	s.shopper("").awaitReady("ok", "degraded")
}

func (s *shop) url() string     { return "http://" + s.http }
func (s *shop) sandbox() string { return "http://" + s.wx }

// process is a running program of ours.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	ended chan struct{} // closed once it has ended and been waited for

	mu  sync.Mutex
	out bytes.Buffer
	err tail
}

// guardScript kills the process $1 when its standard input ends, which it does with the tests' process, however that ends.
const guardScript = `trap '' HUP INT QUIT TERM; read -r _; kill -9 "$1"`

// start runs the program. It is killed when the test ends.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	return startProgram(t, binary, env, args...)
}

func startProgram(t *testing.T, program string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(program, args...), ended: make(chan struct{})}
	errs, out := spoken.Voice(), spoken.Voice()
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = t.TempDir(), append(bareEnv(), env...), io.MultiWriter(&p.err, errs)
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	guard := exec.Command("/bin/sh", "-c", guardScript, "guard", strconv.Itoa(p.cmd.Process.Pid))
	hold, err := guard.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.Start(); err != nil {
		t.Fatal(err)
	}
	go p.read(io.TeeReader(stdout, out))
	t.Cleanup(func() {
		p.kill()
		errs.End()
		out.End()
		learn(env)
		_ = guard.Process.Kill() // before its input ends: the number may be another process's by now
		_ = guard.Wait()
		_ = hold.Close()
		if t.Failed() {
			t.Logf("the end of the program's log:\n%s", p.err.String())
		}
	})
	return p
}

// bareEnv is the environment without settings of ours.
func bareEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TIDEMALL_") {
			env = append(env, v)
		}
	}
	return env
}

func (p *process) read(stdout io.Reader) {
	scanner := bufio.NewScanner(stdout)
	for scanner.Scan() {
		p.mu.Lock()
		p.out.WriteString(scanner.Text() + "\n")
		p.mu.Unlock()
	}
	_ = p.cmd.Wait()
	close(p.ended)
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// says waits for a line of standard output and returns the first group of the pattern.
func (p *process) says(pattern *regexp.Regexp) (found string) {
	p.t.Helper()
	eventually(p.t, 60*time.Second, "the program says "+pattern.String(), func() (bool, string) {
		ended := p.hasEnded() // before the look: what it said is complete then
		said := pattern.FindStringSubmatch(p.output())
		if said == nil && ended {
			p.t.Fatalf("the program ended with %d before it said %s:\n%s%s", p.cmd.ProcessState.ExitCode(), pattern, p.output(), p.err.String())
		}
		if said != nil {
			found = said[1]
		}
		return said != nil, "silent:\n" + p.output() + p.err.String()
	})
	return found
}

// hasEnded reports whether the process has ended and been waited for.
func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// terminate sends SIGTERM and returns the exit code and how long the end took.
func (p *process) terminate(within time.Duration) (code int, took time.Duration) {
	p.t.Helper()
	begin := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	eventually(p.t, within, "the program ends after SIGTERM", func() (bool, string) { return p.hasEnded(), "running" })
	return p.cmd.ProcessState.ExitCode(), time.Since(begin)
}

// runToEnd runs the program and returns what it said.
func runToEnd(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = t.TempDir(), append(bareEnv(), env...), &out, &errs
	timer := time.AfterFunc(60*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Run()
	for _, said := range []*bytes.Buffer{&out, &errs} {
		v := spoken.Voice()
		_, _ = v.Write(said.Bytes())
		v.End()
	}
	learn(env)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// audit checks every invariant with the program's own command and fails the test if one is broken. It works beside a running
// shop, and after one that was killed.
func (s *shop) audit() {
	s.t.Helper()
	code, out, errs := runToEnd(s.t, s.env(), "audit", "--json")
	var report struct {
		OK     bool `json:"ok"`
		Checks []struct {
			ID         string   `json:"id"`
			Violations int64    `json:"violations"`
			Examples   []string `json:"examples"`
		} `json:"checks"`
	}
	dec := json.NewDecoder(strings.NewReader(out))
	if err := dec.Decode(&report); err != nil {
		s.t.Fatalf("audit: %v in %q\n%s", err, out, errs)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		s.t.Errorf("audit says more than one object: %q", out)
	}
	if code != 0 || !report.OK || len(report.Checks) != 12 {
		s.t.Errorf("audit: exit %d, %s%s", code, out, errs)
	}
}

// tail keeps the end of what is written.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 16 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if extra := len(t.buf) - tailSize; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
