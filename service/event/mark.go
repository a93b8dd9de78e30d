package event

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

const (
	backoffFirst = time.Second
	backoffCap   = time.Minute
	outageWait   = 5 * time.Second // an outage is over when it is over: asked often, never counted
	errorBytes   = 255
)

// mark stores what came of leased messages, and makes the next row of every key that was sent due now. Only rows that still
// carry the batch's token are touched: a lease that ended belongs to whoever took it next.
func (r *Relay) mark(b batch, group []result) {
	// Not the loop's context: what was delivered is marked also while the relay stops.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.deliver), databaseLimit)
	defer cancel()
	now := r.now()
	err := r.store.Tx(ctx, func(tx *store.Tx) error {
		var sent []int64
		var keys []string
		for _, res := range group {
			if res.err == nil && !res.givenBack {
				sent, keys = append(sent, res.ID), append(keys, res.Key)
			} else if err := r.markFailed(tx, b, res, now); err != nil {
				return err
			}
		}
		if len(sent) == 0 {
			return nil
		}
		n, err := tx.Affected(`UPDATE messages SET state = 'sent', sent_at = ?, due_at = ?, lease_token = '', lease_until = 0, error = ''
			WHERE id IN ? AND lease_token = ? AND state = 'pending'`, now, now, sent, b.token)
		if err != nil || n == 0 {
			return err
		}
		return nextDue(tx, keys, now)
	})
	if err != nil {
		// The lease ends by itself, and the messages are delivered again.
		r.log.Warn("deliveries are not marked", "messages", len(group), "error", err)
		return
	}
	for _, res := range group {
		r.report(res)
	}
}

// markFailed gives the message back, backs off, or parks it as dead.
func (r *Relay) markFailed(tx *store.Tx, b batch, res result, now model.Time) error {
	state, attempts, dueAt, text := model.MessagePending, res.Attempts, now, ""
	switch {
	case res.givenBack:
	case !res.own:
		dueAt = now.Add(jitter(outageWait))
		text = res.err.Error()
	default:
		attempts++
		text = res.err.Error()
		dueAt = now.Add(jitter(min(backoffFirst<<(attempts-1), backoffCap)))
		if attempts >= maxAttempts {
			state, dueAt = model.MessageDead, never
		}
	}
	return tx.Exec(`UPDATE messages SET state = ?, attempts = ?, due_at = ?, error = ?, lease_token = '', lease_until = 0
		WHERE id = ? AND lease_token = ? AND state = 'pending'`,
		state, attempts, dueAt, cut(text, errorBytes), res.ID, b.token).Error
}

// nextDue makes the first unsent row of each key due now. If that one is dead, everything behind it stays where it is.
func nextDue(tx *store.Tx, keys []string, now model.Time) error {
	var ids []int64
	err := tx.Raw(`SELECT h.id FROM (SELECT msg_key, MIN(seq) AS seq FROM messages
			WHERE msg_key IN ? AND state IN ('pending', 'dead') GROUP BY msg_key) f
		JOIN messages h ON h.msg_key = f.msg_key AND h.seq = f.seq
		WHERE h.state = 'pending' AND h.lease_token = '' AND h.due_at > ?`, keys, now).Scan(&ids).Error
	if err != nil || len(ids) == 0 {
		return err
	}
	return tx.Exec("UPDATE messages SET due_at = ? WHERE id IN ? AND state = 'pending' AND lease_token = ''", now, ids).Error
}

// report logs and counts what became of a message, once it is stored.
func (r *Relay) report(res result) {
	switch {
	case res.givenBack:
	case res.err == nil:
		r.m.delivered(res.Topic, resultSent)
	case !res.own:
		r.m.delivered(res.Topic, resultOutage)
		r.log.Debug("message waits for an outage to end", "message_id", res.ID, "topic", res.Topic, "error", res.err)
	case res.Attempts+1 >= maxAttempts:
		r.m.delivered(res.Topic, resultDead)
		r.log.Error("message is dead and holds its key", "message_id", res.ID, "topic", res.Topic, "key", res.Key, "error", res.err)
	default:
		r.m.delivered(res.Topic, resultFailed)
		r.log.Warn("message failed and is tried again", "message_id", res.ID, "topic", res.Topic, "attempts", res.Attempts+1, "error", res.err)
	}
}

// jitter is a random wait of up to d: messages that failed together are not tried again together.
func jitter(d time.Duration) time.Duration {
	return time.Duration(rand.Int64N(int64(d))) + time.Millisecond
}

// cut shortens a text to at most n bytes without cutting a character in two.
func cut(s string, n int) string {
	for len(s) > n {
		r := []rune(s[:n])
		s = string(r[:len(r)-1])
	}
	return s
}
