package order

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// replay remembers that the request with the key makes or changes the thing ref, in the transaction that does so: only a
// success is remembered. It returns what the key was used for before with the same request, 0 if it was not, and
// idempotency_key_reused for another request. An empty key is never remembered. The caller holds the order's lock, so of two
// requests with one key the second sees the first's row.
func (s *Service) replay(tx *store.Tx, scope, key string, request any, ref int64) (before int64, err error) {
	if key == "" {
		return 0, nil
	}
	body, err := json.Marshal(request)
	if err != nil {
		return 0, err
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	var rows []model.IdempotencyKey
	if err := tx.Where("scope = ? AND idem_key = ?", scope, key).Find(&rows).Error; err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		return 0, tx.Create(&model.IdempotencyKey{Scope: scope, Key: key, BodyHash: hash, Ref: strconv.FormatInt(ref, 10), CreatedAt: s.Now()}).Error
	}
	if rows[0].BodyHash != hash {
		return 0, fault.New(fault.IdempotencyKeyReused)
	}
	return strconv.ParseInt(rows[0].Ref, 10, 64)
}

// cutText shortens text to at most limit bytes at a character.
func cutText(text string, limit int) string {
	for len(text) > limit {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}
