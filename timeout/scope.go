package timeout

import (
	"context"
	"sync"
)

// scope owns goroutines: those that run starts end when it is cancelled, and
// stop returns when they have.
type scope struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     *sync.WaitGroup
}

func newScope() scope {
	ctx, cancel := context.WithCancel(context.Background())
	return scope{ctx: ctx, cancel: cancel, wg: new(sync.WaitGroup)}
}

func (s scope) run(f func(context.Context)) { s.wg.Go(func() { f(s.ctx) }) }

func (s scope) stop() {
	s.cancel()
	s.wg.Wait()
}
