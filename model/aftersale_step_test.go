package model

import "testing"

// However often a parcel is corrected, its after-sale keeps a bounded number of steps, the first and the newest.
func TestStepsAreBounded(t *testing.T) {
	var steps AftersaleSteps
	for i := range 200 {
		steps = steps.With(AftersaleStep{At: Time(i)})
	}
	if len(steps) != 50 || steps[0].At != 0 || steps[1].At != 151 || steps[49].At != 199 {
		t.Errorf("%d steps from %v, %v to %v", len(steps), steps[0].At, steps[1].At, steps[len(steps)-1].At)
	}
}
