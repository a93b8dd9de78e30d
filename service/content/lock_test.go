package content

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout"
)

type desk struct{}

func (desk) CheckText(context.Context, string, wechat.ContentScene, string) (wechat.Verdict, error) {
	return wechat.Verdict{}, nil
}

func (desk) CheckPicture(context.Context, string, wechat.ContentScene, string) (string, error) {
	return "trace", nil
}
func (desk) Schedule(context.Context, ...timeout.Task) error { return nil }
func (desk) URL(key string) string                           { return "https://shop.example/" + key }

// overtaken makes a hold whose verdict has come before the answer that names its trace id.
func overtaken(t *testing.T, s *store.Store) (*Service, *model.ContentHold) {
	t.Helper()
	ctx, now := t.Context(), model.At(time.Now())
	insert := func(row any) {
		t.Helper()
		if err := s.Read(ctx).Create(row).Error; err != nil {
			t.Fatal(err)
		}
	}
	thing := model.Shopper{OpenID: "o1", CreatedAt: now, UpdatedAt: now}
	insert(&thing)
	hold := model.ContentHold{
		Kind: model.HoldAvatar, RefID: thing.ID, ShopperID: thing.ID, Text: "k", Reason: model.HoldWaiting, State: model.HoldHeld, NextAt: &now, Version: 1, CreatedAt: now,
	}
	insert(&hold)
	svc := New(Deps{Store: s, Now: func() model.Time { return now }, Log: slog.New(slog.DiscardHandler), WeChat: desk{}, Tasks: desk{}, Pictures: desk{}})
	svc.Register(model.HoldAvatar, Effect{Lock: lockShopper, Apply: func(*store.Tx, model.ContentHold, model.Time) error { return nil }})
	verdict := wechat.Push{Event: wechat.EventMediaCheck, Message: []byte(`{"trace_id": "trace", "errcode": 0, "result": {"suggest": "pass", "label": 100}}`)}
	if err := s.Tx(ctx, func(tx *store.Tx) error { return svc.Pushes()[verdict.Event](tx, verdict) }); err != nil {
		t.Fatal(err)
	}
	return svc, &hold
}

func lockShopper(tx *store.Tx, id int64) error {
	var locked int64
	return tx.Raw("SELECT id FROM shoppers WHERE id = ?"+tx.ForUpdate(), id).Scan(&locked).Error
}

func holdNow(t *testing.T, s *store.Store, id int64) model.ContentHold {
	t.Helper()
	h, err := holdByID(s.Read(t.Context()), id)
	if err != nil || h == nil {
		t.Fatal(h, err)
	}
	return *h
}

// A verdict that overtakes the answer to its question is acted on with that answer.
func TestAVerdictOvertakesItsAnswer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		svc, hold := overtaken(t, s)
		if got := holdNow(t, s, hold.ID); got.State != model.HoldHeld {
			t.Errorf("before the answer: %+v", got)
		}
		if err := svc.submit(t.Context(), hold); err != nil {
			t.Fatal(err)
		}
		if got := holdNow(t, s, hold.ID); got.State != model.HoldPassed || got.TraceID != "trace" {
			t.Errorf("after it: %+v", got)
		}
	})
}

// A hold whose verdict cannot be acted on stays the task that it was, whose failures are counted.
func TestFailedCheckIsTheSameTask(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		svc, hold := overtaken(t, s)
		poison := errors.New("poison")
		svc.Register(model.HoldAvatar, Effect{Lock: lockShopper, Apply: func(*store.Tx, model.ContentHold, model.Time) error { return poison }})
		for range 2 {
			if out := svc.due(t.Context(), hold.ID, *hold.NextAt); !errors.Is(out.Err(), poison) || out.String() != "failed" {
				t.Errorf("%s, %v", out, out.Err())
			}
		}
		if got := holdNow(t, s, hold.ID); got.NextAt == nil || *got.NextAt != *hold.NextAt || got.Attempts != 2 {
			t.Errorf("%+v", got)
		}
	})
}

// Then too the thing is locked before its hold: whoever has the thing locked gets at the hold.
func TestOvertakingVerdictLocksTheThingFirst(t *testing.T) {
	s := storetest.MySQL(t)
	svc, hold := overtaken(t, s)
	ctx := t.Context()
	submitted := make(chan error, 1)
	tries := 0
	err := s.Tx(ctx, func(tx *store.Tx) error {
		if tries++; tries > 1 {
			return nil // it was rolled back for a deadlock
		}
		if err := lockShopper(tx, hold.RefID); err != nil {
			return err
		}
		go func() { submitted <- svc.submit(context.WithoutCancel(ctx), hold) }()
		if err := storetest.LockWait(ctx, s); err != nil {
			return err
		}
		return tx.Exec("UPDATE content_holds SET label = 1 WHERE id = ?", hold.ID).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-submitted; err != nil {
		t.Fatal(err)
	}
	if got := holdNow(t, s, hold.ID); tries != 1 || got.State != model.HoldPassed || got.Label != 1 {
		t.Errorf("%d tries, hold %+v", tries, got)
	}
}
