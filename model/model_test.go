package model

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Shares add up to the total to the fen, none is negative, and each is within one fen of its exact proportion.
func TestShareAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := Fen(rapid.Int64Range(0, int64(MaxFen)).Draw(t, "total"))
		var weights []Fen
		var sum Fen
		for _, w := range rapid.SliceOfN(rapid.Int64Range(0, int64(MaxFen)), 1, 40).Draw(t, "weights") {
			weights = append(weights, Fen(w))
			sum += Fen(w)
		}
		var got Fen
		for i, s := range Share(total, weights) {
			got += s
			if s < 0 {
				t.Fatalf("share %d is %d", i, s)
			}
			if exact := float64(total) * float64(weights[i]) / float64(max(sum, 1)); sum > 0 && (float64(s) < exact-1.001 || float64(s) > exact+1.001) {
				t.Fatalf("share %d is %d, its proportion %f", i, s, exact)
			}
		}
		if got != total {
			t.Fatalf("shares add up to %d, want %d", got, total)
		}
	})
}

func TestShareByLargestRemainder(t *testing.T) {
	for _, c := range []struct {
		total   Fen
		weights []Fen
		want    []Fen
	}{
		{100, []Fen{1, 1, 1}, []Fen{34, 33, 33}},    // equal remainders go to the earlier
		{10, []Fen{1, 2, 3}, []Fen{2, 3, 5}},        // 1.67, 3.33, 5.00
		{1000, []Fen{19800, 3300}, []Fen{857, 143}}, // 857.14, 142.86
		{5, []Fen{0, 0}, []Fen{5, 0}},               // nothing to go by
		{0, []Fen{7}, []Fen{0}},
		{7, nil, nil},
	} {
		if got := Share(c.total, c.weights); !slices.Equal(got, c.want) {
			t.Errorf("Share(%d, %v) = %v, want %v", c.total, c.weights, got, c.want)
		}
	}
}

// However a line's pieces are refunded one after the other, the parts add up to the line's amount.
func TestPartsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := Fen(rapid.Int64Range(0, int64(MaxFen)).Draw(t, "amount"))
		total := rapid.Int64Range(1, 9999).Draw(t, "total")
		var done int64
		var got Fen
		for done < total {
			n := rapid.Int64Range(1, total-done).Draw(t, "quantity")
			part := PartOf(amount, done, n, total)
			if part < 0 {
				t.Fatalf("part %d", part)
			}
			got += part
			done += n
		}
		if got != amount {
			t.Fatalf("parts add up to %d, want %d", got, amount)
		}
	})
}

func TestTimeInJSON(t *testing.T) {
	for ms, want := range map[Time]string{
		1:             `"1970-01-01T00:00:00.001Z"`,
		1780000000000: `"2026-05-28T20:26:40.000Z"`,
	} {
		b, err := json.Marshal(ms)
		if err != nil || string(b) != want {
			t.Errorf("%d is %s (%v), want %s", int64(ms), b, err, want)
		}
		var back Time
		if err := json.Unmarshal(b, &back); err != nil || back != ms {
			t.Errorf("%s reads as %d (%v)", b, back, err)
		}
	}
	var t8 Time
	if err := json.Unmarshal([]byte(`"2026-05-29T04:26:40+08:00"`), &t8); err != nil || t8 != 1780000000000 {
		t.Errorf("with an offset: %d, %v", t8, err)
	}
	if err := json.Unmarshal([]byte(`"yesterday"`), &t8); err == nil {
		t.Error("yesterday was read as a time")
	}
	b, _ := json.Marshal(struct {
		At Time `json:"at,omitempty"`
	}{})
	if string(b) != "{}" {
		t.Errorf("a time that is not set is written: %s", b)
	}
}

// A deadline is rounded up, so that it never comes early.
func TestCeilTime(t *testing.T) {
	exact := time.UnixMilli(1780000000000)
	if CeilTime(exact) != 1780000000000 || CeilTime(exact.Add(1)) != 1780000000001 || CeilTime(exact.Add(time.Millisecond)) != 1780000000001 {
		t.Error("CeilTime does not round up to the next whole millisecond")
	}
}

// No order leaves closed or completed, and a closed order is reached only from where the design says.
func TestOrderTransitions(t *testing.T) {
	for _, end := range []OrderState{OrderClosed, OrderCompleted} {
		if len(OrderTransitions[end]) != 0 {
			t.Errorf("%s is not an end", end)
		}
	}
	if got := OrderTransitions.From(OrderClosed); !slices.Equal(got, []OrderState{OrderPaid, OrderPending}) {
		t.Errorf("closed is reached from %v", got)
	}
	if OrderTransitions.Allowed(OrderShipped, OrderClosed) || OrderTransitions.Allowed(OrderClosed, OrderPaid) || !OrderTransitions.Allowed(OrderPaid, OrderShipped) {
		t.Error("the table of orders is not the design's")
	}
}
