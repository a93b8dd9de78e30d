package sandbox

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Credentials are what WeChat issues to a merchant, under the names of the shop's
// wechat.* settings.
type Credentials struct {
	AppID          string `json:"app_id"`
	AppSecret      string `json:"app_secret"`
	MchID          string `json:"mch_id"`
	MchCertSerial  string `json:"mch_cert_serial"`
	MchPrivateKey  string `json:"mch_private_key"`
	APIv3Key       string `json:"api_v3_key"`
	PayPublicKey   string `json:"pay_public_key"`
	PayPublicKeyID string `json:"pay_public_key_id"`
	PushToken      string `json:"push_token"`
	PushAESKey     string `json:"push_aes_key"`
}

// keyring holds the credentials and WeChat's own half of them.
type keyring struct {
	Credentials
	PlatformPrivateKey string `json:"platform_private_key"`
	StrangerPrivateKey string `json:"stranger_private_key"` // signs what must be refused

	PlatformCerts []*platformCert `json:"platform_certificates,omitempty"` // the newest last

	merchant *rsa.PublicKey
	platform *rsa.PrivateKey
	stranger *rsa.PrivateKey
	pushAES  []byte

	mu   sync.Mutex // guards PlatformCerts and the file; a list is replaced, never changed
	path string
}

// openKeyring reads the keys of the directory, or makes them.
func openKeyring(dir string) (*keyring, error) {
	path := filepath.Join(dir, "keys.json")
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKeyring(path)
	}
	if err != nil {
		return nil, err
	}
	k := new(keyring)
	if err := json.Unmarshal(raw, k); err != nil {
		return nil, fmt.Errorf("%s is damaged; remove the directory to start anew: %w", path, err)
	}
	k.path = path
	return k, k.parse()
}

func makeKeyring(path string) (*keyring, error) {
	k := &keyring{path: path, Credentials: Credentials{
		AppID: "wx" + randomHex(8), AppSecret: randomHex(16),
		MchID: "19" + randomDigits(8), MchCertSerial: strings.ToUpper(randomHex(20)),
		APIv3Key: randomHex(16), PayPublicKeyID: "PUB_KEY_ID_" + randomDigits(32), PushToken: randomHex(16),
	}}
	aes := make([]byte, 32)
	rand.Read(aes)
	k.PushAESKey = strings.TrimSuffix(base64.StdEncoding.EncodeToString(aes), "=")
	for _, into := range []*string{&k.MchPrivateKey, &k.PlatformPrivateKey, &k.StrangerPrivateKey} {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil, err
		}
		if *into, err = pemText("PRIVATE KEY", key, x509.MarshalPKCS8PrivateKey); err != nil {
			return nil, err
		}
		if into == &k.PlatformPrivateKey {
			if k.PayPublicKey, err = pemText("PUBLIC KEY", &key.PublicKey, x509.MarshalPKIXPublicKey); err != nil {
				return nil, err
			}
		}
	}
	if err := k.parse(); err != nil {
		return nil, err
	}
	return k, k.save()
}

func (k *keyring) parse() error {
	merchant, err := privateKey(k.MchPrivateKey)
	if err != nil {
		return err
	}
	k.merchant = &merchant.PublicKey
	if err := k.parseCerts(); err != nil {
		return err
	}
	if k.platform, err = privateKey(k.PlatformPrivateKey); err != nil {
		return err
	}
	if k.stranger, err = privateKey(k.StrangerPrivateKey); err != nil {
		return err
	}
	k.pushAES, err = base64.StdEncoding.DecodeString(k.PushAESKey + "=")
	return err
}

func pemText[K any](kind string, key K, marshal func(any) ([]byte, error)) (string, error) {
	der, err := marshal(key)
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})), nil
}

func privateKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("a private key is not PEM text")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	rsaKey, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("a private key is not RSA")
	}
	return rsaKey, nil
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func randomDigits(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	for i := range b {
		b[i] = '0' + b[i]%10
	}
	return string(b)
}

// writeFile replaces a file so that a crash leaves the old or the new one, mode 0600.
func writeFile(path string, raw []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
