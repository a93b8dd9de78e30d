package sandbox

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// chaosPlan says how often what goes wrong. Rates are shares of 1; those of one group add up to 1 at most.
type chaosPlan struct {
	Seed      int64              `json:"seed"`
	Path      string             `json:"path,omitempty"` // of the calls that fail, as in a fault; empty: every call
	Calls     map[string]float64 `json:"calls,omitempty"`
	DelayMS   int64              `json:"delay_ms"` // the longest that a call without an answer, or a late one, is held
	Callbacks map[string]float64 `json:"callbacks,omitempty"`
	LateMS    int64              `json:"late_ms"` // the latest that a callback is
	Refunds   map[string]float64 `json:"refunds,omitempty"`
	RefundMS  int64              `json:"refund_ms"` // the longest that a refund takes longer
	Tokens    map[string]float64 `json:"tokens,omitempty"`

	fits func(path string) bool
}

// chaosModes explains what there is in each group; the text is part of the answer to a wrong name.
var chaosModes = map[string]map[string]string{
	"calls": {
		"timeout": faultModes["timeout"], "timeout_after": faultModes["timeout_after"], "reset": faultModes["reset"],
		"status": "500, 502, 503 or 429", "html": faultModes["html"], "empty": faultModes["empty"],
		"bad_signature": faultModes["bad_signature"], "delay": faultModes["delay"],
	},
	"callbacks": {
		"lost": "never sent", "late": "sent up to late_ms late", "twice": "sent twice",
		"reordered": "sent when another one to the same address was, or after late_ms",
	},
	"refunds": {
		"slow": "up to refund_ms longer", "abnormal": "ABNORMAL first, SUCCESS up to refund_ms later; that callback is never lost",
		"not_enough": "refused for lack of balance one to three times", "frequency": "the first call is refused as one too often",
	},
	"tokens": {"expire": "the access token ends with this call"},
}

// chaos makes things go wrong at random. What happens to a call is a function of the seed and of what call it is: the
// how-manieth of its interface about its number. Numbers are told apart by their place in their shopper's row, which a
// second run repeats, not by their random digits.
type chaos struct {
	mu      sync.Mutex
	plan    *chaosPlan        // nil: all is well
	ended   chan struct{}     // closed when the plan is over
	times   map[string]int    // how often a thing was decided about
	names   map[string]string // what numbers are called here
	decided int               // callbacks
	waiting []waiter
	did     map[string]int // by group and mode
}

// begin ends what there was and starts anew; a nil plan ends it.
func (c *chaos) begin(p *chaosPlan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plan != nil {
		close(c.ended)
	}
	c.plan = p
	if p == nil {
		return
	}
	c.ended, c.times, c.names = make(chan struct{}), map[string]int{}, map[string]string{}
	c.waiting, c.did = nil, map[string]int{}
}

// report is the plan, nil while there is none, and what has been done of it, or of the one before.
func (c *chaos) report() (*chaosPlan, map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.plan, maps.Clone(c.did)
}

// roll is a number from 0 to 1 that depends on the seed and the words alone.
func (p *chaosPlan) roll(words ...string) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s", p.Seed, strings.Join(words, "\x00")))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
}

// span is a length of up to most milliseconds, one at least.
func (p *chaosPlan) span(most int64, words ...string) time.Duration {
	return time.Duration(1+int64(p.roll(append(words, "span")...)*float64(most))) * time.Millisecond
}

// pick takes the mode that the words fall on; "" is none of them.
func (p *chaosPlan) pick(rates map[string]float64, words ...string) string {
	x := p.roll(words...)
	for _, mode := range slices.Sorted(maps.Keys(rates)) {
		if x < rates[mode] {
			return mode
		}
		x -= rates[mode]
	}
	return ""
}

// nth counts the times that a thing comes up, from 0.
func (c *chaos) nth(thing string) int {
	n := c.times[thing]
	c.times[thing]++
	return n
}

// name is what a thing is called that belongs to an owner: the owner's first, second, … of its kind.
func (c *chaos) name(id, owner, kind string) string {
	if id == "" {
		return owner
	}
	if c.names[id] == "" {
		c.names[id] = fmt.Sprintf("%s/%s%d", owner, kind, c.nth("name\x00"+owner+"\x00"+kind)+1)
	}
	return c.names[id]
}

// note counts what was done. Callers hold the lock.
func (c *chaos) note(group, mode string) string {
	if mode == "" {
		mode = "none"
	}
	c.did[group+"."+mode]++
	return mode
}

// subject is the name of what a call or a callback is about.
func (c *chaos) subject(a about) string {
	return c.name(a.refund, c.name(a.number, a.owner, "number"), "refund")
}

// chaosFault is what goes wrong with a call, or nil. It also ends access tokens.
func (s *Server) chaosFault(e endpoint, r *http.Request, body []byte) *fault {
	f, expire := s.chaos.fault(e, r, s.aboutCall(r, body))
	if expire {
		s.endTokens()
	}
	return f
}

