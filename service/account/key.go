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
	token   []byte
	phone   cipher.AEAD
	phoneID string // names the key in what it sealed, so that a changed secret is seen
}

func deriveKeys(secret string) (keys, error) {
	derive := func(purpose string) ([]byte, error) {
		return hkdf.Key(sha256.New, []byte(secret), nil, "tidemall/"+purpose, 32)
	}
	token, err := derive("token/1")
	if err != nil {
		return keys{}, err
	}
	phone, err := derive("phone/1")
	if err != nil {
		return keys{}, err
	}
	block, err := aes.NewCipher(phone)
	if err != nil {
		return keys{}, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return keys{}, err
	}
	id := sha256.Sum256(phone)
	return keys{token: token, phone: aead, phoneID: hex.EncodeToString(id[:4])}, nil
}

// sealPhone encrypts a phone number for one shopper: moved to another's row it does not open.
func (k keys) sealPhone(shopperID int64, number string) string {
	nonce := make([]byte, k.phone.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	sealed := k.phone.Seal(nonce, nonce, []byte(number), fmt.Appendf(nil, "shopper:%d", shopperID))
	return k.phoneID + "." + base64.RawStdEncoding.EncodeToString(sealed)
}

var errSealed = errors.New("the phone number was sealed with another secret")

func (k keys) openPhone(shopperID int64, text string) (string, error) {
	id, body, _ := strings.Cut(text, ".")
	sealed, err := base64.RawStdEncoding.DecodeString(body)
	if id != k.phoneID || err != nil || len(sealed) < k.phone.NonceSize() {
		return "", errSealed
	}
	nonce, sealed := sealed[:k.phone.NonceSize()], sealed[k.phone.NonceSize():]
	number, err := k.phone.Open(nil, nonce, sealed, fmt.Appendf(nil, "shopper:%d", shopperID))
	if err != nil {
		return "", errSealed
	}
	return string(number), nil
}
