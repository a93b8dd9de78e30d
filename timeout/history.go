package timeout

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Grains are the lengths of the periods by which lateness is remembered.
const (
	Minute      = time.Minute
	FiveMinutes = 5 * time.Minute
	Hour        = time.Hour
)

var grains = [...]time.Duration{Minute, FiveMinutes, Hour}

const (
	// The classes of lateness are a quarter of an octave wide, from 64 µs to
	// four and a half minutes, so that a percentile is at most a fifth off.
	classFirst  = 6
	classLast   = 28
	classesEach = 4
	classes     = (classLast-classFirst)*classesEach + 1
	// historyMost bounds the periods that wait to be stored.
	historyMost = 512
)

// Lateness is how late tasks were first handed over, counted by class.
type Lateness struct {
	// Fired counts first calls, Rescued the tasks only the sweep found.
	Fired   int64
	Rescued int64
	Max     time.Duration
	counts  [classes]int64
}

// classOf is the class whose upper bound is the first not below d.
func classOf(d time.Duration) int {
	us := float64(d) / float64(time.Microsecond)
	if us <= 1<<classFirst {
		return 0
	}
	return min(int(math.Ceil((math.Log2(us)-classFirst)*classesEach)), classes-1)
}

// boundOf is the upper bound of a class.
func boundOf(class int) time.Duration {
	return time.Duration(math.Exp2(classFirst+float64(class)/classesEach) * float64(time.Microsecond))
}

func (l *Lateness) add(d time.Duration) {
	l.Fired++
	l.Max = max(l.Max, d)
	l.counts[classOf(d)]++
}

// plus adds what another replica or another kind did.
func (l *Lateness) plus(o *Lateness) {
	l.Fired += o.Fired
	l.Rescued += o.Rescued
	l.Max = max(l.Max, o.Max)
	for i, n := range o.counts {
		l.counts[i] += n
	}
}

// Percentile is what the given share, in percent, did not exceed: the upper
// bound of its class, at most Max; 0 when nothing was fired.
func (l *Lateness) Percentile(percent int64) time.Duration {
	rank := (l.Fired*percent + 99) / 100
	for class, n := range l.counts {
		if rank -= n; rank <= 0 && l.Fired > 0 {
			return min(boundOf(class), l.Max)
		}
	}
	return l.Max
}

// text is the counts that are not 0, as class:count.
func (l *Lateness) text() string {
	var b strings.Builder
	for class, n := range l.counts {
		if n == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(class) + ":" + strconv.FormatInt(n, 10))
	}
	return b.String()
}

// parse reads what text wrote; what it does not know it leaves out.
func (l *Lateness) parse(text string) {
	for field := range strings.FieldsSeq(text) {
		class, count, _ := strings.Cut(field, ":")
		at, err := strconv.Atoi(class)
		n, countErr := strconv.ParseInt(count, 10, 64)
		if err == nil && countErr == nil && at >= 0 && at < classes {
			l.counts[at] += n
		}
	}
}

// span is a period: its length and the unix ms at which it begins.
type span struct{ grain, begin int64 }

func spanOf(grain time.Duration, at int64) span {
	ms := grain.Milliseconds()
	return span{ms, at - at%ms}
}

// history is what one kind did here, by period, until it is stored.
type history struct {
	mu      sync.Mutex
	periods map[span]*period
}

type period struct {
	Lateness
	dirty bool // there is more than what was stored
}

// fired counts first calls at an instant.
func (h *history) fired(at int64, late ...time.Duration) {
	if len(late) == 0 {
		return
	}
	h.change(at, func(p *period) {
		for _, d := range late {
			p.add(d)
		}
	})
}

// rescued counts what the sweep had to find.
func (h *history) rescued(at int64) { h.change(at, func(p *period) { p.Rescued++ }) }

func (h *history) change(at int64, change func(*period)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.periods == nil {
		h.periods = map[span]*period{}
	}
	for _, grain := range grains {
		s := spanOf(grain, at)
		p := h.periods[s]
		if p == nil {
			p = &period{}
			h.periods[s] = p
		}
		p.dirty = true
		change(p)
	}
}

// changed takes what is to be stored, and forgets what is stored and over. When
// the database was away for long, what is oldest goes.
func (h *history) changed(now int64) map[span]Lateness {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[span]Lateness{}
	for s, p := range h.periods {
		switch {
		case p.dirty:
			out[s] = p.Lateness
			p.dirty = false
		case s.begin+2*s.grain < now:
			delete(h.periods, s)
		}
	}
	if surplus := len(h.periods) - historyMost; surplus > 0 {
		oldest := slices.SortedFunc(maps.Keys(h.periods), func(a, b span) int { return int(a.begin - b.begin) })
		for _, s := range oldest[:surplus] {
			delete(h.periods, s)
			delete(out, s)
		}
	}
	return out
}

// again says that what changed returned was not stored.
func (h *history) again(spans map[span]Lateness) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range spans {
		if p := h.periods[s]; p != nil {
			p.dirty = true
		}
	}
}
