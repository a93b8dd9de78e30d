package sandbox

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"time"
)

// What WeChat signs with, by the setting platform.
const (
	platformKey         = "public_key"  // its public key: new merchants, who have no certificates
	platformCertificate = "certificate" // its newest platform certificate: old merchants
	platformBoth        = "both"        // the one that the request names; callbacks by either
)

// certificateLife is how long a platform certificate is valid: five years.
const certificateLife = 5 * 365 * 24 * time.Hour

// platformCert is one of WeChat's platform certificates. The newest signs; the others are still listed.
type platformCert struct {
	Serial      string    `json:"serial_no"`
	PrivateKey  string    `json:"private_key"`
	Certificate string    `json:"certificate"`
	From        time.Time `json:"effective_time"`
	Until       time.Time `json:"expire_time"`

	key *rsa.PrivateKey
}

func newPlatformCert(from time.Time) (*platformCert, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	serial := make([]byte, 20)
	rand.Read(serial)
	serial[0] = serial[0]&0x3f | 0x40 // twenty bytes, not negative
	c := &platformCert{Serial: fmt.Sprintf("%X", serial), From: from.UTC().Truncate(time.Second), key: key}
	c.Until = c.From.Add(certificateLife)
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: pkix.Name{CommonName: "Tenpay.com sandbox"}, NotBefore: c.From, NotAfter: c.Until,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	c.Certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	c.PrivateKey, err = pemText("PRIVATE KEY", key, x509.MarshalPKCS8PrivateKey)
	return c, err
}

// rotate adds a platform certificate, which signs from now on; drop ends the former ones.
func (k *keyring) rotate(drop bool, now time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.PlatformCerts); n > 0 && !now.After(k.PlatformCerts[n-1].From) {
		now = k.PlatformCerts[n-1].From.Add(time.Second) // the newest is told by its time
	}
	c, err := newPlatformCert(now)
	if err != nil {
		return err
	}
	certs := []*platformCert{}
	if !drop {
		certs = append(certs, k.PlatformCerts...)
	}
	k.PlatformCerts = append(certs, c)
	return k.save()
}

// certs lists the platform certificates, the newest last; the first is made when it is first wanted.
func (s *Server) certs() []*platformCert {
	s.keys.mu.Lock()
	certs := s.keys.PlatformCerts
	s.keys.mu.Unlock()
	if len(certs) > 0 {
		return certs
	}
	if err := s.keys.rotate(false, time.Now().Add(-time.Hour)); err != nil {
		s.log.Error("the sandbox cannot make a platform certificate", "err", err)
		return nil
	}
	return s.certs()
}

// signer returns the key that signs a reply to a request that names a serial, or a callback (serial "").
func (s *Server) signer(serial string) (*rsa.PrivateKey, string) {
	mode := s.settings().Platform
	if mode == platformKey || mode == platformBoth && (serial == s.keys.PayPublicKeyID || serial == "" && s.coin()) {
		return s.keys.platform, s.keys.PayPublicKeyID
	}
	certs := s.certs()
	if len(certs) == 0 {
		return s.keys.stranger, "0"
	}
	for _, c := range certs {
		if mode == platformBoth && c.Serial == serial {
			return c.key, c.Serial
		}
	}
	newest := certs[len(certs)-1]
	return newest.key, newest.Serial
}

// certificates lists the platform certificates, sealed with the APIv3 key. New merchants have a public key and none of these.
func (s *Server) certificates(*http.Request, []byte) (int, any, *refusal) {
	if s.settings().Platform == platformKey {
		return 0, nil, refuse(404, "RESOURCE_NOT_EXISTS", "无可用的平台证书，请在商户平台-API安全申请使用微信支付公钥")
	}
	list := []map[string]any{}
	for _, c := range s.certs() {
		nonce := randomHex(6)
		list = append(list, map[string]any{
			"serial_no": c.Serial, "effective_time": wechatTime(c.From), "expire_time": wechatTime(c.Until),
			"encrypt_certificate": map[string]any{
				"algorithm": "AEAD_AES_256_GCM", "nonce": nonce, "associated_data": "certificate",
				"ciphertext": base64.StdEncoding.EncodeToString(s.seal(nonce, "certificate", []byte(c.Certificate))),
			},
		})
	}
	return http.StatusOK, map[string]any{"data": list}, nil
}

// controlRotate makes a new platform certificate: {drop_former}.
func (s *Server) controlRotate(w http.ResponseWriter, r *http.Request) {
	var body struct {
		DropFormer bool `json:"drop_former"`
	}
	if !read(w, r, &body) {
		return
	}
	if err := s.keys.rotate(body.DropFormer, time.Now()); err != nil {
		s.diskFailed(w, err)
		return
	}
	serials := []string{}
	for _, c := range s.certs() {
		serials = append(serials, c.Serial)
	}
	controlReply(w, http.StatusCreated, map[string]any{"serials": serials})
}

// save writes the keys; under mu.
func (k *keyring) save() error {
	raw, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(k.path, raw)
}

// parseCerts reads the keys of the platform certificates.
func (k *keyring) parseCerts() (err error) {
	for _, c := range k.PlatformCerts {
		if c.key, err = privateKey(c.PrivateKey); err != nil {
			return fmt.Errorf("platform certificate %s: %w", strings.ToLower(c.Serial), err)
		}
	}
	return nil
}
