package timeout

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// MaxBatch is the most tasks a handler is given, a script claims and a page
// of a source holds. Larger scripts block Redis for milliseconds and gain
// nothing.
const MaxBatch = 250

// DefaultMaxAttempts is how often a task may fail by an error of its own
// before it is dead.
const DefaultMaxAttempts = 5

// Task is one deadline. Kind and Key name it; Due is unix milliseconds on
// the engine's clock, rounded up when it was made (see DueAt).
type Task struct {
	Kind string
	Key  string
	Due  int64
}

// DueAt converts an instant to a Task's Due: unix milliseconds, rounded up,
// so that a task never fires before the instant.
func DueAt(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return ms
}

// Handler acts on tasks that are due. It is called with up to Kind.Batch
// tasks, several calls at a time, and returns one outcome per task in the
// same order.
//
// A task may be handed over more than once, also at the same time by two
// replicas: the handler's conditional update (state and deadline = task.Due)
// makes the effect happen once. It never compares the deadline with a clock.
// Where the update changes nothing it reads the row: terminal is Done,
// another deadline is Reschedule to it (a past one is run again at once, with
// that Due), anything else is Again. After a crash or a backoff Due can be a
// later instant than the row's deadline; the same rule covers that.
//
// The context ends a second before the claim can end (20 s in all) and at once
// when the claim was lost. A panic, or a batch in which every task is Failed,
// is repeated in halves until the culprits stand alone.
type Handler interface {
	Handle(ctx context.Context, tasks []Task) []Outcome
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(ctx context.Context, tasks []Task) []Outcome

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, tasks []Task) []Outcome { return f(ctx, tasks) }

type verdict uint8

const (
	verdictDone verdict = iota + 1
	verdictReschedule
	verdictFailed
	verdictAgain
	// The engine's own:
	verdictDead  // is, or has now become, dead
	verdictAhead // backs off still
)

// Outcome is what a handler says about one task. The zero Outcome counts as
// a failure.
type Outcome struct {
	verdict verdict
	at      int64
	err     error
}

// Done says that the task needs nothing more; its effect is committed.
func Done() Outcome { return Outcome{verdict: verdictDone} }

// Reschedule says that the task is to run at the given unix milliseconds. The
// owner's deadline column says so too, or an earlier instant at which running
// again would do no harm: the sweep goes by the column.
func Reschedule(at int64) Outcome { return Outcome{verdict: verdictReschedule, at: at} }

// Failed reports an error of the task itself. It counts: the task is repeated
// with full-jitter backoff from 1 s and is dead after Kind.MaxAttempts.
// An err that is plainly an outage (see Options.IsOutage) is taken as Again.
func Failed(err error) Outcome { return Outcome{verdict: verdictFailed, err: err} }

// Again reports what is not the task's fault: an outage, a deadlock, a lost
// lease, a locked row, an unknown answer from outside. It never counts; the
// task is repeated with a backoff of at most 30 s, for ever.
func Again(err error) Outcome { return Outcome{verdict: verdictAgain, err: err} }

// All returns the outcome once for every task, for a batch that went one way
// as a whole.
func All(tasks []Task, o Outcome) []Outcome {
	outcomes := make([]Outcome, len(tasks))
	for i := range outcomes {
		outcomes[i] = o
	}
	return outcomes
}

// Err is the error the outcome carries, or nil.
func (o Outcome) Err() error { return o.err }

func (o Outcome) String() string {
	switch o.verdict {
	case verdictDone:
		return "done"
	case verdictReschedule:
		return "reschedule"
	case verdictAgain:
		return "again"
	case verdictDead:
		return "dead"
	case verdictAhead:
		return "ahead"
	default:
		return "failed"
	}
}

// Cursor is a position in the order (due, key), exclusive. The zero Cursor
// is before everything.
type Cursor struct {
	Due int64
	Key string
}

// Source is the truth about one kind: the deadline column of the owner's table.
type Source interface {
	// Due returns waiting tasks with (due, key) after the cursor and
	// due <= until, in that order, at most limit, without taking locks. Keys
	// compare as the index orders them; a page is followed by the next from
	// its last task.
	Due(ctx context.Context, after Cursor, until int64, limit int) ([]Task, error)
}

// Counter is what a Source may implement to make Stats exact: the number of
// waiting tasks with due <= until.
type Counter interface {
	Count(ctx context.Context, until int64) (int64, error)
}

// Kind is a sort of deadline and who acts on it.
type Kind struct {
	// Name is 1 to 32 of a-z, 0-9, - and _.
	Name    string
	Handler Handler
	Source  Source
	// Batch is the most tasks per call, 1 to MaxBatch; 0 means MaxBatch.
	Batch int
	// Workers is how many batches of this kind run at once, besides the
	// sweep's one; 0 means 4. Other kinds never wait for them.
	Workers int
	// MaxAttempts is after how many failures of its own a task is dead; 0
	// means DefaultMaxAttempts.
	MaxAttempts int
}

var kindName = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)

// withDefaults fills what was left zero and refuses what cannot work.
func (k Kind) withDefaults() (Kind, error) {
	if !kindName.MatchString(k.Name) {
		return k, fmt.Errorf("timeout: kind name %q: want 1 to 32 of a-z, 0-9, - and _", k.Name)
	}
	if k.Handler == nil || k.Source == nil {
		return k, fmt.Errorf("timeout: kind %s needs a handler and a source", k.Name)
	}
	if k.Batch == 0 {
		k.Batch = MaxBatch
	}
	if k.Workers == 0 {
		k.Workers = 4
	}
	if k.MaxAttempts == 0 {
		k.MaxAttempts = DefaultMaxAttempts
	}
	if k.Batch < 1 || k.Batch > MaxBatch || k.Workers < 1 || k.MaxAttempts < 1 {
		return k, fmt.Errorf("timeout: kind %s: batch must be 1 to %d, workers and attempts at least 1", k.Name, MaxBatch)
	}
	return k, nil
}

// Errors that callers may tell apart with errors.Is.
var (
	// ErrUnknownKind is a task of a kind that was not registered.
	ErrUnknownKind = errors.New("timeout: unknown kind")
	// ErrBadTask is a key that is empty, longer than 64 bytes or not plain
	// text, or a due before 1970 or after 2248 (in another unit, that is).
	ErrBadTask = errors.New("timeout: bad task")
	// ErrRunning is Register after Start, or a second Start.
	ErrRunning = errors.New("timeout: engine already started")
	// ErrNotRunning is Schedule, Renew or Cancel before Start or after Stop.
	ErrNotRunning = errors.New("timeout: engine is not running")
	// ErrRedisAway is Schedule, Renew or Cancel while Redis cannot be
	// reached. Nothing is lost by it: the source will be asked again.
	ErrRedisAway = errors.New("timeout: redis is away")
	// ErrNotDead is RetryDead of a task that is not dead.
	ErrNotDead = errors.New("timeout: task is not dead")
	// ErrShardCount is Start with another shard count than the stored one.
	ErrShardCount = errors.New("timeout: shard count differs from the stored one")
)
