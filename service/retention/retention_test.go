package retention

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

const (
	now model.Time = 1_800_000_000_000
	day            = 24 * time.Hour
)

func cleaner(s *store.Store, rules ...Rule) *Cleaner {
	return New(Deps{Store: s, Now: func() model.Time { return now }, Log: slog.New(slog.DiscardHandler), Rules: rules})
}

// What is older than the rule says goes, however many batches it is; what is exactly as old, or younger, stays.
func TestOldRowsGo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		rows := make([]model.PushMessage, 2*batchRows+300)
		for i := range rows {
			age := 30*day + time.Duration(i)*time.Millisecond - 2*time.Millisecond
			rows[i] = model.PushMessage{MessageID: fmt.Sprintf("push-%d", i), ReceivedAt: now.Add(-age)}
		}
		if err := s.Read(t.Context()).CreateInBatches(rows, 200).Error; err != nil {
			t.Fatal(err)
		}
		c := cleaner(s, Rule{Table: "no_such_table", Key: "id", Since: "at", Keep: day},
			Rule{Table: "push_messages", Key: "message_id", Since: "received_at", Keep: 30 * day})
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		var left []string
		storetest.Await(t, 20*time.Second, "the removal of what is old, beside a rule that fails", func() bool {
			left = nil
			if err := s.Read(t.Context()).Raw("SELECT message_id FROM push_messages ORDER BY received_at DESC").Scan(&left).Error; err != nil {
				t.Fatal(err)
			}
			return len(left) <= 3
		})
		if want := []string{"push-0", "push-1", "push-2"}; !slices.Equal(left, want) {
			t.Errorf("left: %v, want %v", left, want)
		}
	})
}
