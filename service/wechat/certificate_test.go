package wechat_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemall/tidemall/service/wechat"
)

// Everything that is verified, and every code, whatever WeChat signs with and however it spells.
func TestEveryFlavourOfWeChat(t *testing.T) {
	suite := []func(*testing.T){
		TestPayQueryRefund, TestC15_SameParametersReuseTheNumber, TestT43_ChangedParametersNeedANewNumber, TestC02_PaidInAnySpellingAndStatus,
		TestKindsOfPayErrors, TestC10_TimedOutPrepayIsThere, TestRefundRules, TestN08_N09_UnverifiedNotices, TestN06_AgeOfNotices,
		TestP6_P7_NoticesThatPanicTheLibrary, TestN13_N14_NoticesThatDoNotFit, TestN03_AmountsComeOutAsSent, TestResendsKeepTheirID,
		TestTradeBill, TestB02_NoBillAndNotYet, TestBillThatIsNotWhatWasAnnounced,
	}
	t.Cleanup(func() { flavour = nil })
	for _, mode := range []string{wechat.PayPublicKey, wechat.PayCertificate, wechat.PayBoth} {
		for _, spelling := range []string{"new", "old"} {
			flavour = &struct{ mode, spelling string }{mode, spelling}
			for _, test := range suite {
				name := runtime.FuncForPC(reflect.ValueOf(test).Pointer()).Name()
				t.Run(mode+"/"+spelling+name[strings.LastIndex(name, "."):], test)
			}
		}
	}
}

// certified is a world of an old merchant, whose client's clock the test moves.
func certified(t *testing.T, mode string) (w *world, ahead func(time.Duration)) {
	w = newWorld(t)
	w.prepay("T00000000") // is known, whatever becomes of the rest
	w.settings(m{"platform": mode})
	w.config.PayMode = mode
	if mode == wechat.PayCertificate {
		w.config.PayPublicKey, w.config.PayPublicKeyID = "", ""
	}
	var mu sync.Mutex
	offset := time.Duration(0)
	w.client = w.newClient(func(o *wechat.Options) {
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(offset)
		}
	})
	return w, func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		offset += d
	}
}

func (w *world) rotate(drop bool) {
	w.Helper()
	if status := w.control("POST", "/sandbox/certificates", m{"drop_former": drop}, nil); status != 201 {
		w.Fatal(status)
	}
}

// fetches is how often the certificates were fetched.
func (w *world) fetches() int { return len(w.calls("/v3/certificates")) }

func (w *world) notice() (*callback, error) {
	w.Helper()
	c := w.forge(m{"to": "pay", "out_trade_no": "T00000001"})
	_, err := w.parsePay(c)
	return c, err
}

