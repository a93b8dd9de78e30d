package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemall/tidemall/timeout"
)

// Scheduler is what is put under load.
type Scheduler interface {
	Schedule(ctx context.Context, tasks ...timeout.Task) error
}

// Scheduled is how the scheduling of many tasks went.
type Scheduled struct {
	// Calls were made in Took; Failed of them were answered by an error, First being one of these. A failed call loses
	// nothing: the source is asked again.
	Calls, Failed int
	Took          time.Duration
	First         error
}

// ScheduleAll schedules the tasks, one a call, by so many callers at a time. The error is ctx's.
func ScheduleAll(ctx context.Context, to Scheduler, tasks []timeout.Task, callers int, progress func(string)) (Scheduled, error) {
	var next, failed atomic.Int64
	var once sync.Once
	var first error
	began := time.Now()
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			t := newTicker(progress)
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= int64(len(tasks)) {
					return
				}
				if err := to.Schedule(ctx, tasks[i]); err != nil {
					failed.Add(1)
					once.Do(func() { first = err })
				}
				if caller == 0 {
					t.tell("%d of %d scheduled", int(i), len(tasks))
				}
			}
		})
	}
	wg.Wait()
	return Scheduled{Calls: len(tasks), Failed: int(failed.Load()), Took: time.Since(began), First: first}, ctx.Err()
}
