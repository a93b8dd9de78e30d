package app_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/tidemall/tidemall/config"
	"github.com/tidemall/tidemall/service/app"
)

// Nothing of a shop runs, or is so much as made, by the machine's clock: when New returns, the shop's is right already, and so it
// is for whatever Start starts, in whichever order.
func TestTheClockIsRightBeforeAnythingStarts(t *testing.T) {
	redis := miniredis.RunT(t)
	at := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	redis.SetTime(at)
	cfg, _, err := config.Load("", []string{
		"TIDEMALL_DATA_DIR=" + t.TempDir(), "TIDEMALL_HTTP_ADDR=127.0.0.1:0", "TIDEMALL_WECHAT_SANDBOX_ADDR=127.0.0.1:0", "TIDEMALL_DEMO=false",
		"TIDEMALL_REDIS_ADDRS=" + redis.Addr(),
	})
	if err != nil {
		t.Fatal(err)
	}
	shop, err := app.New(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := shop.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	if off := shop.Now().Std().Sub(at).Abs(); off > time.Hour {
		t.Errorf("the shop's clock is %v off that of Redis", off)
	}
}
