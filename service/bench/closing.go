package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/app"
	"github.com/tidemall/tidemall/service/audit"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/load"
)

const (
	// lookEvery is how often the database is asked how many orders are still open.
	lookEvery = 200 * time.Millisecond
	// patience is how long after the last deadline nothing may close before what is open counts as missed.
	patience = 30 * time.Second
	// leadTime is from setting the deadlines to the first of them, beside what setting and scheduling take at leadRate a second.
	leadTime = 2 * time.Second
	leadRate = 10_000
	// deadlinePage is how many orders get their deadline in one statement.
	deadlinePage = 250
)

// closing fills a shop with unpaid orders through its own services, sets their deadlines and lets the running shop close them:
// stock, ledger, events, messages and all.
func closing(ctx context.Context, s *scratch, o Options) (r load.Report, err error) {
	a, err := app.New(ctx, s.cfg, o.Log)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, a.Stop(context.WithoutCancel(ctx))) }()
	if err := a.Start(ctx); err != nil {
		return r, err
	}
	r = load.Report{Work: "close", Count: o.Count, OverMS: o.Over.Milliseconds(), Callers: o.Callers}
	c := crowd{app: a, o: o}
	if r.PlacesPerSecond, err = c.place(ctx); err != nil {
		return r, err
	}
	if err := c.settle(ctx); err != nil {
		return r, err
	}
	tasks, err := c.setDeadlines(ctx)
	if err != nil {
		return r, err
	}
	commands := load.CountCommands(ctx, a.Redis)
	scheduled, err := load.ScheduleAll(ctx, a.Engine, tasks, o.Callers, o.Progress)
	if err != nil {
		return r, err
	}
	r.Scheduled(scheduled)
	if late := a.Engine.Now().UnixMilli() - tasks[0].Due; late > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("scheduling ended %d ms after the first deadline, which the lateness includes", late))
	}
	if err := c.await(ctx, time.UnixMilli(tasks[len(tasks)-1].Due)); err != nil {
		return r, err
	}
	r.RedisCommandsPerTask = commands.Per(ctx, o.Count)
	return r, c.report(ctx, &r, tasks[0].Due)
}

// settle waits until the messages of the placed orders are delivered, which would otherwise be measured too.
func (c *crowd) settle(ctx context.Context) error {
	return c.until(ctx, "%d messages of the placed orders to be delivered", "SELECT COUNT(*) FROM messages WHERE state = 'pending'", time.Time{})
}

// await waits until every order is closed.
func (c *crowd) await(ctx context.Context, last time.Time) error {
	return c.until(ctx, "%d orders open", "SELECT COUNT(*) FROM orders WHERE state = 'pending_payment'", last)
}

// until asks until the count is 0, or has not changed for as long as the run is patient.
func (c *crowd) until(ctx context.Context, progress, query string, notBefore time.Time) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	before, changed, told := int64(-1), time.Now(), time.Now()
	for {
		var n int64
		if err := c.app.Store.Read(ctx).Raw(query).Scan(&n).Error; err != nil {
			return store.Classify(err)
		}
		now := time.Now()
		if n != before || now.Before(notBefore) {
			before, changed = n, now
		}
		if n == 0 || now.Sub(changed) > patience {
			return nil
		}
		if now.Sub(told) >= time.Second {
			told = now
			c.o.Progress(fmt.Sprintf(progress, n))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// setDeadlines moves the orders' deadlines to the run's, in the order of their ids, and returns their tasks. The
// shop's own way, by a policy, sets a duration for many and no instant for each, so it is written here.
func (c *crowd) setDeadlines(ctx context.Context) ([]timeout.Task, error) {
	var ids []int64
	if err := c.app.Store.Read(ctx).Raw("SELECT id FROM orders ORDER BY id").Scan(&ids).Error; err != nil {
		return nil, store.Classify(err)
	}
	first := c.app.Engine.Now().Add(leadTime + time.Duration(len(ids))*time.Second/leadRate).UnixMilli()
	tasks := make([]timeout.Task, len(ids))
	for i, id := range ids {
		tasks[i] = timeout.Task{Kind: order.KindPay, Key: strconv.FormatInt(id, 10), Due: first + int64(i)*c.o.Over.Milliseconds()/int64(len(ids))}
	}
	for from := 0; from < len(ids); from += deadlinePage {
		page := ids[from:min(from+deadlinePage, len(ids))]
		args := make([]any, 0, 3*len(page))
		for i, id := range page {
			args = append(args, id, tasks[from+i].Due)
		}
		for _, id := range page {
			args = append(args, id)
		}
		err := c.app.Store.Read(ctx).Exec("UPDATE orders SET pay_deadline = CASE id"+strings.Repeat(" WHEN ? THEN ?", len(page))+
			" END WHERE id IN (?"+strings.Repeat(", ?", len(page)-1)+")", args...).Error
		if err != nil {
			return nil, store.Classify(err)
		}
	}
	return tasks, nil
}

// report reads what became of the orders, and audits the shop.
func (c *crowd) report(ctx context.Context, r *load.Report, first int64) error {
	var rows []struct{ Late, ClosedAt int64 }
	err := c.app.Store.Read(ctx).Raw("SELECT closed_at - pay_deadline AS late, closed_at FROM orders WHERE state = 'closed'").Scan(&rows).Error
	if err != nil {
		return store.Classify(err)
	}
	late := make([]time.Duration, len(rows))
	var last int64
	for i, row := range rows {
		late[i] = time.Duration(row.Late) * time.Millisecond
		last = max(last, row.ClosedAt)
		if row.Late < 0 {
			r.Early++
		}
	}
	r.Lateness, r.Missed = load.Quantiles(late), r.Count-len(rows)
	if len(rows) > 0 {
		r.Acted(len(rows), time.Duration(max(1, last-first))*time.Millisecond)
	}
	stats, err := c.app.Engine.Stats(ctx)
	if err != nil {
		return err
	}
	r.Feed = stats.Feed
	for _, k := range stats.Kinds {
		if k.Kind == order.KindPay {
			r.Twice = max(0, int(k.Fired)-len(rows))
		}
	}
	checked, err := audit.Run(ctx, c.app.Store, audit.Options{Now: model.At(c.app.Engine.Now())})
	if err != nil {
		return err
	}
	violations := 0
	for _, check := range checked.Checks {
		violations += int(check.Violations)
	}
	r.Audit = &violations
	return nil
}
