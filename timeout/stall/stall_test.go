package stall

import (
	"testing"
	"time"
)

func TestBetweenSumsTheStallsThatTouch(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	w := &Watch{last: at(0)}
	for _, ms := range []int{5, 90, 3090, 3100, 10_000} { // stood still for 3 s, then for 6.9 s
		w.saw(at(ms))
	}
	for _, c := range []struct{ from, to, want int }{
		{0, 50, 0},          // before
		{0, 1000, 3000},     // it began within
		{1000, 2000, 3000},  // all of the time lies within it
		{4000, 5000, 9900},  // the first ended less than a second before
		{4100, 5000, 6900},  // and here not
		{0, 11_000, 9900},   // both
		{11_000, 12_000, 0}, // after
	} {
		got := w.between(at(c.from), at(c.to), at(10_050))
		if want := at(c.want).Sub(start); got != want {
			t.Errorf("from %d ms to %d ms the machine stood still for %v, want %v", c.from, c.to, got, want)
		}
	}
	if got := w.between(at(20_000), at(20_001), at(25_050)); got != 15*time.Second {
		t.Errorf("a stall that lasts counts %v, want 15 s", got)
	}
}

func TestAWatchEnds(t *testing.T) {
	w := Start()
	w.Stop()
	if _, open := <-w.done; open {
		t.Error("it still runs")
	}
}
