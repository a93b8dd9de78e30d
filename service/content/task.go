package content

import (
	"context"
	"errors"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/deadline"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

// Kind is the timeout kind that asks WeChat again about what is held (content_holds.next_at). Its key is the hold's id.
const Kind = "content"

const (
	// checkWorkers is how many checks run at once.
	checkWorkers = 8
	// callTime is how long a claimed check is left alone by other replicas.
	callTime = wechat.ContentLimit + 3*time.Second
)

// Kinds are the deadlines of holds, for the timeout module.
func (s *Service) Kinds() []timeout.Kind {
	return []timeout.Kind{{
		Name: Kind, Handler: deadline.Each(s.due), Batch: 1, Workers: checkWorkers,
		Source: deadline.NewColumn(s.Store, Kind, "content_holds", "next_at", "next_at IS NOT NULL"),
	}}
}

// due asks WeChat about a hold, or gives its verdict up.
func (s *Service) due(ctx context.Context, id int64, due model.Time) timeout.Outcome {
	h, err := holdByID(s.Store.Read(ctx), id)
	switch {
	case err != nil:
		return deadline.Failed(err)
	case h == nil || h.NextAt == nil:
		return timeout.Done()
	case *h.NextAt > due:
		return timeout.Reschedule(int64(*h.NextAt))
	case h.TraceID != "":
		return s.after(ctx, h, s.hold(ctx, h, model.HoldFailed, nil)) // no verdict came
	}
	claim := deadline.Claim{Table: "content_holds", Column: "next_at", ID: id, Due: *h.NextAt, Until: s.Now().Add(callTime)}
	err = s.Store.Tx(ctx, func(tx *store.Tx) error {
		n, err := tx.Affected("UPDATE content_holds SET next_at = ?, attempts = attempts + 1 WHERE id = ? AND next_at = ?", claim.Until, id, claim.Due)
		if err == nil && n == 0 {
			return errMoved
		}
		return err
	})
	switch {
	case errors.Is(err, errMoved):
		return timeout.Again(err)
	case err != nil:
		return deadline.Failed(err)
	}
	h.NextAt, h.Attempts = &claim.Until, h.Attempts+1
	failpoint.Hit("content.claimed")
	ask := s.askAgain
	if h.Kind.Pictured() {
		ask = s.submit
	}
	return claim.Ended(ctx, s.Store, s.after(ctx, h, ask(ctx, h)))
}

// askAgain asks about a held text and does what WeChat says.
func (s *Service) askAgain(ctx context.Context, h *model.ContentHold) error {
	v, err := s.ask(ctx, h.ShopperID, h.Kind, h.Text)
	if wechatError(err) {
		return s.askLater(ctx, h, err)
	}
	if err != nil {
		return err
	}
	failpoint.Hit("content.asked")
	return s.Store.Tx(ctx, func(tx *store.Tx) error { return s.said(tx, h, v) })
}

// said does what WeChat says of a hold; one that somebody else decided meanwhile stays as it is.
func (s *Service) said(tx *store.Tx, h *model.ContentHold, v wechat.Verdict) error {
	to := model.HoldPassed
	switch v.Suggest {
	case wechat.SuggestReview:
		return tx.Exec("UPDATE content_holds SET reason = ?, label = ?, next_at = NULL WHERE id = ? AND state = ?",
			model.HoldDoubtful, v.Label, h.ID, model.HoldHeld).Error
	case wechat.SuggestRisky:
		to = model.HoldRefused
	case wechat.SuggestPass:
	}
	_, err := s.decide(tx, h, to, ByWeChat)
	return err
}

// askLater has WeChat asked again after a while, or leaves the hold to a person once that has gone on for too long.
func (s *Service) askLater(ctx context.Context, h *model.ContentHold, cause error) error {
	s.Log.WarnContext(ctx, "what a shopper wrote stays held: WeChat did not judge it", "hold", h.ID, "kind", h.Kind, "attempts", h.Attempts, "error", cause)
	now := s.Now()
	if now.Sub(h.CreatedAt) > patience {
		return s.hold(ctx, h, model.HoldFailed, nil)
	}
	next := now.Add(pause(h.Attempts))
	return s.hold(ctx, h, model.HoldFailed, &next)
}

// hold sets why a hold is still held, and until when.
func (s *Service) hold(ctx context.Context, h *model.ContentHold, reason model.HoldReason, next *model.Time) error {
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		return tx.Exec("UPDATE content_holds SET reason = ?, trace_id = '', next_at = ? WHERE id = ? AND state = ? AND next_at = ?",
			reason, next, h.ID, model.HoldHeld, *h.NextAt).Error
	})
}

// after is the outcome of a task, as the row says when the hold is due next.
func (s *Service) after(ctx context.Context, h *model.ContentHold, err error) timeout.Outcome {
	if err != nil {
		return deadline.Failed(err)
	}
	now, err := holdByID(s.Store.Read(ctx), h.ID)
	switch {
	case err != nil:
		return deadline.Failed(err)
	case now == nil || now.NextAt == nil:
		return timeout.Done()
	}
	return timeout.Reschedule(int64(*now.NextAt))
}
