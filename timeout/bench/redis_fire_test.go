package bench

import (
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/load"
)

const (
	fireRounds = 3
	fireCount  = 20_000
	fireOver   = 5 * time.Second
	// fireLead is from scheduling to the first deadline: longer than the engine looks ahead in the table, so that each
	// deadline costs what one does that was scheduled long ago.
	fireLead = 17 * time.Second
	// burstLead is enough for asynq to enqueue the crowd.
	burstLead = 3 * time.Second
	// settling is what the last acknowledgements and bookkeeping may take after the last handler.
	settling = 300 * time.Millisecond
)

// fired is what a run of a crowd has shown.
type fired struct {
	p99      float64 // ms late
	early    int
	again    int     // runs beside the first
	commands float64 // of Redis, a task
	drained  float64 // ms from the last deadline to the last run
}

// fire schedules a crowd, waits for it and counts.
func fire(t *testing.T, c *crowd, count func() load.Commands, schedule func(i int) error) fired {
	t.Helper()
	commands := count()
	each(t, len(c.due), 16, schedule)
	c.await(t, time.Until(time.UnixMilli(c.due[len(c.due)-1]))+time.Minute)
	time.Sleep(settling)
	late, early := c.lateness()
	all, _ := commands.Since(t.Context())
	last := time.UnixMilli(c.due[len(c.due)-1])
	return fired{percentile(late, .99), early, c.runs - len(c.due), float64(all) / float64(len(c.due)), ms(c.last.Sub(last))}
}

func (s sides) fireOurs(t *testing.T, over, lead time.Duration) fired {
	t.Helper()
	s.ours.FlushAll(t.Context())
	c := newCrowd(fireCount, time.Now().Add(lead), over)
	engine, stop := startEngine(t, s.db, s.ours, timeout.Kind{Handler: c, Source: c})
	defer stop()
	tasks := c.tasks()
	return fire(t, c, func() load.Commands { return load.CountCommands(t.Context(), s.ours) },
		func(i int) error { return engine.Schedule(t.Context(), tasks[i]) })
}

func (s sides) fireAsynq(t *testing.T, config asynq.Config, over, lead time.Duration) fired {
	t.Helper()
	s.theirs.FlushAll(t.Context())
	c := newCrowd(fireCount, time.Now().Add(lead), over)
	defer startAsynq(t, s.theirAddr, config, c)()
	client := asynqClient(t, s.theirAddr)
	return fire(t, c, func() load.Commands { return load.CountCommands(t.Context(), s.theirs) },
		func(i int) error { return enqueue(client, c, i) })
}

// TestFire measures 20,000 deadlines over 5 s with a handler that does nothing.
func TestFire(t *testing.T) {
	s := newSides(t)
	plain, tuned := fireRows(), fireRows()
	plain[0].atMost = 1 / 500.0
	for range fireRounds {
		ours := s.fireOurs(t, fireOver, fireLead)
		compare(plain, ours, s.fireAsynq(t, asynq.Config{}, fireOver, fireLead))
		compare(tuned, ours, s.fireAsynq(t, asynqTuned, fireOver, fireLead))
	}
	report(t, "20,000 over 5 s", "asynq", plain)
	report(t, "20,000 over 5 s", "asynq, 50 ms forwarder", tuned)
}

func fireRows() []row {
	return []row{{what: "p99 late (ms)"}, {what: "Redis commands a task", atMost: .4}, {what: "early", atMost: never}, {what: "run again"}}
}

func compare(c []row, ours, theirs fired) {
	c[0].add(ours.p99, theirs.p99)
	c[1].add(ours.commands, theirs.commands)
	c[2].add(float64(ours.early), float64(theirs.early))
	c[3].add(float64(ours.again), float64(theirs.again))
}

// TestBurst measures 20,000 deadlines at one instant: how long after it the last has run.
func TestBurst(t *testing.T) {
	s := newSides(t)
	c := []row{{what: "last done after (ms)", atMost: .1}, {what: "Redis commands a task"}, {what: "early", atMost: never}}
	for range fireRounds {
		ours := s.fireOurs(t, 0, burstLead)
		theirs := s.fireAsynq(t, asynqTuned, 0, burstLead)
		c[0].add(ours.drained, theirs.drained)
		c[1].add(ours.commands, theirs.commands)
		c[2].add(float64(ours.early), float64(theirs.early))
	}
	report(t, "20,000 at once", "asynq, 50 ms forwarder", c)
}
