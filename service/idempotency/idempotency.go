// Package idempotency remembers which requests with an Idempotency-Key succeeded, in the transaction of the success.
package idempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Used reports whether the key was bound before by the same request; another request with it is idempotency_key_reused. The
// first request binds it to ref, the thing that is made or changed, when the transaction commits. An empty key is never bound.
// Callers hold a lock that requests with one key share; without one the later of two fails on the primary key.
func Used(tx *store.Tx, scope, key string, request any, ref string, now model.Time) (bool, error) {
	if key == "" {
		return false, nil
	}
	body, err := json.Marshal(request)
	if err != nil {
		return false, err
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	var rows []model.IdempotencyKey
	if err := tx.Where("scope = ? AND idem_key = ?", scope, key).Find(&rows).Error; err != nil {
		return false, err
	}
	if len(rows) == 0 {
		return false, tx.Create(&model.IdempotencyKey{Scope: scope, Key: key, BodyHash: hash, Ref: ref, CreatedAt: now}).Error
	}
	if rows[0].BodyHash != hash {
		return false, fault.New(fault.IdempotencyKeyReused)
	}
	return true, nil
}
