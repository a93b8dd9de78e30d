package load

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// Report is what a run has measured. Rates are a second.
type Report struct {
	// Work says what was done with a deadline: "trigger" or "close".
	Work string `json:"work"`
	// Database and Redis name the parts, without addresses; Feed is what fed the engine at the end, "redis" or "sql".
	Database string `json:"database"`
	Redis    string `json:"redis"`
	Feed     string `json:"feed"`

	Count     int   `json:"count"`
	OverMS    int64 `json:"over_ms"`
	Callers   int   `json:"callers"`
	HandlerMS int64 `json:"handler_ms"`

	// SchedulesPerSecond counts calls of one deadline each; ScheduleErrors of them failed.
	SchedulesPerSecond float64 `json:"schedules_per_second"`
	ScheduleErrors     int     `json:"schedule_errors"`
	// PlacesPerSecond is how fast the orders were placed; 0 if none were.
	PlacesPerSecond float64 `json:"places_per_second,omitempty"`
	// Lateness is from the deadline to the call of the handler; of orders, to the instant they were closed.
	Lateness Lateness `json:"lateness_ms"`
	// ActedPerSecond is the number of effects over the time from the first deadline to the last effect, TookMS.
	ActedPerSecond float64 `json:"acted_per_second"`
	TookMS         float64 `json:"took_ms"`
	// Early tasks fired before their deadline, Twice counts calls about a task that was done (harmless work), Missed tasks
	// were never acted on.
	Early  int `json:"early"`
	Twice  int `json:"twice"`
	Missed int `json:"missed"`
	// RedisCommandsPerTask is from before scheduling to after the last effect, those inside scripts and those of everybody
	// else on the server included; nil where the server keeps no statistics.
	RedisCommandsPerTask *float64 `json:"redis_commands_per_task"`
	// Audit counts the invariants that are broken afterwards; nil where no shop was filled.
	Audit *int     `json:"audit_violations,omitempty"`
	Notes []string `json:"notes,omitempty"`
}

// Lateness are quantiles in milliseconds.
type Lateness struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
}

// Quantiles sorts the durations and reads them off; zero if there are none.
func Quantiles(all []time.Duration) Lateness {
	if len(all) == 0 {
		return Lateness{}
	}
	slices.Sort(all)
	at := func(q float64) float64 {
		i := int(math.Ceil(q*float64(len(all)))) - 1
		return float64(all[max(0, i)]) / float64(time.Millisecond)
	}
	return Lateness{P50: at(.5), P99: at(.99), P999: at(.999), Max: at(1)}
}

// Scheduled adds how scheduling went.
func (r *Report) Scheduled(s Scheduled) {
	r.SchedulesPerSecond, r.ScheduleErrors = float64(s.Calls)/s.Took.Seconds(), s.Failed
	if s.First != nil {
		r.notef("a deadline could not be scheduled, and was left to the next look at the database: %v", s.First)
	}
}

// Acted adds how many tasks were acted on from the first deadline to the last effect.
func (r *Report) Acted(n int, took time.Duration) {
	r.ActedPerSecond, r.TookMS = float64(n)/took.Seconds(), float64(took)/float64(time.Millisecond)
}

func (r *Report) notef(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// OK reports whether the module kept what it promises: nothing early, nothing missed, the shop sound.
func (r Report) OK() bool { return r.Early == 0 && r.Missed == 0 && (r.Audit == nil || *r.Audit == 0) }

// WriteJSON writes the report as one object.
func (r Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteText writes the report for people.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-16s "+format+"\n", append([]any{name}, args...)...)
	}
	when := "at once"
	if r.OverMS > 0 {
		when = fmt.Sprintf("over %g s", float64(r.OverMS)/1000)
	}
	what, effects := "deadlines", "acted on"
	if r.Work == "close" {
		what, effects = "unpaid orders due", "closed"
	}
	fmt.Fprintf(&b, "%d %s %s, %d callers, on %s and %s (fed by %s)\n", r.Count, what, when, r.Callers, r.Database, r.Redis, r.Feed)
	if r.PlacesPerSecond > 0 {
		line("placed", "%.0f a second", r.PlacesPerSecond)
	}
	line("scheduled", "%.0f a second, %d failed", r.SchedulesPerSecond, r.ScheduleErrors)
	line("lateness", "p50 %.2f ms   p99 %.2f ms   p99.9 %.2f ms   max %.2f ms", r.Lateness.P50, r.Lateness.P99, r.Lateness.P999, r.Lateness.Max)
	line(effects, "%.0f a second, the last %.0f ms after the first deadline", r.ActedPerSecond, r.TookMS)
	line("early", "%d", r.Early)
	line("missed", "%d", r.Missed)
	line("handed over again", "%d", r.Twice)
	if r.RedisCommandsPerTask != nil {
		line("Redis commands", "%.2f a task", *r.RedisCommandsPerTask)
	} else {
		line("Redis commands", "not known: the server keeps no statistics")
	}
	if r.Audit != nil {
		line("audit", "%d violations", *r.Audit)
	}
	for _, n := range r.Notes {
		line("note", "%s", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
