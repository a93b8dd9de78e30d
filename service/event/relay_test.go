package event

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/timeout/stall"
)

const merchant = 3

// clock stands still until it is moved.
type clock struct{ ms atomic.Int64 }

func newClock() *clock                   { c := &clock{}; c.ms.Store(1_700_000_000_000); return c }
func (c *clock) now() model.Time         { return model.Time(c.ms.Load()) }
func (c *clock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// deliveries remembers what a subscriber was given.
type deliveries struct {
	mu   sync.Mutex
	seen []string
}

func (d *deliveries) add(m Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = append(d.seen, fmt.Sprintf("%s/%d", m.Key, m.Seq))
}

func (d *deliveries) of(key string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var of []string
	for _, s := range d.seen {
		if strings.HasPrefix(s, key+"/") {
			of = append(of, s)
		}
	}
	return of
}

// idle is a relay whose rounds the test runs itself.
func idle(t *testing.T, s *store.Store, c *clock, subs ...Subscriber) *Relay {
	t.Helper()
	topics := map[string]bool{}
	for _, sub := range subs {
		topics[sub.Topic] = true
	}
	var names []string
	for topic := range topics {
		names = append(names, topic)
	}
	r := NewRelay(s, c.now, slog.New(slog.DiscardHandler), names, subs...)
	if err := r.check(); err != nil {
		t.Fatal(err)
	}
	r.deliver, r.force = context.WithCancel(t.Context())
	return r
}

func drain(t *testing.T, r *Relay) {
	t.Helper()
	if err := r.drain(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, s *store.Store, c *clock, key string, seqs ...int64) {
	t.Helper()
	var msgs []New
	for _, seq := range seqs {
		msgs = append(msgs, New{Topic: "order.paid", Key: key, Seq: seq, MerchantID: merchant, Payload: map[string]int64{"seq": seq}, At: c.now()})
	}
	if err := s.Tx(t.Context(), func(tx *store.Tx) error { return Append(tx, msgs...) }); err != nil {
		t.Fatal(err)
	}
}

func row(t *testing.T, s *store.Store, key string, seq int64) model.Message {
	t.Helper()
	var m model.Message
	if err := s.Read(t.Context()).Where("msg_key = ? AND seq = ?", key, seq).Take(&m).Error; err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMessagesOfAKeyArriveInOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		c, got := newClock(), &deliveries{}
		r := idle(t, s, c, Subscriber{"log", "order.paid", func(_ context.Context, m Message) error { got.add(m); return nil }})
		put(t, s, c, "order:1", 3, 2, 1, 4)
		put(t, s, c, "order:2", 1, 2)
		drain(t, r)
		if want := []string{"order:1/1", "order:1/2", "order:1/3", "order:1/4"}; !reflect.DeepEqual(got.of("order:1"), want) {
			t.Errorf("got %v, want %v", got.of("order:1"), want)
		}
		if want := []string{"order:2/1", "order:2/2"}; !reflect.DeepEqual(got.of("order:2"), want) {
			t.Errorf("got %v, want %v", got.of("order:2"), want)
		}
		if m := row(t, s, "order:1", 4); m.State != model.MessageSent || m.SentAt != c.now() || m.LeaseToken != "" {
			t.Errorf("row is %+v, want sent at %v", m, c.now())
		}
	})
}

// A full look of rows that wait must not hide the row they wait for, even if that one comes last.
func TestHeadIsFoundBehindAFullLook(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		c, got := newClock(), &deliveries{}
		r := idle(t, s, c, Subscriber{"log", "order.paid", func(_ context.Context, m Message) error { got.add(m); return nil }})
		var later []int64
		for seq := int64(lookRows + 50); seq > 1; seq-- {
			later = append(later, seq)
		}
		put(t, s, c, "order:1", later...)
		put(t, s, c, "order:1", 1)
		if _, err := r.round(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := []string{"order:1/1"}; !reflect.DeepEqual(got.of("order:1"), want) {
			t.Errorf("the first round delivered %v, want %v", got.of("order:1"), want)
		}
		var due int64
		err := s.Read(t.Context()).Raw("SELECT COUNT(*) FROM messages WHERE state = 'pending' AND due_at <= ?", c.now()).Scan(&due).Error
		if err != nil || due != 49 { // 250 rows: 200 were read and put off, and one was sent
			t.Errorf("%d rows are due after the first round (%v), want 49", due, err)
		}
		drain(t, r)
		all := got.of("order:1")
		if len(all) != lookRows+50 || all[len(all)-1] != fmt.Sprintf("order:1/%d", lookRows+50) {
			t.Errorf("%d were delivered, the last being %s", len(all), all[len(all)-1])
		}
	})
}

