package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/tidemall/tidemall/model"
)

// The stages of an order and of an after-sale. A stage's name is also the kind of its deadlines in the timeout module.
const (
	// StagePay is from placing an order to its close if it is not paid.
	StagePay = "pay"
	// StageRemind is how long before the end of StagePay the shopper is reminded to pay.
	StageRemind = "remind"
	// StageShip is from paying an order to the alert that it was not shipped.
	StageShip = "ship"
	// StageConfirm is from shipping an order to its completion if the shopper does not confirm.
	StageConfirm = "confirm"
	// StageAftersale is from asking for an after-sale to the alert that the merchant has not answered.
	StageAftersale = "aftersale"
)

const day = 24 * time.Hour

// stage is what the code knows of a stage: what counts without a policy, and what a policy may say. Every range begins at a
// second, so that a merchant can try a stage out; it ends where nobody would wait longer.
type stage struct {
	builtIn, min, max time.Duration
	// optional says that a policy of 0 ms is one too: the stage has no deadline then.
	optional bool
}

var stages = map[string]stage{
	StagePay:       {builtIn: 30 * time.Minute, min: time.Second, max: 30 * day},
	StageRemind:    {builtIn: 10 * time.Minute, min: time.Second, max: 30 * day, optional: true},
	StageShip:      {builtIn: 2 * day, min: time.Second, max: 90 * day, optional: true},
	StageConfirm:   {builtIn: 7 * day, min: time.Second, max: 90 * day, optional: true},
	StageAftersale: {builtIn: 2 * day, min: time.Second, max: 30 * day, optional: true},
}

// Stages lists the stages, sorted.
func Stages() []string {
	names := make([]string, 0, len(stages))
	for name := range stages {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Bounds is what a policy of a stage may say.
type Bounds struct {
	Stage string
	// BuiltIn counts where no policy applies; a policy says Min to Max, or, where Optional, 0 for no deadline.
	BuiltIn, Min, Max time.Duration
	Optional          bool
}

// AllBounds lists the bounds of all stages, sorted by name.
func AllBounds() []Bounds {
	var out []Bounds
	for _, name := range Stages() {
		s := stages[name]
		out = append(out, Bounds{name, s.builtIn, s.min, s.max, s.optional})
	}
	return out
}

// allows reports whether a policy of the stage may say so many milliseconds.
func (s stage) allows(ms int64) bool {
	return ms >= s.min.Milliseconds() && ms <= s.max.Milliseconds() || ms == 0 && s.optional
}

// rangeZH and rangeEN say what allows.
func (s stage) rangeZH() string {
	text := fmt.Sprintf("须在 %d 到 %d 毫秒之间（%s 到 %s）", s.min.Milliseconds(), s.max.Milliseconds(), zh(s.min), zh(s.max))
	if s.optional {
		text += "，或为 0（不设期限）"
	}
	return text
}

func (s stage) rangeEN() string {
	text := fmt.Sprintf("must be from %d to %d milliseconds (%s to %s)", s.min.Milliseconds(), s.max.Milliseconds(), s.min, s.max)
	if s.optional {
		text += ", or 0 for no deadline"
	}
	return text
}

// zh says a whole number of seconds or days in Chinese.
func zh(d time.Duration) string {
	if d >= day {
		return fmt.Sprintf("%d 天", d/day)
	}
	return fmt.Sprintf("%d 秒", d/time.Second)
}

// From returns the deadline of a stage that begins at start under the decision; nil where the stage has none.
func (d Decision) From(start model.Time) *model.Time {
	if d.Duration <= 0 {
		return nil
	}
	due := start.Add(d.Duration)
	return &due
}

// Before returns the deadline of a reminder, the decision's duration before end; nil where there is to be none, or where it would
// not lie after start: who has just begun needs no reminder.
func (d Decision) Before(end, start model.Time) *model.Time {
	due := end.Add(-d.Duration)
	if d.Duration <= 0 || due <= start {
		return nil
	}
	return &due
}
