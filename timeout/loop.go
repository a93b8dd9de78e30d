package timeout

import (
	"context"
	"runtime/debug"
	"time"
)

// loop runs step until ctx ends: again after the time it returns, or sooner
// when it is kicked. A step that fails or panics never ends the loop.
func (e *Engine) loop(ctx context.Context, name string, kick <-chan struct{}, step func(context.Context) time.Duration) {
	for {
		if !pause(ctx, e.guarded(ctx, name, step), kick) {
			return
		}
	}
}

// guarded is a step whose panic is logged.
func (e *Engine) guarded(ctx context.Context, name string, step func(context.Context) time.Duration) (next time.Duration) {
	defer func() {
		if p := recover(); p != nil {
			e.log.Error("a loop panicked and goes on", "loop", name, "panic", p, "stack", string(debug.Stack()))
			next = time.Second
		}
	}()
	return step(ctx)
}

// complain logs an error of a loop, unless the loop is being stopped or the
// part is known to be away.
func (e *Engine) complain(ctx context.Context, what string, err error, args ...any) {
	if err == nil || ctx.Err() != nil || !e.db.closed() {
		return
	}
	e.log.Warn(what, append(args, "err", err)...)
}

// kick makes the loops that feed the process run now.
func (e *Engine) kick() {
	notify(e.pollKick)
	for _, l := range e.order {
		notify(l.lookKick)
	}
}
