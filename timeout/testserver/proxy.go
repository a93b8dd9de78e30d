package testserver

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy is a bad network between a client and a server: it stands on a port of its own
// in front of the server and passes everything on, late and not always.
type Proxy struct {
	listen net.Listener
	ctx    context.Context // ends with the test
	end    context.CancelFunc
	all    sync.WaitGroup

	mu      sync.Mutex
	target  string
	latency time.Duration
	resets  float64
	broken  int
}

// StartProxy starts a proxy in front of host:port that does no harm yet. It ends with
// the test.
func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("testserver: proxy: %v", err)
	}
	p := &Proxy{target: target, listen: listen}
	p.ctx, p.end = context.WithCancel(context.Background())
	p.all.Go(p.accept)
	t.Cleanup(func() {
		p.end()
		listen.Close()
		p.all.Wait()
	})
	return p
}

// Addr is host:port of the proxy.
func (p *Proxy) Addr() string { return p.listen.Addr().String() }

// Disturb delays every answer by the latency, and resets the connection at so many of 1
// requests: half of them do not reach the server, of the others the answer is lost. It
// counts for open connections too; zeros heal the network.
func (p *Proxy) Disturb(latency time.Duration, resets float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latency, p.resets = latency, resets
}

// Broken is how many connections were reset so far.
func (p *Proxy) Broken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}

// Point has connections from now on go to another server, as a name does that was moved.
// Open ones stay where they are.
func (p *Proxy) Point(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

func (p *Proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		p.all.Go(func() { p.serve(client.(*net.TCPConn)) })
	}
}

// link is one connection through the proxy.
type link struct {
	p              *Proxy
	client, server *net.TCPConn
	mute           *atomic.Bool // the next answer is lost, and the connection with it
}

func (p *Proxy) serve(client *net.TCPConn) {
	var d net.Dialer
	server, err := d.DialContext(p.ctx, "tcp", p.targetNow())
	if err != nil {
		reset(client)
		return
	}
	l := link{p, client, server.(*net.TCPConn), new(atomic.Bool)}
	unhook := context.AfterFunc(p.ctx, l.reset)
	defer unhook()
	answers := make(chan packet, 1024)
	var pumps sync.WaitGroup
	pumps.Go(l.requests)
	pumps.Go(func() { l.read(answers) })
	pumps.Go(func() { l.deliver(answers) })
	pumps.Wait()
	client.Close()
	server.Close()
}

// requests passes on what the client sends.
func (l link) requests() {
	buf := make([]byte, 64<<10)
	for {
		n, err := l.client.Read(buf)
		if n > 0 {
			if l.p.resetsNow() {
				if rand.IntN(2) == 0 {
					l.reset()
					return
				}
				l.mute.Store(true)
			}
			if _, err := l.server.Write(buf[:n]); err != nil {
				l.reset()
				return
			}
		}
		if err != nil {
			l.ended(err, l.server)
			return
		}
	}
}

// packet is a part of an answer and when it may arrive.
type packet struct {
	data []byte
	at   time.Time
}

func (l link) read(answers chan<- packet) {
	defer close(answers)
	for {
		buf := make([]byte, 64<<10)
		n, err := l.server.Read(buf)
		if n > 0 && l.mute.Load() {
			l.reset()
			return
		}
		if n > 0 {
			answers <- packet{buf[:n], time.Now().Add(l.p.latencyNow())}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				l.reset()
			}
			return
		}
	}
}

func (l link) deliver(answers <-chan packet) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	failed := false
	for a := range answers { // to the end, so that read never blocks
		wait.Reset(time.Until(a.at))
		select {
		case <-wait.C:
		case <-l.p.ctx.Done():
		}
		if _, err := l.client.Write(a.data); err != nil && !failed {
			failed = true
			l.reset()
		}
	}
	l.ended(io.EOF, l.client)
}

// ended passes on that one side has said all.
func (l link) ended(err error, other *net.TCPConn) {
	if errors.Is(err, io.EOF) {
		_ = other.CloseWrite()
		return
	}
	l.reset()
}

func (l link) reset() {
	reset(l.client)
	reset(l.server)
}

// reset ends a connection with an RST instead of a FIN.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

func (p *Proxy) resetsNow() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resets == 0 || rand.Float64() >= p.resets {
		return false
	}
	p.broken++
	return true
}

func (p *Proxy) targetNow() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target
}

func (p *Proxy) latencyNow() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.latency
}