// poisoned makes order:1/1 fail until it is dead.
func poisoned(t *testing.T, s *store.Store, c *clock, got *deliveries, broken *atomic.Bool) (*Relay, model.Message) {
	t.Helper()
	broken.Store(true)
	r := idle(t, s, c, Subscriber{"log", "order.paid", func(_ context.Context, m Message) error {
		if broken.Load() && m.Key == "order:1" && m.Seq == 1 {
			return errors.New("坏 payload")
		}
		got.add(m)
		return nil
	}})
	put(t, s, c, "order:1", 1, 2)
	put(t, s, c, "order:2", 1, 2)
	drain(t, r)
	if want := []string{"order:2/1", "order:2/2"}; !reflect.DeepEqual(got.of("order:2"), want) {
		t.Fatalf("the other key got %v, want %v at once", got.of("order:2"), want)
	}
	for range maxAttempts - 1 {
		if m := row(t, s, "order:1", 1); m.State != model.MessagePending {
			t.Fatalf("state %s after %d attempts", m.State, m.Attempts)
		}
		c.advance(backoffCap)
		drain(t, r)
	}
	m := row(t, s, "order:1", 1)
	if m.State != model.MessageDead || m.Attempts != maxAttempts || !strings.Contains(m.Error, "log: 坏 payload") {
		t.Fatalf("row is %+v, want dead after %d attempts with its error", m, maxAttempts)
	}
	c.advance(time.Hour)
	drain(t, r)
	if len(got.of("order:1")) != 0 {
		t.Fatalf("%v passed a dead message", got.of("order:1"))
	}
	if behind := row(t, s, "order:1", 2); behind.DueAt != never || behind.State != model.MessagePending {
		t.Errorf("behind a dead message is %+v, want it put off for as long", behind)
	}
	return r, m
}

func TestPoisonMessageIsSkipped(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		c, got, broken := newClock(), &deliveries{}, &atomic.Bool{}
		r, m := poisoned(t, s, c, got, broken)
		if _, err := r.Skip(t.Context(), merchant+1, m.ID); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("another merchant's skip: %v, want not_found", err)
		}
		skipped, err := r.Skip(t.Context(), merchant, m.ID)
		if err != nil || skipped.State != model.MessageSkipped {
			t.Fatalf("skip: %v, state %s", err, skipped.State)
		}
		drain(t, r)
		if want := []string{"order:1/2"}; !reflect.DeepEqual(got.of("order:1"), want) {
			t.Errorf("got %v, want %v", got.of("order:1"), want)
		}
		if _, err := r.Skip(t.Context(), merchant, m.ID); !fault.Is(err, fault.StateConflict) {
			t.Errorf("second skip: %v, want state_conflict", err)
		}
	})
}

func TestPoisonMessageIsRetried(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		c, got, broken := newClock(), &deliveries{}, &atomic.Bool{}
		r, m := poisoned(t, s, c, got, broken)
		broken.Store(false)
		revived, err := r.Retry(t.Context(), merchant, m.ID)
		if err != nil || revived.State != model.MessagePending || revived.Attempts != 0 {
			t.Fatalf("retry: %v, %+v", err, revived)
		}
		drain(t, r)
		if want := []string{"order:1/1", "order:1/2"}; !reflect.DeepEqual(got.of("order:1"), want) {
			t.Errorf("got %v, want %v", got.of("order:1"), want)
		}
		if _, err := r.Retry(t.Context(), merchant, m.ID); !fault.Is(err, fault.StateConflict) {
			t.Errorf("retry of a sent message: %v, want state_conflict", err)
		}
		rows, total, err := r.List(t.Context(), Filter{MerchantID: merchant, State: model.MessageSent}, store.Page{Number: 1, Limit: 3})
		if err != nil || total != 4 || len(rows) != 3 || rows[0].ID < rows[1].ID {
			t.Errorf("list: %d of %d (%v), want the 3 newest of 4", len(rows), total, err)
		}
	})
}