func (c *chaos) fault(e endpoint, r *http.Request, a about) (f *fault, expire bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plan == nil {
		return nil, false
	}
	subject := c.subject(a)
	call := []string{r.Method, e.path, subject, strconv.Itoa(c.nth(r.Method + "\x00" + e.path + "\x00" + subject))}
	if r.URL.Query().Has("access_token") && c.plan.pick(c.plan.Tokens, append(call, "token")...) != "" {
		expire = true
		c.note("tokens", "expire")
	}
	f = c.refusedRefund(e, r, subject)
	if f == nil && c.plan.fits(r.URL.Path) {
		mode := c.plan.pick(c.plan.Calls, call...)
		f = c.plan.fault(mode, call)
		c.note("calls", mode)
	}
	return f, expire
}

// chaosStatus are the errors of mode "status".
var chaosStatus = []int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusTooManyRequests}

func (p *chaosPlan) fault(mode string, call []string) *fault {
	if mode == "" {
		return nil
	}
	f := &fault{Mode: mode}
	switch mode {
	case "timeout", "timeout_after", "delay":
		f.DelayMS = p.span(p.DelayMS, call...).Milliseconds()
	case "status":
		f.Status = chaosStatus[int(p.roll(append(call, "status")...)*float64(len(chaosStatus)))]
	}
	return f
}

// refusedRefund is the refusal that a refund meets at first, or nil.
func (c *chaos) refusedRefund(e endpoint, r *http.Request, subject string) *fault {
	if e.path != refundPath || r.Method != http.MethodPost {
		return nil
	}
	mode, code, most := c.plan.pick(c.plan.Refunds, "refund", subject), "", 1
	switch mode {
	case "not_enough":
		code, most = "NOT_ENOUGH", 1+int(3*c.plan.roll("refund", subject, "times"))
	case "frequency":
		code = "FREQUENCY_LIMITED"
	}
	if code == "" || c.nth("refused\x00"+subject) >= most {
		return nil
	}
	c.note("refunds", mode)
	return &fault{Mode: "code", Code: encode(code)}
}

// refund is how much longer a refund takes, and whether it is ABNORMAL for as long again before it succeeds. early
// is closed when the chaos is over: nothing is held any more then. It may be nil.
func (c *chaos) refund(a about) (longer time.Duration, abnormal bool, early <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plan == nil {
		return 0, false, nil
	}
	subject := c.subject(a)
	mode := c.plan.pick(c.plan.Refunds, "refund", subject)
	if mode != "slow" && mode != "abnormal" {
		return 0, false, nil
	}
	c.note("refunds", mode)
	return c.plan.span(c.plan.RefundMS, "refund", subject), mode == "abnormal", c.ended
}

// hold says what happens to a callback before it is sent.
type hold struct {
	seq           int
	copies        int           // 0: it is lost
	late          time.Duration // at most
	early, passed <-chan struct{}
}

// callback decides about a callback.
func (c *chaos) callback(n *notice, a about) hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := hold{copies: n.Copies}
	if c.plan == nil {
		return h
	}
	c.decided++
	h.seq = c.decided
	subject := c.subject(a)
	what := []string{"callback", n.Event.Type, subject, strconv.Itoa(c.nth("callback\x00" + n.Event.Type + "\x00" + subject))}
	mode := c.plan.pick(c.plan.Callbacks, what...)
	if mode == "lost" && n.Event.Type == "REFUND.SUCCESS" && c.plan.pick(c.plan.Refunds, "refund", subject) == "abnormal" {
		mode = ""
	}
	switch c.note("callbacks", mode) {
	case "lost":
		h.copies = 0
	case "twice":
		h.copies++
	case "late":
		h.late, h.early = c.plan.span(c.plan.LateMS, what...), c.ended
	case "reordered":
		passed := make(chan struct{})
		c.waiting = append(c.waiting, waiter{n.URL, h.seq, passed})
		h.late, h.early, h.passed = time.Duration(c.plan.LateMS)*time.Millisecond, c.ended, passed
	}
	return h
}

// waiter is a callback that waits until a later one to the same address was sent.
type waiter struct {
	url    string
	seq    int
	passed chan struct{}
}

// sent lets those go that waited for this one.
func (c *chaos) sent(url string, seq int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(w waiter) bool {
		mine := w.url == url && w.seq < seq
		if mine {
			close(w.passed)
		}
		return mine
	})
}

// held waits for d, or until one of the channels is closed; false when the sandbox stops meanwhile.
func (s *Server) held(d time.Duration, early, passed <-chan struct{}) bool {
	if d <= 0 {
		return s.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-early:
	case <-passed:
	case <-s.ctx.Done():
	}
	return s.ctx.Err() == nil
}

// decide has the chaos decide about a callback and writes down how often it is sent.
func (s *Server) decide(n *notice) hold {
	h := s.chaos.callback(n, s.aboutNotice(n))
	if h.copies == n.Copies {
		return h
	}
	err := s.books.change(func() {
		n.Copies, n.GaveUp = h.copies, h.copies == 0
		s.books.save("notice", n.ID, n)
	})
	if err != nil {
		s.log.Error("the sandbox cannot write its books", "err", err)
	}
	return h
}

// endTokens ends the stable access token and the one before it.
func (s *Server) endTokens() {
	err := s.books.change(func() {
		s.books.tokens.Stable, s.books.tokens.Former = tokenLife{}, tokenLife{}
		s.books.save("tokens", "", s.books.tokens)
	})
	if err != nil {
		s.log.Error("the sandbox cannot write its books", "err", err)
	}
}
