package load

import (
	"fmt"
	"time"
)

// tellEvery is how often a run says where it stands.
const tellEvery = time.Second

// ticker thins out the news of one goroutine.
type ticker struct {
	to   func(string)
	last time.Time
}

func newTicker(to func(string)) *ticker { return &ticker{to: to, last: time.Now()} }

// tell passes the news on if the last is a while ago.
func (t *ticker) tell(format string, done, of int) {
	if t.to == nil || time.Since(t.last) < tellEvery {
		return
	}
	t.last = time.Now()
	t.to(fmt.Sprintf(format, done, of))
}
