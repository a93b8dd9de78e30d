package event

import (
	"context"
	"fmt"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// lookRows is how many due rows one look reads.
const lookRows = 200

// never is the due time of a dead message, and so of the rows behind it: the end of the year 9999.
const never model.Time = 253_402_300_799_000

// due is what one look found.
type due struct {
	heads  []int64           // due, and first of their key
	behind map[int64][]int64 // by the id of the key's head: due rows that must wait for it
}

// look reads due rows by their index, and for each the first unsent row of its key. That one is delivered if it is due, whether
// or not it is among the rows read: ids need not follow the versions in a distributed database.
func (r *Relay) look(ctx context.Context) (due, error) {
	var rows []struct {
		ID, HeadID int64
		HeadState  model.MessageState
		HeadDue    model.Time
	}
	now := r.now()
	err := r.store.Read(ctx).Raw(`
		SELECT m.id, h.id AS head_id, h.state AS head_state, h.due_at AS head_due
		FROM (SELECT id, msg_key, due_at FROM messages WHERE state = 'pending' AND due_at <= ? ORDER BY due_at, id LIMIT ?) m
		JOIN messages h ON h.msg_key = m.msg_key AND h.seq =
			(SELECT MIN(p.seq) FROM messages p WHERE p.msg_key = m.msg_key AND p.state IN ('pending', 'dead'))
		ORDER BY m.due_at, m.id`, now, lookRows).Scan(&rows).Error
	if err != nil {
		return due{}, store.Classify(err)
	}
	found := due{behind: map[int64][]int64{}}
	taken := map[int64]bool{}
	for _, row := range rows {
		if row.HeadState == model.MessagePending && row.HeadDue <= now && !taken[row.HeadID] {
			taken[row.HeadID] = true
			found.heads = append(found.heads, row.HeadID)
		}
		if row.HeadID != row.ID {
			found.behind[row.HeadID] = append(found.behind[row.HeadID], row.ID)
		}
	}
	return found, nil
}

// lease takes messages in one short transaction: a conditional update puts a token on those still due and moves their due time
// to the lease's end, so that another relay, or this one after a kill, finds them again only then.
func (r *Relay) lease(ctx context.Context, ids []int64) (batch, error) {
	if len(ids) == 0 {
		return batch{}, nil
	}
	var b batch
	err := r.store.Tx(ctx, func(tx *store.Tx) error {
		now := r.now()
		b = batch{token: newToken(), until: now.Add(leaseFor)}
		n, err := tx.Affected(`UPDATE messages SET lease_token = ?, lease_until = ?, due_at = ?
			WHERE id IN ? AND state = 'pending' AND due_at <= ?`, b.token, b.until, b.until, ids, now)
		if err != nil || n == 0 {
			return err
		}
		var rows []model.Message
		if err := tx.Where("id IN ? AND lease_token = ?", ids, b.token).Order("id").Find(&rows).Error; err != nil {
			return err
		}
		for _, row := range rows {
			b.msgs = append(b.msgs, Message{
				ID: row.ID, Topic: row.Topic, Key: row.Key, Seq: row.Seq, MerchantID: row.MerchantID,
				Payload: []byte(row.Payload), Trace: row.Trace, CreatedAt: row.CreatedAt, Attempts: row.Attempts,
			})
		}
		return nil
	})
	if err != nil {
		return batch{}, fmt.Errorf("leasing messages: %w", err)
	}
	return b, nil
}

// putOff makes rows behind an unsent one due when that one is, so that they do not fill every look. The heads are locked
// meanwhile: whoever sends, skips or retries one makes the next row due after this, or has done so before and is seen here.
func (r *Relay) putOff(ctx context.Context, behind map[int64][]int64) (n int, err error) {
	if len(behind) == 0 {
		return 0, nil
	}
	heads := make([]int64, 0, len(behind))
	for id := range behind {
		heads = append(heads, id)
	}
	err = r.store.Tx(ctx, func(tx *store.Tx) error {
		n = 0
		var rows []struct {
			ID    int64
			DueAt model.Time
		}
		err := tx.Raw("SELECT id, due_at FROM messages WHERE id IN ? AND state IN ('pending', 'dead') ORDER BY id"+tx.ForUpdate(),
			heads).Scan(&rows).Error
		if err != nil {
			return err
		}
		at := map[model.Time][]int64{}
		for _, head := range rows {
			at[head.DueAt] = append(at[head.DueAt], behind[head.ID]...)
		}
		for dueAt, ids := range at {
			m, err := tx.Affected("UPDATE messages SET due_at = ? WHERE id IN ? AND state = 'pending' AND due_at < ?", dueAt, ids, dueAt)
			if err != nil {
				return err
			}
			n += int(m)
		}
		return nil
	})
	return n, err
}