func TestOutageNeverCounts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		c, got, away := newClock(), &deliveries{}, &atomic.Bool{}
		away.Store(true)
		r := idle(t, s, c, Subscriber{"log", "order.paid", func(_ context.Context, m Message) error {
			if away.Load() {
				return fmt.Errorf("effect: %w", fault.New(fault.DatabaseUnavailable))
			}
			got.add(m)
			return nil
		}})
		put(t, s, c, "order:1", 1)
		for range 4 * maxAttempts {
			drain(t, r)
			c.advance(outageWait + time.Second)
		}
		if m := row(t, s, "order:1", 1); m.State != model.MessagePending || m.Attempts != 0 || m.Error == "" {
			t.Errorf("row is %+v, want pending with no attempt counted and its error", m)
		}
		away.Store(false)
		drain(t, r)
		if len(got.of("order:1")) != 1 {
			t.Error("not delivered after the outage")
		}
	})
}

func TestPanicOfASubscriberIsItsOwnError(t *testing.T) {
	s, c, got := storetest.SQLite(t), newClock(), &deliveries{}
	r := idle(t, s, c,
		Subscriber{"bad", "order.paid", func(context.Context, Message) error { panic("boom") }},
		Subscriber{"good", "order.paid", func(_ context.Context, m Message) error { got.add(m); return nil }})
	put(t, s, c, "order:1", 1)
	drain(t, r)
	if m := row(t, s, "order:1", 1); m.Attempts != 1 || !strings.Contains(m.Error, "bad: panic: boom") {
		t.Errorf("row is %+v, want one attempt with the panic", m)
	}
	if len(got.of("order:1")) != 1 {
		t.Error("the other subscriber of the topic was not called")
	}
}

// counting is a subscriber whose effect is a counter in the database, once a message.
func counting(s *store.Store, c *clock, effect func()) Subscriber {
	return Subscriber{"counting", "order.paid", func(ctx context.Context, m Message) error {
		first := false
		err := s.Tx(ctx, func(tx *store.Tx) (err error) {
			if first, err = Once(tx, "counting", m, c.now()); err != nil || !first {
				return err
			}
			return tx.Exec("UPDATE settings SET updated_at = updated_at + 1 WHERE name = 'effects'").Error
		})
		if err == nil && first {
			effect()
		}
		return err
	}}
}

func effects(t *testing.T, s *store.Store) (n int64) {
	t.Helper()
	if err := s.Read(t.Context()).Raw("SELECT updated_at FROM settings WHERE name = 'effects'").Scan(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}

func zeroEffects(t *testing.T, s *store.Store) {
	t.Helper()
	if err := s.Read(t.Context()).Exec("INSERT INTO settings (name, value, updated_at) VALUES ('effects', '', 0)").Error; err != nil {
		t.Fatal(err)
	}
}

// The clock stands still, so a row that was put off and then forgotten would never arrive.
func TestTwoRelaysShareTheWork(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const keys, each = 40, 5
		c := newClock()
		zeroEffects(t, s)
		for k := range keys {
			put(t, s, c, fmt.Sprintf("order:%d", k), 1, 2, 3, 4, 5)
		}
		var done atomic.Int64
		all := make(chan struct{})
		sub := counting(s, c, func() {
			if done.Add(1) == keys*each {
				close(all)
			}
		})
		var relays []*Relay
		for range 2 {
			r := NewRelay(s, c.now, slog.New(slog.DiscardHandler), []string{"order.paid"}, sub)
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			relays = append(relays, r)
		}
		if _, came := stall.Receive(all, time.Minute); !came {
			t.Errorf("%d of %d were delivered", done.Load(), keys*each)
		}
		for _, r := range relays {
			if err := r.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if n := effects(t, s); n != keys*each {
			t.Errorf("%d effects, want %d", n, keys*each)
		}
		var sent int64
		if err := s.Read(t.Context()).Raw("SELECT COUNT(*) FROM messages WHERE state = 'sent'").Scan(&sent).Error; err != nil || sent != keys*each {
			t.Errorf("%d rows are sent (%v), want %d", sent, err, keys*each)
		}
	})
}

