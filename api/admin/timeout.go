package admin

import (
	"context"
	"time"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/deadline"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

// Timeouts has the operations on deadlines and what acts on them.
type Timeouts struct {
	Board interface {
		Stats(ctx context.Context) (timeout.Stats, error)
		Failures(ctx context.Context, f deadline.Filter, page store.Page) ([]timeout.Failure, int64, error)
		Retry(ctx context.Context, merchantID int64, kind, key string) error
		RetryAll(ctx context.Context, merchantID int64, kind string) (int, error)
		Lateness(ctx context.Context, reach time.Duration, kind string) (deadline.Lateness, error)
		Replicas(ctx context.Context) (list []timeout.Replica, shards int, err error)
		Ahead(ctx context.Context) ([]timeout.Ahead, error)
		Waiting(ctx context.Context, merchantID int64, kind string, after store.Cursor, limit int) ([]timeout.Task, *store.Cursor, error)
		Orders(ctx context.Context, tasks []timeout.Task) (map[string]string, error)
	}
}

// TimeoutFigures are how much waits and how late it fires. Waiting, overdue, dead and backing off are the installation's; in
// flight, fired, retries, rescued and lateness are those of the replica that answers.
type TimeoutFigures struct {
	Waiting       int64   `json:"waiting" doc:"Deadlines that were not acted on yet"`
	Overdue       int64   `json:"overdue" doc:"Those of them that have passed, without dead ones and those that back off"`
	InFlight      int64   `json:"in_flight" doc:"Being acted on now"`
	Dead          int64   `json:"dead" doc:"Given up after repeated failures; waits for a person"`
	BackingOff    int64   `json:"backing_off" doc:"Failed, and tried again later"`
	Fired         int64   `json:"fired" doc:"Acted on since the start"`
	Retries       int64   `json:"retries"`
	Rescued       int64   `json:"rescued" doc:"Found by the sweep; 0 when all is well"`
	LatenessP50MS float64 `json:"lateness_p50_ms" doc:"From the deadline to the action, over the last hour: half were faster"`
	LatenessP99MS float64 `json:"lateness_p99_ms" doc:"99 of 100 were faster"`
}

// TimeoutKind has the figures of one kind of deadline.
type TimeoutKind struct {
	Kind string `json:"kind" example:"pay"`
	TimeoutFigures
}

// TimeoutTask is a task that failed.
type TimeoutTask struct {
	Kind      string     `json:"kind" example:"refund"`
	Key       string     `json:"key" doc:"Id of what the deadline belongs to" example:"17"`
	OrderNo   string     `json:"order_no,omitempty" doc:"The order that it is about"`
	Status    string     `json:"status" enum:"dead,backing_off"`
	DueAt     model.Time `json:"due_at" format:"date-time" doc:"The deadline"`
	Attempts  int        `json:"attempts" doc:"Failures of the task's own"`
	Waits     int        `json:"waits" doc:"Outages it has waited out; they never count"`
	NextAt    model.Time `json:"next_at,omitempty" format:"date-time" doc:"When it is tried again"`
	DeadAt    model.Time `json:"dead_at,omitempty" format:"date-time"`
	Error     string     `json:"error" doc:"The last failure"`
	UpdatedAt model.Time `json:"updated_at" format:"date-time"`
}

// TimeoutBoard is the state of all deadlines, and a page of the tasks that failed.
type TimeoutBoard struct {
	Feed       string     `json:"feed" enum:"redis,sql" doc:"What feeds the replica that answers; sql while Redis is away or where there is none"`
	Node       string     `json:"node" doc:"The replica that answers"`
	Live       []string   `json:"live" doc:"The replicas that live"`
	ServerTime model.Time `json:"server_time" format:"date-time" doc:"The clock by which deadlines are judged"`
	TimeoutFigures
	Kinds []TimeoutKind `json:"kinds"`
	api.List[TimeoutTask]
}

// TimeoutListInput asks for the board.
type TimeoutListInput struct {
	api.PageInput
	Kind   string `query:"kind" maxLength:"32" doc:"Only failed tasks of this kind"`
	Status string `query:"status" enum:"dead" doc:"Only dead tasks"`
}

// Show returns the figures and the tasks that failed.
func (t *Timeouts) Show(ctx context.Context, in *TimeoutListInput) (*api.Reply[TimeoutBoard], error) {
	stats, err := t.Board.Stats(ctx)
	if err != nil {
		return nil, err
	}
	f := deadline.Filter{MerchantID: seeing(ctx), Kind: in.Kind, Dead: in.Status == "dead"}
	rows, total, err := t.Board.Failures(ctx, f, in.Numbered())
	if err != nil {
		return nil, err
	}
	named := make([]timeout.Task, len(rows))
	for i, r := range rows {
		named[i] = timeout.Task{Kind: r.Kind, Key: r.Key}
	}
	orders, err := t.Board.Orders(ctx, named)
	if err != nil {
		return nil, err
	}
	tasks := make([]TimeoutTask, len(rows))
	for i, r := range rows {
		tasks[i] = timeoutTaskOf(r)
		tasks[i].OrderNo = orders[deadline.OrderKey(r.Kind, r.Key)]
	}
	b := TimeoutBoard{
		Feed: stats.Feed, Node: stats.Node, Live: append([]string{}, stats.Live...), ServerTime: model.At(stats.Now),
		Kinds: make([]TimeoutKind, len(stats.Kinds)), List: api.NewList(tasks, total, in.PageInput).Body,
	}
	for i, k := range stats.Kinds {
		b.Kinds[i] = TimeoutKind{k.Kind, figuresOf(k)}
		b.TimeoutFigures = b.plus(b.Kinds[i].TimeoutFigures)
	}
	return api.Body(b), nil
}

func figuresOf(k timeout.KindStats) TimeoutFigures {
	return TimeoutFigures{
		Waiting: k.Waiting, Overdue: k.Overdue, InFlight: k.InFlight, Dead: k.Dead, BackingOff: k.BackingOff, Fired: k.Fired,
		Retries: k.Retries, Rescued: k.Rescued, LatenessP50MS: inMS(k.LatenessP50), LatenessP99MS: inMS(k.LatenessP99),
	}
}

// plus adds the counts of another kind; of lateness the worse one counts.
func (f TimeoutFigures) plus(o TimeoutFigures) TimeoutFigures {
	return TimeoutFigures{
		Waiting: f.Waiting + o.Waiting, Overdue: f.Overdue + o.Overdue, InFlight: f.InFlight + o.InFlight, Dead: f.Dead + o.Dead,
		BackingOff: f.BackingOff + o.BackingOff, Fired: f.Fired + o.Fired, Retries: f.Retries + o.Retries, Rescued: f.Rescued + o.Rescued,
		LatenessP50MS: max(f.LatenessP50MS, o.LatenessP50MS), LatenessP99MS: max(f.LatenessP99MS, o.LatenessP99MS),
	}
}

// inMS is a duration in milliseconds, to the microsecond.
func inMS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func timeoutTaskOf(f timeout.Failure) TimeoutTask {
	t := TimeoutTask{
		Kind: f.Kind, Key: f.Key, Status: "backing_off", DueAt: model.Time(f.Due), Attempts: f.Attempts, Waits: f.Waits,
		NextAt: model.Time(f.NextAt), Error: f.Error, UpdatedAt: model.Time(f.UpdatedAt),
	}
	if f.DeadAt != 0 {
		t.Status, t.NextAt, t.DeadAt = "dead", 0, model.Time(f.DeadAt)
	}
	return t
}

// TimeoutInput names a task.
type TimeoutInput struct {
	Kind string `path:"kind" pattern:"^[a-z0-9_-]{1,32}$" doc:"Kind of the deadline" example:"refund"`
	Key  string `path:"key" pattern:"^[\\x21-\\x7e]{1,64}$" doc:"Key of the task" example:"17"`
}

// TimeoutRetried is a task that runs again.
type TimeoutRetried struct {
	Kind   string `json:"kind"`
	Key    string `json:"key"`
	Status string `json:"status" enum:"waiting"`
}

// Retry has a dead task run now.
func (t *Timeouts) Retry(ctx context.Context, in *TimeoutInput) (*api.Reply[TimeoutRetried], error) {
	if err := t.Board.Retry(ctx, seeing(ctx), in.Kind, in.Key); err != nil {
		return nil, err
	}
	return api.Body(TimeoutRetried{in.Kind, in.Key, "waiting"}), nil
}

// TimeoutRetryAllBody narrows what is retried.
type TimeoutRetryAllBody struct {
	Kind string `json:"kind,omitempty" pattern:"^[a-z0-9_-]{1,32}$" maxLength:"32" doc:"Only dead tasks of this kind; all where absent" example:"refund"`
}

// TimeoutRetryAllInput retries dead tasks; the body may be absent.
type TimeoutRetryAllInput struct{ Body *TimeoutRetryAllBody }

// TimeoutsRetried is what was retried.
type TimeoutsRetried struct {
	Retried int `json:"retried" doc:"How many tasks run again"`
}

// RetryAll has all dead tasks run now: a merchant's own, or everybody's for the platform while it names no merchant.
func (t *Timeouts) RetryAll(ctx context.Context, in *TimeoutRetryAllInput) (*api.Reply[TimeoutsRetried], error) {
	var b TimeoutRetryAllBody
	if in.Body != nil {
		b = *in.Body
	}
	n, err := t.Board.RetryAll(ctx, seeing(ctx), b.Kind)
	if err != nil {
		return nil, err
	}
	return api.Body(TimeoutsRetried{n}), nil
}
