package wechat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/silenceper/wechat/v2/miniprogram"
	miniconfig "github.com/silenceper/wechat/v2/miniprogram/config"
	"github.com/sony/gobreaker/v2"
	"github.com/wechatpay-apiv3/wechatpay-go/core"
	"github.com/wechatpay-apiv3/wechatpay-go/core/auth"
	"github.com/wechatpay-apiv3/wechatpay-go/core/auth/validators"
	"github.com/wechatpay-apiv3/wechatpay-go/core/auth/verifiers"
	"github.com/wechatpay-apiv3/wechatpay-go/core/notify"
	"github.com/wechatpay-apiv3/wechatpay-go/core/option"
)

// CallLimit is how long one call to WeChat may take when Options names no other.
const CallLimit = 5 * time.Second

// Options are the parts a Client works with.
type Options struct {
	Redis     redis.UniversalClient // shares the access token between replicas; nil: memory only
	KeyPrefix string                // starts every Redis key
	Log       *slog.Logger          // nil: silent
	Now       func() time.Time      // nil: the machine's clock
	CallLimit time.Duration         // 0: the constant CallLimit
}

// Client talks to WeChat for one mini-program and one merchant. It is safe for
// concurrent use.
type Client struct {
	cfg   Config
	keys  keys
	log   *slog.Logger
	now   func() time.Time
	limit time.Duration
	http  *http.Client

	mini   *miniprogram.MiniProgram
	tokens *tokens
	pay    *core.Client
	bill   *core.Client // for what is not signed, the files of bills, or sealed instead, the certificates

	certificates *certificates // nil where the public key alone verifies

	noticeValidator *validators.WechatPayNotifyValidator
	noticeHandler   *notify.Handler

	miniBreaker  *breaker
	checkBreaker *breaker
	payBreaker   *breaker
}

// New checks the configuration and makes a client. It makes no call. The error names
// every setting that is wrong and holds none of their values.
func New(cfg Config, opts Options) (*Client, error) {
	k, err := cfg.parse()
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, keys: k, log: opts.Log, now: opts.Now, limit: opts.CallLimit}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.limit <= 0 {
		c.limit = CallLimit
	}
	c.http = newHTTPClient(k.sandbox)
	c.miniBreaker = c.newBreaker("mini-program")
	c.checkBreaker = c.newBreaker("content check")
	c.payBreaker = c.newBreaker("pay")
	if err := c.openPay(k); err != nil {
		return nil, err
	}
	c.openMini(opts)
	return c, nil
}

// openPay prepares WeChat Pay. Nothing is downloaded yet: platform certificates are, when they are first needed.
func (c *Client) openPay(k keys) error {
	merchant := option.WithMerchantCredential(c.cfg.MchID, c.cfg.MchCertSerial, k.mch)
	var err error
	c.bill, err = core.NewClient(context.Background(), merchant, option.WithoutValidator(), option.WithHTTPClient(c.http))
	if err != nil {
		return errors.New("wechat: the pay client refuses the merchant's keys")
	}
	verifier := c.verifier(k)
	if c.pay, err = core.NewClient(context.Background(), merchant, option.WithVerifier(verifier), option.WithHTTPClient(c.http)); err != nil {
		return errors.New("wechat: the pay client refuses the merchant's keys")
	}
	c.noticeValidator = validators.NewWechatPayNotifyValidator(verifier)
	c.noticeHandler, err = notify.NewRSANotifyHandler(c.cfg.APIv3Key, verifier)
	if err != nil {
		return errors.New("wechat: the APIv3 key is refused")
	}
	return nil
}

// verifier checks WeChat's signatures by its public key, by its platform certificates, or by whichever the signature names. New
// merchants have no certificates.
func (c *Client) verifier(k keys) auth.Verifier {
	switch c.cfg.payMode() {
	case PayCertificate:
		c.certificates = newCertificates(c, c.bill)
		return verifiers.NewSHA256WithRSAVerifier(c.certificates)
	case PayBoth:
		c.certificates = newCertificates(c, c.bill)
		return verifiers.NewSHA256WithRSACombinedVerifier(c.certificates, c.cfg.PayPublicKeyID, *k.pay)
	}
	return verifiers.NewSHA256WithRSAPubkeyVerifier(c.cfg.PayPublicKeyID, *k.pay)
}

