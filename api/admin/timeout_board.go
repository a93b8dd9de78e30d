package admin

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/deadline"
	"github.com/tidemall/tidemall/timeout"
)

// TimeoutLateness is how late deadlines were when they were first acted on.
type TimeoutLateness struct {
	Fired   int64   `json:"fired" doc:"Deadlines that were acted on"`
	Rescued int64   `json:"rescued" doc:"Those of them that only the sweep found; 0 when all is well"`
	P50MS   float64 `json:"p50_ms" doc:"Half were not later; a fifth too high at most"`
	P99MS   float64 `json:"p99_ms" doc:"99 of 100 were not later; a fifth too high at most"`
	MaxMS   float64 `json:"max_ms" doc:"The latest"`
}

func latenessOf(l *timeout.Lateness) TimeoutLateness {
	if l == nil {
		return TimeoutLateness{}
	}
	return TimeoutLateness{Fired: l.Fired, Rescued: l.Rescued, P50MS: inMS(l.Percentile(50)), P99MS: inMS(l.Percentile(99)), MaxMS: inMS(l.Max)}
}

// TimeoutPeriod is how late the deadlines of one period were.
type TimeoutPeriod struct {
	At model.Time `json:"at" format:"date-time" doc:"Its beginning"`
	TimeoutLateness
}

// TimeoutKindLateness is how late the deadlines of one kind were.
type TimeoutKindLateness struct {
	Kind string `json:"kind" example:"pay"`
	TimeoutLateness
}

// TimeoutHistory is how late the deadlines of a stretch of time were, in all, by kind and by period.
type TimeoutHistory struct {
	From    model.Time `json:"from" format:"date-time"`
	To      model.Time `json:"to" format:"date-time" doc:"The end of the present period"`
	GrainMS int64      `json:"grain_ms" doc:"How long a period is"`
	TimeoutLateness
	Kinds []TimeoutKindLateness `json:"kinds" doc:"Those of which anything was fired"`
	List  []TimeoutPeriod       `json:"list" doc:"All periods, also those in which nothing was due"`
}

// TimeoutLatenessInput says which stretch of time is asked for.
type TimeoutLatenessInput struct {
	Range string `query:"range" enum:"1h,24h,7d" default:"1h" doc:"How far back: by minutes, by five minutes, by hours"`
	Kind  string `query:"kind" maxLength:"32" doc:"Only this kind"`
}

