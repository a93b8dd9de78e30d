package order

import (
	"maps"
	"testing"
	"time"

	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/policy"
)

// What a preview counts is what a re-timing then does.
func TestPreviewCountsWhatARetimingMoves(t *testing.T) {
	withStages(t, func(t *testing.T, tl *till) {
		p := tl.policies()
		orders := tl.many(12)
		row := tl.policyOf(p, 60, 40)
		merchant := orders[0].MerchantID
		look := func(of int64) Preview {
			t.Helper()
			trial, err := p.Try(t.Context(), chief, row.ID, policy.Draft{}, policy.Change{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := tl.Preview(t.Context(), trial, of, of)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		for _, of := range []int64{0, merchant} {
			if p := look(of); p.Orders != 12 || p.Waiting != 12 || p.Applies != p.Retimes || !p.Complete || !p.WaitingComplete {
				t.Errorf("of %d: %+v", of, p)
			}
		}
		if p := look(merchant + 1); p.Orders != 0 || p.Waiting != 0 || p.Applies != 0 {
			t.Errorf("of another merchant: %+v", p)
		}
		counted := look(0).Retimes
		if got := tl.retime(row); counted == 0 || !maps.Equal(got, map[fault.Code]int{"": int(counted)}) {
			t.Errorf("%d were counted, what came of them is %v", counted, got)
		}
		if p := look(0); p.Retimes != 0 || p.Applies != counted {
			t.Errorf("after the re-timing %+v, want %d orders to which it applies and none to move", p, counted)
		}
		tl.advance(31 * 24 * time.Hour)
		if p := look(0); p.Orders != 0 || !p.Complete {
			t.Errorf("a month later %+v", p)
		}
	})
}

// Of a policy that is not stored the share is what it says, and of another stage nothing waits.
func TestPreviewOfANewPolicy(t *testing.T) {
	withStages(t, func(t *testing.T, tl *till) {
		p := tl.policies()
		tl.many(10)
		for stage, waiting := range map[string]int64{policy.StagePay: 10, policy.StageShip: 0} {
			d := policy.Draft{Stage: stage, DurationMS: 3_600_000, Enabled: true, RolloutPercent: 30}
			trial, err := p.Try(t.Context(), chief, 0, d, policy.Change{})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := tl.Preview(t.Context(), trial, 0, 0); err != nil || got.Orders != 10 || got.Applies != 3 || got.Waiting != waiting || got.Retimes != waiting*3/10 {
				t.Errorf("%s: %+v, %v", stage, got, err)
			}
		}
	})
}
