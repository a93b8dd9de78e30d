package event

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model/migration"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// The database is killed while messages are being delivered, and comes back: every effect is had once, and no attempt was
// counted.
func TestDatabaseIsKilledUnderTheRelay(t *testing.T) {
	server := testserver.StartMySQL(t)
	s, err := store.OpenMySQL(t.Context(), server.DSN(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := migration.Up(t.Context(), s.SQL(), string(s.Dialect())); err != nil {
		t.Fatal(err)
	}
	const messages = 20
	c := newClock()
	zeroEffects(t, s)
	for i := range messages {
		put(t, s, c, fmt.Sprintf("order:%d", i), 1)
	}
	begun, released := make(chan struct{}), make(chan struct{})
	sub := counting(s, c, func() {})
	effect, first := sub.Handle, sync.OnceFunc(func() { close(begun) })
	sub.Handle = func(ctx context.Context, m Message) error {
		first()
		<-released
		return effect(ctx, m)
	}
	r := NewRelay(s, c.now, slog.New(slog.DiscardHandler), []string{"order.paid"}, sub)
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-begun
	server.Kill()
	close(released)
	server.Start()
	// Leases that could not be given back, and pauses of what failed, pass as on a clock that runs fast.
	tick, enough := time.NewTicker(50*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for left := int64(messages); left > 0; {
		select {
		case <-tick.C:
			c.advance(time.Second)
		case <-enough:
			t.Fatalf("%d of %d messages are not sent a minute after the database came back", left, messages)
		}
		if err := s.Read(t.Context()).Raw("SELECT COUNT(*) FROM messages WHERE state <> 'sent'").Scan(&left).Error; err != nil {
			left = messages
		}
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if n := effects(t, s); n != messages {
		t.Errorf("%d effects, want %d", n, messages)
	}
	var counted int64
	if err := s.Read(t.Context()).Raw("SELECT COUNT(*) FROM messages WHERE attempts > 0").Scan(&counted).Error; err != nil || counted != 0 {
		t.Errorf("%d messages had an attempt counted (%v)", counted, err)
	}
}
