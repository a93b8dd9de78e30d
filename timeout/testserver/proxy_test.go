package testserver

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"
)

// echo serves lines back on loopback, and tells every line that reached it.
func echo(t *testing.T) (addr string, reached <-chan string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	lines := make(chan string, 1000)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for in := bufio.NewScanner(conn); in.Scan(); {
					lines <- in.Text()
					_, _ = io.WriteString(conn, in.Text()+"\n")
				}
			}()
		}
	}()
	return l.Addr().String(), lines
}

// ask sends one line over a connection of its own and returns what comes back.
func ask(t *testing.T, addr string) (answer string, took time.Duration, err error) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	began := time.Now()
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		t.Fatal(err)
	}
	answer, err = bufio.NewReader(conn).ReadString('\n')
	return answer, time.Since(began), err
}

func TestProxyDelaysAndResets(t *testing.T) {
	target, reached := echo(t)
	p := StartProxy(t, target)
	if got, _, err := ask(t, p.Addr()); got != "hello\n" || err != nil {
		t.Fatalf("through a sound network: %q, %v", got, err)
	}
	p.Disturb(80*time.Millisecond, 0)
	if got, took, err := ask(t, p.Addr()); got != "hello\n" || err != nil || took < 80*time.Millisecond {
		t.Errorf("with a latency of 80 ms: %q, %v after %v", got, err, took)
	}
	for range 2 {
		<-reached
	}

	p.Disturb(0, 1)
	const n = 40
	for range n {
		if got, _, err := ask(t, p.Addr()); err == nil {
			t.Fatalf("every request resets, and yet: %q", got)
		}
	}
	if p.Broken() != n {
		t.Errorf("%d resets are told, want %d", p.Broken(), n)
	}
	p.Disturb(0, 0)
	if got, _, err := ask(t, p.Addr()); got != "hello\n" || err != nil {
		t.Errorf("healed: %q, %v", got, err)
	}
	// Of those that were reset some have reached the server and some have not: 40 heads in a row are out of the question.
	if got := len(reached) - 1; got <= 0 || got >= n {
		t.Errorf("%d of %d reset requests reached the server, want about half", got, n)
	}
}
