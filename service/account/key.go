package account

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// keys are made from the installation's secret, one for each purpose, so that none can stand in for another.
type keys struct {
	token []byte
	phone sealer
	totp  sealer
}

func deriveKeys(secret string, formerSecrets []string) (keys, error) {
	var k keys
	var err error
	if k.token, err = derive(secret, "token/1"); err != nil {
		return keys{}, err
	}
	if k.phone, err = newSealer("phone/1", secret, formerSecrets); err != nil {
		return keys{}, err
	}
	k.totp, err = newSealer("totp/1", secret, formerSecrets)
	return k, err
}

func derive(secret, purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, []byte(secret), nil, "tidemall/"+purpose, 32)
}

// sealer encrypts texts of one purpose for one owner each: moved to another's row they do not open.
type sealer struct {
	aead cipher.AEAD
	id   string // names the key in what it sealed, so that a changed secret is seen
	// former open what was sealed before the secret was changed, by their ids.
	former map[string]cipher.AEAD
}

func newSealer(purpose, secret string, formerSecrets []string) (sealer, error) {
	s := sealer{former: map[string]cipher.AEAD{}}
	var err error
	if s.id, s.aead, err = sealingKey(purpose, secret); err != nil {
		return sealer{}, err
	}
	for _, former := range formerSecrets {
		id, aead, err := sealingKey(purpose, former)
		if err != nil {
			return sealer{}, err
		}
		s.former[id] = aead
	}
	return s, nil
}

func sealingKey(purpose, secret string) (id string, aead cipher.AEAD, err error) {
	key, err := derive(secret, purpose)
	if err != nil {
		return "", nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", nil, err
	}
	if aead, err = cipher.NewGCM(block); err != nil {
		return "", nil, err
	}
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:4]), aead, nil
}

// seal encrypts a text for its owner, such as "shopper:12".
func (s sealer) seal(owner, text string) string {
	nonce := make([]byte, s.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	sealed := s.aead.Seal(nonce, nonce, []byte(text), []byte(owner))
	return s.id + "." + base64.RawStdEncoding.EncodeToString(sealed)
}

var errSealed = errors.New("the text was sealed with a secret that is not known")

// open opens what seal sealed for the owner, by the present secret or a former one.
func (s sealer) open(owner, text string) (string, error) {
	id, body, _ := strings.Cut(text, ".")
	aead := s.former[id]
	if id == s.id {
		aead = s.aead
	}
	sealed, err := base64.RawStdEncoding.DecodeString(body)
	if aead == nil || err != nil || len(sealed) < aead.NonceSize() {
		return "", errSealed
	}
	nonce, sealed := sealed[:aead.NonceSize()], sealed[aead.NonceSize():]
	plain, err := aead.Open(nil, nonce, sealed, []byte(owner))
	if err != nil {
		return "", errSealed
	}
	return string(plain), nil
}

// present reports whether the present secret sealed the text.
func (s sealer) present(text string) bool { return strings.HasPrefix(text, s.id+".") }

func shopperOwner(id int64) string { return fmt.Sprintf("shopper:%d", id) }
func adminOwner(id int64) string   { return fmt.Sprintf("admin:%d", id) }