func (c *Client) openMini(opts Options) {
	installRouting()
	c.tokens = newTokens(opts.Redis, opts.KeyPrefix, c)
	c.mini = miniprogram.NewMiniProgram(&miniconfig.Config{
		AppID: c.cfg.AppID, AppSecret: c.cfg.AppSecret, Cache: c.tokens, UseStableAK: true,
	})
	c.tokens.takeOver(c.mini)
}

// PayNotifyURL is where WeChat reports payments of this shop.
func (c *Client) PayNotifyURL() string { return c.cfg.NotifyBaseURL + "/notify/wechat/pay" }

// RefundNotifyURL is where WeChat reports refunds of this shop.
func (c *Client) RefundNotifyURL() string { return c.cfg.NotifyBaseURL + "/notify/wechat/refund" }

// AppID is the mini-program's.
func (c *Client) AppID() string { return c.cfg.AppID }

// MchID is the merchant's number at WeChat Pay.
func (c *Client) MchID() string { return c.cfg.MchID }

// PayAvailable is false while the breaker of WeChat Pay is open.
func (c *Client) PayAvailable() bool { return c.payBreaker.State() != gobreaker.StateOpen }

// MiniAvailable is false while the breaker of the mini-program's interfaces is open.
func (c *Client) MiniAvailable() bool { return c.miniBreaker.State() != gobreaker.StateOpen }

type breaker = gobreaker.CircuitBreaker[struct{}]

const (
	breakerFailures = 10          // unknown outcomes in a row that open it
	breakerPause    = time.Second // how long nothing is called then
	breakerProbes   = 3           // calls let through together when it probes
)

// newBreaker counts only unknown outcomes: a refusal is an answer. A call that its
// own caller gave up says nothing about WeChat.
func (c *Client) newBreaker(area string) *breaker {
	return gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name: area, MaxRequests: breakerProbes, Timeout: breakerPause,
		ReadyToTrip:  func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= breakerFailures },
		IsSuccessful: func(err error) bool { return KindOf(err) != KindUnknown },
		IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(name string, from, to gobreaker.State) {
			c.log.Warn("wechat breaker", "area", name, "from", from.String(), "to", to.String())
		},
	})
}

// call runs one call to WeChat behind a breaker and within the limit, and makes its
// error an *Error.
func (c *Client) call(ctx context.Context, b *breaker, op string, fn func(context.Context) error) error {
	return c.callWithin(ctx, c.limit, b, op, fn)
}

// callWithin is call with a limit of its own.
func (c *Client) callWithin(ctx context.Context, limit time.Duration, b *breaker, op string, fn func(context.Context) error) error {
	_, err := b.Execute(func() (struct{}, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if b == c.payBreaker && c.cfg.payMode() == PayCertificate {
			// What cannot be verified is not asked for.
			if err := c.certificates.ready(ctx); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, classify(op, recovered(ctx, fn))
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return &Error{Op: op, Kind: KindUnavailable, Message: "WeChat has not been answering; calls pause for a moment"}
	}
	if KindOf(err) == KindUnknown {
		c.log.WarnContext(ctx, "wechat call without a certain outcome", "op", op, "err", err.Error())
	}
	return err
}

// bareCall runs a call that serves another one, whose breaker counts it.
func (c *Client) bareCall(ctx context.Context, op string, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return classify(op, recovered(ctx, fn))
}

// recovered turns a panic of a library into an unknown outcome: the request may have been sent.
func recovered(ctx context.Context, fn func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = unknown(0, fmt.Sprintf("a library failed on the reply (%T)", p))
		}
	}()
	return fn(ctx)
}