func TestOnlyOneRelayLeasesAMessage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		c := newClock()
		sub := Subscriber{"log", "order.paid", func(context.Context, Message) error { return nil }}
		a, b := idle(t, s, c, sub), idle(t, s, c, sub)
		put(t, s, c, "order:1", 1)
		put(t, s, c, "order:2", 1)
		both, err := a.look(t.Context())
		if err != nil || len(both.heads) != 2 {
			t.Fatalf("look: %v (%v), want both", both.heads, err)
		}
		first, err := a.lease(t.Context(), both.heads[:1])
		if err != nil || len(first.msgs) != 1 {
			t.Fatalf("first lease: %+v (%v)", first, err)
		}
		second, err := b.lease(t.Context(), both.heads)
		if err != nil || len(second.msgs) != 1 || second.msgs[0].ID != both.heads[1] {
			t.Errorf("second lease: %+v (%v), want the message that was left", second, err)
		}
	})
}

func TestKillBetweenLeaseAndMarkDeliversAgain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		c := newClock()
		zeroEffects(t, s)
		calls := 0
		sub := counting(s, c, func() {})
		handle := sub.Handle
		sub.Handle = func(ctx context.Context, m Message) error { calls++; return handle(ctx, m) }
		put(t, s, c, "order:1", 1)
		killed := idle(t, s, c, sub)
		killed.crash = func() bool { return true }
		drain(t, killed)
		next := idle(t, s, c, sub)
		drain(t, next)
		if calls != 1 {
			t.Errorf("%d calls while the lease lasts, want 1", calls)
		}
		c.advance(leaseFor)
		drain(t, next)
		if m := row(t, s, "order:1", 1); calls != 2 || m.State != model.MessageSent {
			t.Errorf("%d calls, state %s after the lease; want 2, sent", calls, m.State)
		}
		if n := effects(t, s); n != 1 {
			t.Errorf("%d effects, want 1", n)
		}
		// The killed one comes back to life with a lease that is not its own any more.
		killed.mark(batch{token: "old"}, []result{{Message: Message{ID: row(t, s, "order:1", 1).ID}, err: errors.New("late"), own: true}})
		if m := row(t, s, "order:1", 1); m.State != model.MessageSent || m.Attempts != 0 {
			t.Errorf("row is %+v after a mark with an old token, want it untouched", m)
		}
	})
}

