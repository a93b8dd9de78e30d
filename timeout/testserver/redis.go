package testserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// launchRedis starts a redis-server that keeps nothing on disk unless args say so.
func launchRedis(args ...string) (*process, error) {
	program, err := findProgram("redis-server")
	if err != nil {
		return nil, err
	}
	p, err := newProcess("redis-server", nil)
	if err != nil {
		return nil, err
	}
	p.command = func(p *process) []string {
		return append([]string{
			program,
			"--port", strconv.Itoa(p.port),
			"--bind", "127.0.0.1",
			"--dir", p.dir,
			"--save", "",
			"--appendonly", "no",
			"--daemonize", "no",
		}, args...)
	}
	p.ready = redisReady
	p.url = func(p *process, _ string) string { return "redis://" + p.addr() }
	if err := p.start(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// redisReady asks for the process id, because another server may have been given the
// same port a moment before, and for the end of loading, which answers INFO already.
func redisReady(p *process) error {
	info, err := redisDo(p.addr(), "INFO")
	if err != nil {
		return err
	}
	if !strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", p.cmd.Process.Pid)) {
		return fmt.Errorf("another server listens on port %d", p.port)
	}
	if !strings.Contains(info, "\r\nloading:0\r\n") {
		return errors.New("still loading")
	}
	return nil
}

// redisDo sends one command, whose arguments have no spaces in them, over a connection
// of its own and returns the reply, which must be a status or a bulk string.
func redisDo(addr, command string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		return "", err
	}
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	switch line = strings.TrimRight(line, "\r\n"); {
	case strings.HasPrefix(line, "+"):
		return line[1:], nil
	case strings.HasPrefix(line, "$"):
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 {
			return "", fmt.Errorf("%s: reply %q", command, line)
		}
		body := make([]byte, n)
		_, err = io.ReadFull(r, body)
		return string(body), err
	default:
		return "", fmt.Errorf("%s: reply %q", command, line)
	}
}

// lockAddr waits until no other process of this machine uses the server at addr for
// tests, and keeps it until this process ends.
func lockAddr(addr string) error {
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == ':' {
			return '_'
		}
		return r
	}, addr)
	path := filepath.Join(os.TempDir(), "testserver-redis-"+name+".lock")
	// A bare descriptor, never closed: the lock goes when the kernel closes it with the
	// process, and an os.File would be closed by the collector.
	fd, err := syscall.Open(path, syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o666)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for {
		err := syscall.Flock(fd, syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
