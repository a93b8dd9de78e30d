package content

import (
	"context"
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

// A verdict that overtakes the answer to its question is acted on with that answer. The thing is locked before its hold there too:
// whoever has the thing locked gets at the hold.
func TestOvertakingVerdictLocksTheThingFirst(t *testing.T) {
	s := storetest.MySQL(t)
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
	insert(&model.MediaCheck{TraceID: "trace", Suggest: string(wechat.SuggestPass), CreatedAt: now})
	svc := New(Deps{Store: s, Now: func() model.Time { return now }, Log: slog.New(slog.DiscardHandler), WeChat: desk{}, Tasks: desk{}, Pictures: desk{}})
	lock := func(tx *store.Tx, id int64) error {
		var locked int64
		return tx.Raw("SELECT id FROM shoppers WHERE id = ?"+tx.ForUpdate(), id).Scan(&locked).Error
	}
	svc.Register(model.HoldAvatar, Effect{Lock: lock, Apply: func(*store.Tx, model.ContentHold, model.Time) error { return nil }})

	submitted := make(chan error, 1)
	tries := 0
	err := s.Tx(ctx, func(tx *store.Tx) error {
		if tries++; tries > 1 {
			return nil // it was rolled back for a deadlock
		}
		if err := lock(tx, thing.ID); err != nil {
			return err
		}
		go func() { submitted <- svc.submit(context.WithoutCancel(ctx), &hold) }()
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
	var got model.ContentHold
	if err := s.Read(ctx).Where("id = ?", hold.ID).Take(&got).Error; err != nil {
		t.Fatal(err)
	}
	if tries != 1 || got.State != model.HoldPassed || got.Label != 1 {
		t.Errorf("%d tries, hold %+v", tries, got)
	}
}