func TestStartRefusesWhatWouldLoseMessages(t *testing.T) {
	s, c := storetest.SQLite(t), newClock()
	ok := func(context.Context, Message) error { return nil }
	for name, subs := range map[string][]Subscriber{
		"topic order.paid has no subscriber": {},
		"unknown topic order.lost":           {{"a", "order.paid", ok}, {"b", "order.lost", ok}},
		"two subscribers are named a":        {{"a", "order.paid", ok}, {"a", "order.paid", ok}},
		"needs a name":                       {{"a", "order.paid", nil}},
	} {
		r := NewRelay(s, c.now, slog.New(slog.DiscardHandler), []string{"order.paid"}, subs...)
		if err := r.Start(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Start: %v, want an error that says %q", err, name)
		}
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestWakeDeliversWithoutWaitingForThePoll(t *testing.T) {
	s, c := storetest.SQLite(t), newClock()
	arrived := make(chan string, 2)
	r := NewRelay(s, c.now, slog.New(slog.DiscardHandler), []string{"order.paid"},
		Subscriber{"log", "order.paid", func(_ context.Context, m Message) error { arrived <- m.Key; return nil }})
	r.poll = time.Hour
	put(t, s, c, "order:1", 1)
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"order:1", "order:2"} { // what was there at the start, and what came later
		if i > 0 {
			put(t, s, c, want, 1)
			r.Wake()
		}
		if got, came := stall.Receive(arrived, 30*time.Second); got != want {
			t.Errorf("got %q (%v), want %s", got, came, want)
		}
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStopFinishesWhatBeganAndGivesTheRestBack(t *testing.T) {
	s, c := storetest.SQLite(t), newClock()
	leaks := goleak.IgnoreCurrent()
	const messages = 3 * deliverers
	for i := range messages {
		put(t, s, c, fmt.Sprintf("order:%d", i), 1)
	}
	arrived, release := make(chan string, messages), make(chan struct{})
	r := NewRelay(s, c.now, slog.New(slog.DiscardHandler), []string{"order.paid"},
		Subscriber{"slow", "order.paid", func(_ context.Context, m Message) error { arrived <- m.Key; <-release; return nil }})
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var begun []string
	for range deliverers {
		begun = append(begun, <-arrived)
	}
	stopped := make(chan error)
	go func() { stopped <- r.Stop(t.Context()) }()
	<-r.loop.Done()
	close(release)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if err := goleak.Find(leaks); err != nil {
		t.Error(err)
	}
	if len(arrived) != 0 {
		t.Errorf("%d deliveries began after Stop", len(arrived))
	}
	for i := range messages {
		key := fmt.Sprintf("order:%d", i)
		m := row(t, s, key, 1)
		if sent := slices.Contains(begun, key); sent != (m.State == model.MessageSent) || !sent && (m.DueAt != c.now() || m.LeaseToken != "" || m.Attempts != 0) {
			t.Errorf("begun %v, row %+v; want begun ones sent and the others due now without a lease", sent, m)
		}
	}
}

func TestStopEndsDeliveriesThatHang(t *testing.T) {
	s, c := storetest.SQLite(t), newClock()
	begun := make(chan struct{}, 1)
	r := NewRelay(s, c.now, slog.New(slog.DiscardHandler), []string{"order.paid"},
		Subscriber{"hang", "order.paid", func(ctx context.Context, _ Message) error {
			begun <- struct{}{}
			<-ctx.Done()
			return errors.New("cut off")
		}})
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, s, c, "order:1", 1)
	r.Wake()
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Stop: %v, want canceled", err)
	}
	if m := row(t, s, "order:1", 1); m.State != model.MessagePending || m.Attempts != 0 || m.DueAt != c.now() {
		t.Errorf("row is %+v, want it given back", m)
	}
}

func TestOldMessagesAndReceiptsAreRemoved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		c, broken := newClock(), &deliveries{}
		zeroEffects(t, s)
		fail := Subscriber{"failing", "order.paid", func(_ context.Context, m Message) error {
			if m.Key == "order:bad" {
				return errors.New("no")
			}
			broken.add(m)
			return nil
		}}
		r := idle(t, s, c, counting(s, c, func() {}), fail)
		for i := range 5 {
			put(t, s, c, fmt.Sprintf("order:%d", i), 1)
		}
		put(t, s, c, "order:bad", 1)
		for range maxAttempts {
			drain(t, r)
			c.advance(backoffCap)
		}
		c.advance(Retention)
		put(t, s, c, "order:new", 1)
		drain(t, r)
		if err := r.clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		var keys []string
		if err := s.Read(t.Context()).Raw("SELECT msg_key FROM messages ORDER BY id").Scan(&keys).Error; err != nil {
			t.Fatal(err)
		}
		if want := []string{"order:bad", "order:new"}; !reflect.DeepEqual(keys, want) {
			t.Errorf("messages left: %v, want %v", keys, want)
		}
		var receipts int64
		if err := s.Read(t.Context()).Raw("SELECT COUNT(*) FROM subscriber_receipts").Scan(&receipts).Error; err != nil || receipts != 2 {
			t.Errorf("%d receipts left (%v), want those of the two messages", receipts, err)
		}
		// The dead one's counter was raised once; its receipt keeps a retry from raising it again.
		if _, err := r.Retry(t.Context(), merchant, row(t, s, "order:bad", 1).ID); err != nil {
			t.Fatal(err)
		}
		drain(t, r)
		if n := effects(t, s); n != 7 {
			t.Errorf("%d effects, want 7", n)
		}
	})
}

func TestTraceTravelsInTheRow(t *testing.T) {
	s, c := storetest.SQLite(t), newClock()
	id := trace.TraceID{1, 2, 3}
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: trace.SpanID{4}, TraceFlags: trace.FlagsSampled}))
	var got trace.SpanContext
	r := idle(t, s, c, Subscriber{"log", "order.paid", func(ctx context.Context, _ Message) error { got = trace.SpanContextFromContext(ctx); return nil }})
	err := s.Tx(ctx, func(tx *store.Tx) error {
		return Append(tx, New{Topic: "order.paid", Key: "order:1", Seq: 1, MerchantID: merchant, At: c.now()})
	})
	if err != nil {
		t.Fatal(err)
	}
	drain(t, r)
	if got.TraceID() != id || !got.IsSampled() {
		t.Errorf("the subscriber saw trace %v, want %v", got.TraceID(), id)
	}
}

