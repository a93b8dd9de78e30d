// Package wechat is the only package of the shop that talks to WeChat: mini-program
// login and phone numbers, WeChat Pay v3 and the callbacks of both.
//
// Every error that a call returns is an *Error whose Kind says what is known about
// the outcome. KindUnknown means that the request may or may not have taken effect:
// a caller must ask again and must not release or repeat anything on its strength.
// No error and no log line of this package holds a secret, a token or a session key.
package wechat

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
)

// Config is what WeChat issued to the merchant. The JSON names are those of the
// shop's wechat.* settings, and of what the sandbox hands out.
type Config struct {
	AppID          string `json:"app_id"`
	AppSecret      string `json:"app_secret"`
	MchID          string `json:"mch_id"`
	MchCertSerial  string `json:"mch_cert_serial"`
	MchPrivateKey  string `json:"mch_private_key"`   // PEM, PKCS#8 or PKCS#1
	APIv3Key       string `json:"api_v3_key"`        // exactly 32 bytes
	PayPublicKey   string `json:"pay_public_key"`    // PEM, WeChat Pay's public key
	PayPublicKeyID string `json:"pay_public_key_id"` // PUB_KEY_ID_…
	PayMode        string `json:"-"`                 // how WeChat Pay's signatures are checked; empty: by its public key if that is set, else by its certificates
	PushToken      string `json:"push_token"`        // empty: no message push
	PushAESKey     string `json:"push_aes_key"`      // 43 characters, WeChat's EncodingAESKey
	NotifyBaseURL  string `json:"-"`                 // where WeChat reaches this shop, without a trailing slash
	SandboxURL     string `json:"-"`                 // base of a simulator; empty: the real WeChat
}

// What checks WeChat Pay's signatures.
const (
	PayPublicKey   = "public_key"
	PayCertificate = "certificate"
	PayBoth        = "both" // while WeChat changes a merchant from certificates to the public key
)

// payMode is PayMode, decided where it is empty.
func (c Config) payMode() string {
	switch {
	case c.PayMode != "":
		return c.PayMode
	case c.PayPublicKey == "" && c.PayPublicKeyID == "":
		return PayCertificate
	}
	return PayPublicKey
}

// LogValue keeps secrets out of logs when a Config is passed to slog.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(slog.String("app_id", c.AppID), slog.String("mch_id", c.MchID),
		slog.String("notify_base_url", c.NotifyBaseURL), slog.String("sandbox_url", c.SandboxURL))
}

// String keeps secrets out of fmt's verbs.
func (c Config) String() string { return fmt.Sprintf("wechat app %s, merchant %s", c.AppID, c.MchID) }

// GoString keeps secrets out of %#v.
func (c Config) GoString() string { return c.String() }

// keys holds the parsed forms of what Config has as text.
type keys struct {
	mch     *rsa.PrivateKey
	pay     *rsa.PublicKey
	pushAES []byte // nil without message push
	sandbox *url.URL
}

var configRules = []struct {
	name  string
	value func(Config) string
	want  *regexp.Regexp
}{
	{"app_id", func(c Config) string { return c.AppID }, regexp.MustCompile(`^wx[0-9A-Za-z]{8,30}$`)},
	{"app_secret", func(c Config) string { return c.AppSecret }, regexp.MustCompile(`^[0-9A-Za-z]{16,64}$`)},
	{"mch_id", func(c Config) string { return c.MchID }, regexp.MustCompile(`^[0-9]{8,12}$`)},
	{"mch_cert_serial", func(c Config) string { return c.MchCertSerial }, regexp.MustCompile(`^[0-9A-Fa-f]{8,64}$`)},
}

var publicKeyID = regexp.MustCompile(`^PUB_KEY_ID_[0-9A-Za-z_]{1,64}$`)

// parse checks every field and reports all that is wrong at once, by name and never by value.
func (c Config) parse() (keys, error) {
	var k keys
	var wrong []error
	for _, r := range configRules {
		if !r.want.MatchString(r.value(c)) {
			wrong = append(wrong, fmt.Errorf("wechat.%s is missing or not of the form %s", r.name, r.want))
		}
	}
	if len(c.APIv3Key) != 32 {
		wrong = append(wrong, errors.New("wechat.api_v3_key must have exactly 32 bytes"))
	}
	var err error
	if k.mch, err = parsePrivateKey(c.MchPrivateKey); err != nil {
		wrong = append(wrong, fmt.Errorf("wechat.mch_private_key: %w", err))
	}
	switch c.payMode() {
	case PayCertificate:
	case PayPublicKey, PayBoth:
		if k.pay, err = parsePublicKey(c.PayPublicKey); err != nil {
			wrong = append(wrong, fmt.Errorf("wechat.pay_public_key: %w", err))
		}
		if !publicKeyID.MatchString(c.PayPublicKeyID) {
			wrong = append(wrong, fmt.Errorf("wechat.pay_public_key_id is missing or not of the form %s", publicKeyID))
		}
	default:
		wrong = append(wrong, errors.New("wechat.pay_mode must be public_key, certificate, both or empty"))
	}
	if k.pushAES, err = parsePushKey(c.PushToken, c.PushAESKey); err != nil {
		wrong = append(wrong, err)
	}
	if u, err := url.Parse(c.NotifyBaseURL); err != nil || u.Host == "" || u.RawQuery != "" || strings.HasSuffix(c.NotifyBaseURL, "/") {
		wrong = append(wrong, errors.New("wechat.notify_base_url must be an absolute URL without query and trailing slash"))
	}
	if c.SandboxURL != "" {
		k.sandbox, err = url.Parse(c.SandboxURL)
		if err != nil || k.sandbox.Host == "" || strings.Trim(k.sandbox.Path, "/") != "" {
			wrong = append(wrong, errors.New("wechat.sandbox.url must be an absolute URL without a path"))
		}
	}
	return k, errors.Join(wrong...)
}

func parsePrivateKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("not PEM text")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("neither a PKCS#8 nor a PKCS#1 private key")
	}
	rsaKey, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("not an RSA key")
	}
	return rsaKey, nil
}

func parsePublicKey(text string) (*rsa.PublicKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("not PEM text")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, errors.New("not a public key (a certificate is not one)")
	}
	rsaKey, ok := key.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("not an RSA key")
	}
	return rsaKey, nil
}

// parsePushKey decodes WeChat's EncodingAESKey: 43 base64 characters whose missing
// padding the receiver adds. Without a token message push is off.
func parsePushKey(token, aesKey string) ([]byte, error) {
	if token == "" && aesKey == "" {
		return nil, nil
	}
	key, err := base64.StdEncoding.DecodeString(aesKey + "=")
	if token == "" || err != nil || len(key) != 32 {
		return nil, errors.New("wechat.push_token and wechat.push_aes_key (43 characters) must both be set, or neither")
	}
	return key, nil
}
