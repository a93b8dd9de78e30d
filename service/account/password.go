package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"github.com/tidemall/tidemall/service/fault"
)

// argon2id's parameters (OWASP's second choice: 19 MiB, two passes). They are kept in each hash, so raising them here leaves old
// passwords valid.
const (
	hashMemoryKiB = 19 * 1024
	hashPasses    = 2
	hashLanes     = 1
	hashSalt      = 16
	hashKey       = 32
)

// hashesAtOnce bounds the memory and the processors that logins take, and hashesWaiting how long one waits: about a second. Whoever
// comes while so many wait is told to come again.
const (
	hashesAtOnce  = 2
	hashesWaiting = 20
	hashRetry     = time.Second
)

// Passwords have 8 to 128 characters.
const (
	passwordMin = 8
	passwordMax = 128
)

// decoy is verified where the username is unknown, so that the time of the answer does not tell which are.
var decoy = encodeHash(make([]byte, hashSalt), make([]byte, hashKey))

func (c *check) password(field, password string) {
	if n := utf8.RuneCountInString(password); n < passwordMin || n > passwordMax || len(password) > 4*passwordMax {
		c.wrong.With(field, fault.FieldLength,
			fmt.Sprintf("密码长度必须为 %d–%d 个字符", passwordMin, passwordMax), fmt.Sprintf("must have %d–%d characters", passwordMin, passwordMax))
	}
}

// turns lets a few compute a hash at a time and some wait for that.
type turns struct{ places, hashing chan struct{} }

func newTurns() turns {
	return turns{places: make(chan struct{}, hashesAtOnce+hashesWaiting), hashing: make(chan struct{}, hashesAtOnce)}
}

// take waits for leave to compute a hash and returns what gives it back. It is rate_limited where too many wait already.
func (t turns) take(ctx context.Context) (release func(), err error) {
	select {
	case t.places <- struct{}{}:
	default:
		return nil, fault.New(fault.RateLimited).After(hashRetry)
	}
	select {
	case t.hashing <- struct{}{}:
		return func() { <-t.hashing; <-t.places }, nil
	case <-ctx.Done():
		<-t.places
		return nil, ctx.Err()
	}
}

func (a *Accounts) hash(ctx context.Context, password string) (string, error) {
	release, err := a.turns.take(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	salt := make([]byte, hashSalt)
	_, _ = rand.Read(salt) // never fails
	return encodeHash(salt, argon2.IDKey([]byte(password), salt, hashPasses, hashMemoryKiB, hashLanes, hashKey)), nil
}

// encodeHash writes the PHC string format.
func encodeHash(salt, key []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, hashMemoryKiB, hashPasses, hashLanes,
		b64.EncodeToString(salt), b64.EncodeToString(key))
}

var errHash = errors.New("a stored password hash cannot be read")

// verify compares in constant time. The caller holds a turn.
func verify(encoded, password string) (bool, error) {
	parts := strings.Split(encoded, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, errHash
	}
	var version int
	var memory, passes uint32
	var lanes uint8
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false, errHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &lanes); err != nil || passes == 0 || lanes == 0 {
		return false, errHash
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false, errHash
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(want) == 0 {
		return false, errHash
	}
	got := argon2.IDKey([]byte(password), salt, passes, memory, lanes, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

// newPassword makes a password of 20 characters that are easy to read and to type.
func newPassword() string { return randomText(20) }
