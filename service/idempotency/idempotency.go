// Package idempotency remembers which requests with an Idempotency-Key succeeded, in the transaction of the success.
package idempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Bind binds the key to ref, the id of the thing that the request makes or changes, when the transaction commits. If the same
// request had bound it before, before is the id it was bound to then and nothing is to be done again; otherwise before is 0.
// Another request with the key is idempotency_key_reused. An empty key is never bound. Callers hold a lock that requests with one
// key share; without one the later of two fails on the primary key.
func Bind(tx *store.Tx, scope, key string, request any, ref int64, now model.Time) (before int64, err error) {
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
		row := model.IdempotencyKey{Scope: scope, Key: key, BodyHash: hash, Ref: strconv.FormatInt(ref, 10), CreatedAt: now}
		return 0, tx.Create(&row).Error
	}
	if rows[0].BodyHash != hash {
		return 0, fault.New(fault.IdempotencyKeyReused)
	}
	return strconv.ParseInt(rows[0].Ref, 10, 64)
}
