package testserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startLimit = 60 * time.Second // a cold machine reads the whole program from disk first
	stopLimit  = 30 * time.Second
)

// process is one server program with a directory and a port.
type process struct {
	name  string
	dir   string // everything the server writes; removed by the guard
	guard *guard
	port  int

	command func(p *process) []string // the command line for the present port
	ready   func(p *process) error    // nil when this very server answers
	url     func(p *process, db string) string

	mu      sync.Mutex
	cmd     *exec.Cmd // nil while the server does not run
	alive   *os.File  // reads EOF when the server has ended
	started bool      // it answered once, so its port must not change
}

// newProcess makes the directory of a server and the guard that removes it. fill, which
// may be nil, prepares the directory.
func newProcess(name string, fill func(dir string) error) (*process, error) {
	// Not t.TempDir: a socket's path may have 107 bytes at most, and a test's name is long.
	dir, err := os.MkdirTemp(roomInMemory(), "testserver-")
	if err != nil {
		return nil, err
	}
	g, err := startGuard(dir)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	if fill != nil {
		if err := fill(dir); err != nil {
			g.release()
			return nil, err
		}
	}
	return &process{name: name, dir: dir, guard: g}, nil
}

func (p *process) addr() string         { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }
func (p *process) dsn(db string) string { return p.url(p, db) }
func (p *process) pidFile() string      { return filepath.Join(p.dir, guardedPid) }
func (p *process) logFile() string      { return filepath.Join(p.dir, "log") }

func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// start runs the server and returns when it answers. Between choosing a port and
// listening on it another program may take the port: then another port is tried, or,
// once the port has been told to somebody, the same one again.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		return nil
	}
	var err error
	for range 10 {
		if !p.started {
			if p.port, err = sparePort(); err != nil {
				return err
			}
		}
		if err = p.run(); err == nil {
			p.started = true
			return nil
		}
		if !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

var errPortTaken = errors.New("the port is taken")

// run starts the program once and waits until it answers or has ended.
func (p *process) run() error {
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	alive, held, err := os.Pipe()
	if err != nil {
		return err
	}
	defer held.Close()

	// The shell writes its own process id and becomes the server, so the guard knows the
	// process from its first moment on, however early this one is killed.
	args := append([]string{"-c", `echo $$ >"$0" && exec "$@"`, p.pidFile()}, p.command(p)...)
	cmd := exec.Command("/bin/sh", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	cmd.ExtraFiles = []*os.File{held}
	// A process group of its own keeps the terminal's Ctrl-C for the test alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		alive.Close()
		return err
	}
	held.Close()
	p.cmd, p.alive = cmd, alive
	if err := p.awaitReady(); err != nil {
		err = errors.Join(err, p.end(syscall.SIGKILL))
		out := p.tail()
		if bytes.Contains(out, []byte("ddress already in use")) {
			return errPortTaken
		}
		return fmt.Errorf("%s: %w\n%s", p.name, err, out)
	}
	return nil
}

// awaitReady asks the server until it answers, pausing a little between; a server that
// ends in the meantime is noticed at once.
func (p *process) awaitReady() error {
	for limit := time.Now().Add(startLimit); ; {
		err := p.ready(p)
		if err == nil {
			return nil
		}
		if p.endedWithin(5 * time.Millisecond) {
			return errors.New("it ended while starting")
		}
		if time.Now().After(limit) {
			return fmt.Errorf("no answer after %v: %w", startLimit, err)
		}
	}
}

// endedWithin waits up to d for the end of the server. Only the server holds the other
// end of the pipe, so its end is an EOF here.
func (p *process) endedWithin(d time.Duration) bool {
	if err := p.alive.SetReadDeadline(time.Now().Add(d)); err != nil {
		return false
	}
	_, err := p.alive.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

func (p *process) kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end(syscall.SIGKILL)
}

func (p *process) stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return nil
	}
	// A stopped process does not see SIGTERM.
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.end(syscall.SIGTERM)
}

// end signals the server and waits until it is gone; one that does not go is killed and
// reported. The caller holds mu.
func (p *process) end(sig syscall.Signal) error {
	if p.cmd == nil {
		return nil
	}
	cmd, alive := p.cmd, p.alive
	p.cmd, p.alive = nil, nil
	defer alive.Close()

	err := cmd.Process.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	timer := time.AfterFunc(stopLimit, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // the way it ended is what we asked for
	if !timer.Stop() {
		err = fmt.Errorf("had to be killed after %v", stopLimit)
	}
	// The number may soon belong to another process, which the guard must not kill.
	return errors.Join(err, os.Remove(p.pidFile()))
}

func (p *process) pause() error  { return p.signal(syscall.SIGSTOP) }
func (p *process) resume() error { return p.signal(syscall.SIGCONT) }

func (p *process) signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return errors.New("it does not run")
	}
	return p.cmd.Process.Signal(sig)
}

// close ends the server and removes its directory.
func (p *process) close() {
	_ = p.kill()
	p.guard.release()
}

// tail is the end of the server's log, for error messages.
func (p *process) tail() []byte {
	out, err := os.ReadFile(p.logFile())
	if err != nil {
		return []byte(err.Error())
	}
	return out[max(0, len(out)-4000):]
}

// sparePort finds a port that nobody listens on now. It stays below 55,536, because a
// Redis of a cluster listens on its port + 10,000 as well.
func sparePort() (int, error) {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if port < 55_536 {
			return port, nil
		}
	}
	return 0, errors.New("no spare port below 55536")
}

// systemDirs are where servers are installed that only root's PATH leads to.
var systemDirs = []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec"}

// findProgram returns the path of the first of names that is installed.
func findProgram(names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		for _, dir := range systemDirs {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("no %s: %w", strings.Join(names, " or "), errMissing)
}