var timeoutRanges = map[string]time.Duration{"1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour}

// Lateness returns how late deadlines were.
func (t *Timeouts) Lateness(ctx context.Context, in *TimeoutLatenessInput) (*api.Reply[TimeoutHistory], error) {
	l, err := t.Board.Lateness(ctx, timeoutRanges[in.Range], in.Kind)
	if err != nil {
		return nil, err
	}
	h := TimeoutHistory{
		From: l.From, To: l.To, GrainMS: l.Grain.Milliseconds(), TimeoutLateness: latenessOf(&l.Total),
		Kinds: []TimeoutKindLateness{}, List: []TimeoutPeriod{},
	}
	for at := l.From; at < l.To; at = at.Add(l.Grain) {
		h.List = append(h.List, TimeoutPeriod{at, latenessOf(l.Points[int64(at)])})
	}
	for kind, k := range l.Kinds {
		h.Kinds = append(h.Kinds, TimeoutKindLateness{kind, latenessOf(k)})
	}
	slices.SortFunc(h.Kinds, func(a, b TimeoutKindLateness) int { return strings.Compare(a.Kind, b.Kind) })
	return api.Body(h), nil
}

// TimeoutReplica is a process that fires deadlines.
type TimeoutReplica struct {
	ID                string     `json:"id" example:"shop-1-7f3a"`
	Live              bool       `json:"live" doc:"Whether it was heard of within the last seconds; the shards of one that was not are others' by now"`
	Since             model.Time `json:"since,omitempty" format:"date-time" doc:"Its start"`
	BeatAt            model.Time `json:"beat_at" format:"date-time" doc:"Its last heartbeat"`
	Shards            int        `json:"shards" doc:"How many it serves"`
	Feed              string     `json:"feed,omitempty" enum:"redis,sql" doc:"What feeds it"`
	InFlight          int64      `json:"in_flight" doc:"Tasks that it acts on"`
	ClockOffsetMS     float64    `json:"clock_offset_ms" doc:"The clock of the installation less that of its machine"`
	ClockSource       string     `json:"clock_source,omitempty" enum:"redis,database,machine" doc:"Where the clock of the installation is taken from"`
	ClockDifferenceMS float64    `json:"clock_difference_ms" doc:"Redis' clock less the database's, as last measured"`
}

// TimeoutReplicas are all of them.
type TimeoutReplicas struct {
	List   []TimeoutReplica `json:"list"`
	Shards int              `json:"shards" doc:"How many there are to serve"`
	Served int              `json:"served" doc:"How many of them live replicas serve; a shard that is handed over may be counted twice or not at all"`
}

// Replicas returns the replicas.
func (t *Timeouts) Replicas(ctx context.Context, _ *struct{}) (*api.Reply[TimeoutReplicas], error) {
	list, shards, err := t.Board.Replicas(ctx)
	if err != nil {
		return nil, err
	}
	out := TimeoutReplicas{List: make([]TimeoutReplica, len(list)), Shards: shards}
	for i, r := range list {
		out.Served += r.Shards
		out.List[i] = TimeoutReplica{
			ID: r.Node, Live: r.Live, Since: model.Time(r.StartedAt), BeatAt: model.Time(r.BeatAt), Shards: r.Shards, Feed: r.Feed,
			InFlight: r.InFlight, ClockOffsetMS: inMS(r.ClockOffset), ClockSource: r.ClockSource, ClockDifferenceMS: inMS(r.ClockDifference),
		}
	}
	return api.Body(out), nil
}

// TimeoutAhead is what of a kind is still to come.
type TimeoutAhead struct {
	Kind         string     `json:"kind" example:"pay"`
	NextAt       model.Time `json:"next_at,omitempty" format:"date-time" doc:"The nearest deadline"`
	WithinMinute int64      `json:"within_minute" doc:"Deadlines of the next minute"`
	WithinHour   int64      `json:"within_hour" doc:"Deadlines of the next hour"`
}

// Ahead returns what is still to come, by kind.
func (t *Timeouts) Ahead(ctx context.Context, _ *struct{}) (*api.Reply[api.All[TimeoutAhead]], error) {
	rows, err := t.Board.Ahead(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]TimeoutAhead, len(rows))
	for i, a := range rows {
		out[i] = TimeoutAhead{a.Kind, model.Time(a.Next), a.Minute, a.Hour}
	}
	return api.NewAll(out), nil
}

// TimeoutWaiting is a task that waits for its deadline.
type TimeoutWaiting struct {
	Kind    string     `json:"kind" example:"pay"`
	Key     string     `json:"key" doc:"Id of what the deadline belongs to" example:"17"`
	OrderNo string     `json:"order_no,omitempty" doc:"The order that it is about"`
	DueAt   model.Time `json:"due_at" format:"date-time"`
}

// TimeoutWaitingInput asks for the tasks of a kind that wait.
type TimeoutWaitingInput struct {
	api.AfterInput
	Kind string `path:"kind" pattern:"^[a-z0-9_-]{1,32}$" doc:"Kind of the deadline" example:"pay"`
}

// Waiting returns a page of the tasks of a kind that wait.
func (t *Timeouts) Waiting(ctx context.Context, in *TimeoutWaitingInput) (*api.Reply[TimeoutWaitingPage], error) {
	rows, next, err := t.Board.Waiting(ctx, seeing(ctx), in.Kind, in.Cursor(), in.Limit)
	if err != nil {
		return nil, err
	}
	orders, err := t.Board.Orders(ctx, rows)
	if err != nil {
		return nil, err
	}
	page := TimeoutWaitingPage{List: make([]TimeoutWaiting, len(rows))}
	for i, r := range rows {
		page.List[i] = TimeoutWaiting{r.Kind, r.Key, orders[deadline.OrderKey(r.Kind, r.Key)], model.Time(r.Due)}
	}
	if next != nil {
		page.Next = next.String()
	}
	return api.Body(page), nil
}

// TimeoutWaitingPage is a page of tasks that wait.
type TimeoutWaitingPage struct {
	List []TimeoutWaiting `json:"list"`
	Next string           `json:"next,omitempty" doc:"Give it as after to read on; absent at the end"`
}
