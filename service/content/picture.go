package content

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

// suggestFailed stands in media_checks where WeChat could not look at a picture.
const suggestFailed = "failed"

// submit has WeChat look at a picture. A kill between its answer and the row that keeps the trace id costs one more check.
func (s *Service) submit(ctx context.Context, h *model.ContentHold) error {
	openID, err := s.openID(ctx, h.ShopperID)
	if err != nil {
		return err
	}
	trace, err := s.WeChat.CheckPicture(ctx, openID, sceneOf(h.Kind), s.Pictures.URL(h.Text))
	if wechatError(err) {
		return s.askLater(ctx, h, err)
	}
	if err != nil {
		return err
	}
	failpoint.Hit("content.submitted")
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		// The row of the check comes first, there as here: it is where the call and the push meet.
		check, err := s.meet(tx, model.MediaCheck{TraceID: trace, HoldID: h.ID}, "hold_id")
		if err != nil {
			return err
		}
		if check.Suggest != "" { // it is acted on below, and the thing is locked before its hold
			if err := s.effects[h.Kind].Lock(tx, h.RefID); err != nil {
				return err
			}
		}
		err = tx.Exec("UPDATE content_holds SET trace_id = ?, next_at = ? WHERE id = ? AND state = ? AND next_at = ?",
			trace, s.Now().Add(verdictPatience), h.ID, model.HoldHeld, *h.NextAt).Error
		if err != nil || check.Suggest == "" {
			return err
		}
		return s.judged(tx, check)
	})
}

// CheckRetention is how long checks of pictures are kept: many times as long as their holds wait for WeChat.
const CheckRetention = 30 * 24 * time.Hour

// Pushes are what holds do about WeChat's message pushes, by the name of the event. Each runs in the transaction that marks the
// push as taken.
func (s *Service) Pushes() map[string]func(tx *store.Tx, p wechat.Push) error {
	return map[string]func(tx *store.Tx, p wechat.Push) error{wechat.EventMediaCheck: s.mediaPush}
}

// mediaPush keeps the verdict on a picture and, where it is known whose it is, acts on it. One that overtook the answer with the
// trace id is acted on when that is stored.
func (s *Service) mediaPush(tx *store.Tx, p wechat.Push) error {
	v, err := wechat.ParseMediaCheck(p)
	if err != nil {
		return nil //nolint:nilerr // sent again it would be the same; the picture stays held
	}
	suggest := string(v.Suggest)
	if v.Failed {
		suggest = suggestFailed
	}
	check, err := s.meet(tx, model.MediaCheck{TraceID: v.TraceID, Suggest: suggest, Label: v.Label}, "suggest", "label")
	if err != nil || check.HoldID == 0 {
		return err
	}
	return s.judged(tx, check)
}

// meet writes what is known of a check, keeps what was known, and returns both. The row stays locked.
func (s *Service) meet(tx *store.Tx, c model.MediaCheck, columns ...string) (model.MediaCheck, error) {
	update := " ON DUPLICATE KEY UPDATE "
	if tx.Dialect() == store.SQLite {
		update = " ON CONFLICT (trace_id) DO UPDATE SET "
	}
	for i, column := range columns {
		if i > 0 {
			update += ", "
		}
		if tx.Dialect() == store.SQLite {
			update += column + " = excluded." + column
		} else {
			update += column + " = VALUES(" + column + ")"
		}
	}
	err := tx.Exec("INSERT INTO media_checks (trace_id, hold_id, suggest, label, created_at) VALUES (?, ?, ?, ?, ?)"+update,
		c.TraceID, c.HoldID, c.Suggest, c.Label, s.Now()).Error
	if err != nil {
		return c, err
	}
	return c, tx.Where("trace_id = ?", c.TraceID).Take(&c).Error
}

// judged acts on the verdict on a picture.
func (s *Service) judged(tx *store.Tx, c model.MediaCheck) error {
	h, err := holdByID(tx.DB, c.HoldID)
	switch {
	case err != nil:
		return err
	case h == nil:
		return fmt.Errorf("picture check %s is of hold %d, which does not exist", c.TraceID, c.HoldID)
	case h.State != model.HoldHeld:
		return nil
	case c.Suggest != suggestFailed:
		return s.said(tx, h, wechat.Verdict{Suggest: wechat.Suggestion(c.Suggest), Label: c.Label})
	case h.TraceID != c.TraceID: // a later check is on its way
		return nil
	}
	next := s.Now().Add(pause(h.Attempts))
	var at *model.Time
	if s.Now().Sub(h.CreatedAt) <= patience {
		at = &next
	}
	return tx.Exec("UPDATE content_holds SET reason = ?, trace_id = '', next_at = ? WHERE id = ? AND state = ?", model.HoldFailed, at, h.ID, model.HoldHeld).Error
}