// A delivery is a span in the trace of the change; that of a message outside any recorded trace, and the relay's own work, is none.
func TestDeliveriesAreSpansOfTheChangesTrace(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		kept := tracetest.NewInMemoryExporter()
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)).Tracer("test")
		c := newClock()
		s.Trace(tracer)
		r := idle(t, s, c, Subscriber{"log", "order.paid", func(ctx context.Context, m Message) error {
			if m.Key == "order:3" {
				return errors.New("call 13800138000")
			}
			return s.Tx(ctx, func(tx *store.Tx) error { _, err := Once(tx, "log", m, c.now()); return err })
		}})
		r.Trace(tracer)
		const recorded, not = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319d-b7ad6b7169203331-00"
		for i, parent := range []string{recorded, not, recorded} {
			m := New{Topic: "order.paid", Key: fmt.Sprintf("order:%d", i+1), Seq: 1, MerchantID: merchant, At: c.now(), Trace: parent}
			if err := s.Tx(t.Context(), func(tx *store.Tx) error { return Append(tx, m) }); err != nil {
				t.Fatal(err)
			}
		}
		put(t, s, c, "order:4", 1)
		drain(t, r)
		var got []string
		for _, span := range kept.GetSpans() {
			if span.SpanContext.TraceID().String() != recorded[3:35] {
				t.Errorf("span %s in trace %s", span.Name, span.SpanContext.TraceID())
			}
			if strings.Contains(fmt.Sprint(span), "13800138000") {
				t.Errorf("span %s tells a phone number", span.Name)
			}
			if span.Name == "deliver order.paid" {
				got = append(got, span.Parent.SpanID().String()+" "+span.Status.Code.String())
			}
		}
		slices.Sort(got)
		if want := []string{recorded[36:52] + " Error", recorded[36:52] + " Unset"}; !slices.Equal(got, want) {
			t.Errorf("deliveries %v, want %v", got, want)
		}
		if n := len(kept.GetSpans()); n != 2+3 { // begin, receipt, commit of the subscriber of the first
			t.Errorf("%d spans", n)
		}
	})
}

func TestFiguresCountWaitingDeadAndDelivered(t *testing.T) {
	s, c := storetest.SQLite(t), newClock()
	r := idle(t, s, c, Subscriber{"picky", "order.paid", func(_ context.Context, m Message) error {
		switch m.Key {
		case "order:1":
			return errors.New("no")
		case "order:2":
			return fault.New(fault.DatabaseUnavailable)
		}
		return nil
	}})
	for i := range 4 {
		put(t, s, c, fmt.Sprintf("order:%d", i), 1)
	}
	put(t, s, c, "order:1", 2)
	for range maxAttempts {
		drain(t, r)
		c.advance(backoffCap)
	}
	if err := r.count(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := `
# HELP tidemall_message_deliveries_total Deliveries by topic and result.
# TYPE tidemall_message_deliveries_total counter
tidemall_message_deliveries_total{result="dead",topic="order.paid"} 1
tidemall_message_deliveries_total{result="failed",topic="order.paid"} 4
tidemall_message_deliveries_total{result="outage",topic="order.paid"} 5
tidemall_message_deliveries_total{result="sent",topic="order.paid"} 2
# HELP tidemall_messages_dead Messages that wait for a person, as of the last count.
# TYPE tidemall_messages_dead gauge
tidemall_messages_dead 1
# HELP tidemall_messages_waiting Messages that are not delivered yet, as of the last count.
# TYPE tidemall_messages_waiting gauge
tidemall_messages_waiting 2
`
	if err := testutil.CollectAndCompare(r, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestAppendRollsBackWithItsChangeAndRefusesAVersionTwice(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		c := newClock()
		put(t, s, c, "order:1", 1)
		err := s.Tx(t.Context(), func(tx *store.Tx) error {
			return Append(tx, New{Topic: "order.paid", Key: "order:1", Seq: 2, At: c.now()}, New{Topic: "order.paid", Key: "order:1", Seq: 1, At: c.now()})
		})
		if !store.IsDuplicate(err) {
			t.Errorf("a version twice: %v, want a duplicate", err)
		}
		for _, m := range []New{{Topic: "order.paid", Key: "order:1", At: 1}, {Topic: "order.paid", Key: "order:1", Seq: 2}, {Key: "order:1", Seq: 2, At: 1}, {Topic: "order.paid", Seq: 2, At: 1}} {
			if err := s.Tx(t.Context(), func(tx *store.Tx) error { return Append(tx, m) }); err == nil {
				t.Errorf("%+v was appended", m)
			}
		}
		var n int64
		if err := s.Read(t.Context()).Raw("SELECT COUNT(*) FROM messages").Scan(&n).Error; err != nil || n != 1 {
			t.Errorf("%d messages (%v), want the first one only", n, err)
		}
	})
}
