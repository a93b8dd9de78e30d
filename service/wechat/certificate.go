package wechat

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"strings"
	"time"

	"github.com/wechatpay-apiv3/wechatpay-go/core"
	"github.com/wechatpay-apiv3/wechatpay-go/core/downloader"
)

const (
	// certificateAge is how old the platform certificates may become: WeChat says that they are to be fetched anew every 12 hours.
	certificateAge = 12 * time.Hour
	// certificatePause is between fetches for serials that are not known: whoever sends made-up ones has WeChat called no more often.
	certificatePause = time.Minute
	// certificateRetry is the same while there are no certificates at all, and nothing can be verified.
	certificateRetry = 5 * time.Second
	// publicKeyPrefix starts the ids of public keys, which are no serials of certificates.
	publicKeyPrefix = "PUB_KEY_ID_"
)

// certificates are WeChat Pay's platform certificates. They are fetched when something is to be verified and they are not there,
// are old, or do not have its serial; one at a time, and whoever needs them waits for that. Two are there while WeChat changes one
// for the other. It implements core.CertificateGetter and has no goroutine.
type certificates struct {
	client *Client
	boot   *core.Client // does not verify: what is fetched is sealed with the APIv3 key

	turn    chan struct{} // holds one token: whoever has it may read and change what follows
	known   core.CertificateMap
	fetched time.Time // when known was; zero: never
	tried   time.Time
	failure error // of the latest try
}

func newCertificates(c *Client, boot *core.Client) *certificates {
	s := &certificates{client: c, boot: boot, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// Get implements core.CertificateGetter.
func (s *certificates) Get(ctx context.Context, serial string) (found *x509.Certificate, ok bool) {
	_ = s.having(ctx, serial, func() { found, ok = s.known.Get(ctx, serial) })
	if ok {
		_, ok = found.PublicKey.(*rsa.PublicKey) // the verifier takes that for granted
	}
	return found, ok
}

// GetAll implements core.CertificateGetter.
func (s *certificates) GetAll(ctx context.Context) (all map[string]*x509.Certificate) {
	_ = s.having(ctx, "", func() { all = s.known.GetAll(ctx) })
	return all
}

// GetNewestSerial implements core.CertificateGetter.
func (s *certificates) GetNewestSerial(ctx context.Context) (serial string) {
	_ = s.having(ctx, "", func() { serial = s.known.GetNewestSerial(ctx) })
	return serial
}

// ready fetches certificates if there are none. The error is an *Error of KindSetup where this merchant has none to fetch or may not,
// else of KindUnknown.
func (s *certificates) ready(ctx context.Context) error {
	return s.having(ctx, "", func() {})
}

// having runs use when certificates are there, the one with the serial among them if WeChat has it. It fails only where there are none.
func (s *certificates) having(ctx context.Context, serial string, use func()) error {
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
		return classify("certificates", ctx.Err())
	}
	if s.wanted(ctx, serial) {
		s.fetch(ctx)
	}
	if s.fetched.IsZero() {
		return s.failure
	}
	use()
	return nil
}

// wanted reports whether the certificates are to be fetched now.
func (s *certificates) wanted(ctx context.Context, serial string) bool {
	now := s.client.now()
	switch idle := now.Sub(s.tried); {
	case s.fetched.IsZero():
		return s.failure == nil || idle >= certificateRetry
	case idle < certificatePause:
		return false
	case now.Sub(s.fetched) >= certificateAge:
		return true
	}
	_, known := s.known.Get(ctx, serial)
	return serial != "" && !known && !strings.HasPrefix(serial, publicKeyPrefix)
}

// fetch takes WeChat's certificates in place of the former; where that fails, those stay. Others wait for it too, so a caller who
// gives up does not end it.
func (s *certificates) fetch(ctx context.Context) {
	const op = "certificates"
	ctx = context.WithoutCancel(ctx)
	s.tried = s.client.now()
	err := s.client.bareCall(ctx, op, func(ctx context.Context) error {
		d, err := downloader.NewCertificateDownloaderWithClient(ctx, s.boot, s.client.cfg.APIv3Key)
		if err != nil {
			return err
		}
		s.known.Reset(d.GetAll(ctx))
		return nil
	})
	if err == nil {
		s.fetched, s.failure = s.tried, nil
		s.client.log.InfoContext(ctx, "platform certificates are fetched", "newest", s.known.GetNewestSerial(ctx))
		return
	}
	s.failure = certificateError(err)
	s.client.log.WarnContext(ctx, "platform certificates are not fetched", "error", s.failure.Error(), "known", !s.fetched.IsZero())
}

// certificateError keeps what WeChat says of its certificates from being taken for a word about the call that needed them: a 404
// here says nothing of any order.
func certificateError(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Kind {
	case KindNotFound, KindRejected, KindSetup:
		e.Kind = KindSetup
		e.Message = "this merchant has no platform certificates, or may not fetch them; with WeChat Pay's public key set wechat.pay_public_key and wechat.pay_public_key_id: " + e.Message
	default:
		e.Kind = KindUnknown
	}
	return e
}
