package order

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout"
)

const (
	closeRounds = 5
	// A round closes so many orders in batches, and so many one by one.
	closeBatched = 2000
	closeSingly  = 400
)

// BenchmarkCloseAgainstOneByOne closes due orders through the pay kind's handler (stock, ledger, coupon, event and message rows
// included) in the module's batches, against the same handler with one order, and so one transaction, a call. Rounds of both
// alternate in one run, on a real MySQL; the middle of each is reported, and their ratio.
func BenchmarkCloseAgainstOneByOne(b *testing.B) {
	for _, workers := range []int{1, 4} {
		b.Run(fmt.Sprintf("%d_workers", workers), func(b *testing.B) {
			ground := newBenchGround(b, false)
			var batched, singly []float64
			for range closeRounds {
				ground.fill(b, closeBatched+closeSingly)
				due := ground.due(b)
				singly = append(singly, ground.closeAll(b, due[:closeSingly], 1, workers))
				batched = append(batched, ground.closeAll(b, due[closeSingly:], timeout.MaxBatch, workers))
			}
			slices.Sort(batched)
			slices.Sort(singly)
			many, one := batched[closeRounds/2], singly[closeRounds/2]
			b.ReportMetric(0, "ns/op") // whole rounds are measured, not b.N
			b.ReportMetric(many, "closes/s")
			b.ReportMetric(one, "one-by-one-closes/s")
			b.ReportMetric(many/one, "ratio")
			ground.sound()
		})
	}
}

// fill places n orders of two lines and a coupon each.
func (g *benchGround) fill(b *testing.B, n int64) {
	b.Helper()
	g.issue(b, n)
	first := g.next.Load()
	var wg sync.WaitGroup
	for range benchCallers {
		wg.Go(func() {
			for coupon := g.next.Add(1); coupon <= first+n; coupon = g.next.Add(1) {
				g.place(b, coupon)
			}
		})
	}
	wg.Wait()
	g.next.Store(first + n)
}

// due are the open orders as the module's tasks, in the order of their deadlines.
func (g *benchGround) due(b *testing.B) []timeout.Task {
	b.Helper()
	var rows []struct{ ID, PayDeadline int64 }
	err := g.Store.Read(b.Context()).Raw("SELECT id, pay_deadline FROM orders WHERE state = 'pending_payment' ORDER BY pay_deadline, id").Scan(&rows).Error
	if err != nil || len(rows) != closeBatched+closeSingly {
		b.Fatalf("%d orders are open, %v", len(rows), err)
	}
	tasks := make([]timeout.Task, len(rows))
	for i, r := range rows {
		tasks[i] = timeout.Task{Kind: KindPay, Key: strconv.FormatInt(r.ID, 10), Due: r.PayDeadline}
	}
	return tasks
}

// closeAll hands the tasks over in batches, to so many workers at a time, until each is done, and returns the closes a second.
func (g *benchGround) closeAll(b *testing.B, tasks []timeout.Task, batch, workers int) float64 {
	b.Helper()
	batches := make(chan []timeout.Task, len(tasks))
	for chunk := range slices.Chunk(tasks, batch) {
		batches <- chunk
	}
	close(batches)
	start := time.Now()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for chunk := range batches {
				g.closeUntilDone(b, chunk)
			}
		})
	}
	wg.Wait()
	return float64(len(tasks)) / time.Since(start).Seconds()
}

// closeUntilDone repeats what ran into a lock, as the module does.
func (g *benchGround) closeUntilDone(b *testing.B, tasks []timeout.Task) {
	for range 100 {
		var again []timeout.Task
		for i, o := range g.closeDue(context.Background(), tasks) {
			if o.String() != "done" {
				again = append(again, tasks[i])
			}
		}
		if len(again) == 0 {
			return
		}
		tasks = again
	}
	b.Errorf("%d orders could not be closed", len(tasks))
}
