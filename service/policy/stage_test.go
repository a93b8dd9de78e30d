package policy

import (
	"reflect"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// What counts where no policy says anything.
func TestBuiltInDurations(t *testing.T) {
	p := started(t, storetest.SQLite(t))
	for stage, want := range map[string]time.Duration{
		StagePay: 30 * time.Minute, StageRemind: 10 * time.Minute, StageShip: 48 * time.Hour, StageConfirm: 7 * 24 * time.Hour, StageAftersale: 48 * time.Hour,
	} {
		if got := p.Resolve(stage, Query{OrderNo: "1"}); got != (Decision{Duration: want}) {
			t.Errorf("%s: %+v, want %v", stage, got, want)
		}
	}
	if got, want := Stages(), []string{StageAftersale, StageConfirm, StagePay, StageRemind, StageShip}; !reflect.DeepEqual(got, want) {
		t.Errorf("stages %v, want %v", got, want)
	}
}

// Each stage has a range of its own; 0 switches a stage off, except paying.
// Case T16.
func TestT16_RangesOfTheStages(t *testing.T) {
	const day = int64(24 * 3600 * 1000)
	p := started(t, storetest.SQLite(t))
	for stage, most := range map[string]int64{StagePay: 30 * day, StageRemind: 30 * day, StageShip: 90 * day, StageConfirm: 90 * day, StageAftersale: 30 * day} {
		for ms, good := range map[int64]bool{-1: false, 0: stage != StagePay, 1: false, 999: false, 1000: true, most: true, most + 1: false} {
			d := Draft{Stage: stage, DurationMS: ms, Enabled: true, RolloutPercent: 100}
			if _, err := p.Create(t.Context(), platform, d); good != (err == nil) || !good && !out(err, "duration_ms") {
				t.Errorf("%s of %d ms: %v", stage, ms, err)
			}
		}
	}
}

// A policy that says 0 ends the search: the stage has no deadline, also where the built-in one would have.
func TestStageWithoutADeadline(t *testing.T) {
	p := started(t, storetest.SQLite(t))
	create(t, p, Draft{Stage: StageRemind, DurationMS: 0, Enabled: true, RolloutPercent: 100})
	d := p.Resolve(StageRemind, Query{OrderNo: "1"})
	if d.Duration != 0 || d.PolicyID == 0 || d.Before(1_000_000, 0) != nil || d.From(0) != nil {
		t.Errorf("%+v, want a policy without a deadline", d)
	}
	if d := p.Resolve(StagePay, Query{OrderNo: "1"}); d.Duration != 30*time.Minute {
		t.Errorf("pay is %+v, want it untouched", d)
	}
}

func TestDeadlineOfADecision(t *testing.T) {
	start, ten := model.Time(1_000_000), Decision{Duration: 10 * time.Minute}
	if got := ten.From(start); got == nil || *got != 1_600_000 {
		t.Errorf("from %d: %v, want ten minutes later", start, got)
	}
	for end, want := range map[model.Time]model.Time{1_600_000: 0, 1_599_999: 0, 1_600_001: 1_000_001, 2_800_000: 2_200_000} {
		got := ten.Before(end, start)
		if want == 0 && got != nil || want != 0 && (got == nil || *got != want) {
			t.Errorf("ten minutes before %d, begun at %d: %v, want %d", end, start, got, want)
		}
	}
}
