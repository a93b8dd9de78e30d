package order

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/timeout/stall"
)

// orderPage is what a shop's order page is called.
const orderPage = "pages/order/detail?out_trade_no=${商品订单号}"

// teller takes the path of the order centre, or fails the next so many times.
type teller struct {
	mu    sync.Mutex
	app   string
	fails int
	told  []string
	heard chan struct{}
}

func (f *teller) AppID() string { return f.app }

func (f *teller) SetOrderPath(_ context.Context, path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails > 0 {
		f.fails--
		return errors.New("WeChat is away")
	}
	f.told = append(f.told, path)
	if f.heard != nil {
		f.heard <- struct{}{}
	}
	return nil
}

func (f *teller) centre(sh *shop, path string) *Centre {
	c := NewCentre(CentreOptions{Store: sh.Store, Now: sh.Now, Log: slog.New(slog.DiscardHandler), WeChat: f, Path: path})
	c.pause = time.Millisecond
	return c
}

// WeChat is told once, however many replicas and starts there are, and again for another page or another mini-program.
func TestOrderCentreIsToldOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		sh := newShop(t, s)
		wx := &teller{app: "wx1"}
		told := func(path string, replicas, want int) {
			t.Helper()
			together(replicas, func(int) error { _, err := wx.centre(sh, path).register(context.Background()); return err })
			done, err := wx.centre(sh, path).register(t.Context())
			if !done || err != nil || len(wx.told) != want {
				t.Errorf("%d calls, want %d; done %v, %v", len(wx.told), want, done, err)
			}
			sh.advance(centreClaim)
		}
		told(orderPage, 8, 1)
		told(orderPage, 1, 1)
		told("pages/o/o?n=${商品订单号}", 8, 2)
		wx.app = "wx2"
		told("pages/o/o?n=${商品订单号}", 1, 3)
	})
}

// A replica that was killed in the middle keeps others out only for as long as its claim.
func TestOrderCentreAfterAKill(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		sh := newShop(t, s)
		err := s.Tx(t.Context(), func(tx *store.Tx) error {
			mine, err := claimSetting(tx, settingCentreClaim, sh.Now(), sh.Now().Add(centreClaim))
			if err == nil && !mine {
				err = errors.New("nobody has it, and it cannot be had")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		wx := &teller{app: "wx1"}
		if done, err := wx.centre(sh, orderPage).register(t.Context()); done || err != nil || len(wx.told) != 0 {
			t.Errorf("while another is at it: %v, %v, %v", done, err, wx.told)
		}
		sh.advance(centreClaim)
		if done, err := wx.centre(sh, orderPage).register(t.Context()); !done || err != nil || len(wx.told) != 1 {
			t.Errorf("after its claim: %v, %v, %v", done, err, wx.told)
		}
	})
}

// The start waits for nothing; WeChat is told when it is back.
func TestOrderCentreIsToldWhenWeChatIsBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		sh := newShop(t, s)
		wx := &teller{app: "wx1", fails: 5, heard: make(chan struct{}, 1)}
		c := wx.centre(sh, orderPage)
		c.Now = func() model.Time { sh.advance(centreClaim); return sh.Now() } // each failure's claim has ended by the next try
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, came := stall.Receive(wx.heard, 20*time.Second); !came {
			t.Fatal("WeChat was never told")
		}
		<-c.done
		if err := c.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		nothing := wx.centre(sh, "")
		if err := errors.Join(nothing.Start(t.Context()), nothing.Stop(t.Context())); err != nil || len(wx.told) != 1 {
			t.Errorf("%v, %v", err, wx.told)
		}
	})
}

// The simulated WeChat takes the real client's call, and refuses a page that cannot tell one order from another.
func TestOrderCentreAtWeChat(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		if err := tl.line.SetOrderPath(t.Context(), orderPage); err != nil {
			t.Error(err)
		}
		if err := tl.line.SetOrderPath(t.Context(), "pages/order/detail"); err == nil {
			t.Error("a page without the number was taken")
		}
	})
}