// While WeChat changes one certificate for the other it signs with either; both are known, and one fetch is enough for many calls
// at once.
func TestCertificatesRotate(t *testing.T) {
	w, ahead := certified(t, wechat.PayCertificate)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := w.client.Prepay(t.Context(), prepayRequest(fmt.Sprintf("T%08d", i))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := w.fetches(); n != 1 {
		t.Errorf("the certificates were fetched %d times", n)
	}
	old, err := w.notice()
	if err != nil {
		t.Fatal(err)
	}
	// The new one signs. It is fetched when it is first met, within a minute of the former fetch not.
	w.rotate(false)
	c, err := w.notice()
	w.wantNotice("within the pause", c, err, wechat.ErrNoticeUnverified)
	_, err = w.client.Query(t.Context(), "T00000001")
	wantKind(t, err, wechat.KindUnknown)
	ahead(time.Minute)
	if _, err := w.parsePay(c); err != nil {
		t.Errorf("the notice that was refused came again: %v", err)
	}
	if _, err := w.parsePay(old); err != nil {
		t.Errorf("signed with the former certificate: %v", err)
	}
	if _, err := w.client.Query(t.Context(), "T00000001"); err != nil {
		t.Error(err)
	}
	if n := w.fetches(); n != 2 {
		t.Errorf("the certificates were fetched %d times", n)
	}
	// Twelve hours later they are fetched anew, and one that WeChat has given up is known no more.
	w.rotate(true)
	ahead(12 * time.Hour)
	if _, err := w.notice(); err != nil {
		t.Error(err)
	}
	_, err = w.parsePay(old)
	w.wantNotice("signed with a certificate that was given up", old, err, wechat.ErrNoticeUnverified)
	if n := w.fetches(); n != 3 {
		t.Errorf("the certificates were fetched %d times", n)
	}
}

// Whoever sends made-up serials has WeChat called once a minute and no more often.
func TestMadeUpSerialsDoNotHaveWeChatCalled(t *testing.T) {
	for _, mode := range []string{wechat.PayCertificate, wechat.PayBoth} {
		w, ahead := certified(t, mode)
		w.prepay("T00000001")
		ahead(time.Hour)
		var made []*callback
		for i := range 50 {
			c := w.forge(m{"to": "pay", "out_trade_no": "T00000001", "tamper": "body"})
			c.header.Set("Wechatpay-Serial", fmt.Sprintf("%040X", i))
			if i%2 == 1 {
				c.header.Set("Wechatpay-Serial", fmt.Sprintf("PUB_KEY_ID_%d", i)) // no certificate has such a serial
			}
			made = append(made, c)
		}
		before := w.fetches()
		for range 3 {
			for _, c := range made {
				_, err := w.parsePay(c)
				w.wantNotice(mode, c, err, wechat.ErrNoticeUnverified)
			}
			ahead(time.Minute)
		}
		if n := w.fetches() - before; n < 1 || n > 4 {
			t.Errorf("%s: WeChat was called %d times for 150 made-up notices in three minutes", mode, n)
		}
	}
}

// A shop starts without the network. Until certificates are there nothing is sent and callbacks are to come again; then all goes
// on by itself.
func TestCertificatesThatAreNotToBeHad(t *testing.T) {
	w, ahead := certified(t, wechat.PayCertificate)
	w.fault(m{"path": "/v3/certificates", "mode": "reset", "count": -1})
	_, err := w.client.Prepay(t.Context(), prepayRequest("T00000001"))
	wantKind(t, err, wechat.KindUnknown)
	for range 100 {
		c := w.forge(m{"to": "pay", "out_trade_no": "T00000000", "tamper": "body"})
		_, err = w.parsePay(c)
		w.wantNotice("without certificates", c, err, wechat.ErrNoticeUnready)
	}
	if n := w.fetches(); n > 3 {
		t.Errorf("100 notices had WeChat called %d times", n)
	}
	if n := len(w.calls("/v3/pay/")) - 1; n != 0 {
		t.Errorf("%d calls whose answer nobody could verify were made", n)
	}
	w.control("DELETE", "/sandbox/faults", nil, nil)
	ahead(5 * time.Second)
	w.prepay("T00000001")
	if _, err := w.notice(); err != nil {
		t.Error(err)
	}
	// Old ones are better than none.
	w.fault(m{"path": "/v3/certificates", "mode": "status", "status": 500, "count": -1})
	ahead(13 * time.Hour)
	if _, err := w.client.Query(t.Context(), "T00000001"); err != nil {
		t.Error(err)
	}
	w.secretFree(w.logs.String())
}

// New merchants have no certificates. That they have none is no word about an order.
func TestMerchantsWithoutCertificates(t *testing.T) {
	w, _ := certified(t, wechat.PayCertificate)
	w.settings(m{"platform": "public_key"})
	for range 2 {
		_, err := w.client.Query(t.Context(), "T00000001")
		wantKind(t, err, wechat.KindSetup)
		if !strings.Contains(err.Error(), "wechat.pay_public_key") {
			t.Errorf("%v does not say what to do", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.client.Query(ctx, "T00000001"); err == nil {
		t.Error("no error")
	}
}

// A client that knows the public key only does not take what a certificate signed, and the reverse.
func TestWhatTheModeDoesNotKnowIsNotBelieved(t *testing.T) {
	w := newWorld(t)
	w.settings(m{"platform": "certificate"})
	_, err := w.client.Query(t.Context(), "T00000001")
	wantKind(t, err, wechat.KindNotFound) // an error is never signed
	_, err = w.client.Prepay(t.Context(), prepayRequest("T00000001"))
	wantKind(t, err, wechat.KindUnknown)
	c := w.forge(m{"to": "pay", "out_trade_no": "T00000001"})
	_, err = w.parsePay(c)
	w.wantNotice("a certificate's notice", c, err, wechat.ErrNoticeUnverified)

	w, _ = certified(t, wechat.PayCertificate)
	w.prepay("T00000001")
	w.settings(m{"platform": "public_key"})
	c = w.forge(m{"to": "pay", "out_trade_no": "T00000001"})
	_, err = w.parsePay(c)
	w.wantNotice("the public key's notice", c, err, wechat.ErrNoticeUnverified)
}
