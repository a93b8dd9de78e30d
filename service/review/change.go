package review

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// move is the one function that changes a review's state, and with it the counts of its product. The review is locked. version 0 is
// whatever it is. state_conflict where the state does not allow it, stale_version.
func move(tx *store.Tx, id, version int64, to model.ReviewState, now model.Time) error {
	r, err := lock(tx, id)
	switch {
	case err != nil:
		return err
	case version != 0 && r.Version != version:
		return fault.New(fault.StaleVersion)
	case !model.ReviewTransitions.Allowed(r.State, to):
		return fault.New(fault.StateConflict)
	}
	n, err := tx.Affected("UPDATE reviews SET state = ?, version = version + 1, updated_at = ? WHERE id = ? AND version = ? AND state IN ?",
		to, now, id, r.Version, model.ReviewTransitions.From(to))
	if err != nil {
		return err
	}
	if n == 0 {
		return fault.New(fault.StaleVersion)
	}
	switch {
	case to == model.ReviewVisible:
		return count(tx, r, 1)
	case r.State == model.ReviewVisible:
		return count(tx, r, -1)
	}
	return nil
}

// Hide takes a review of the merchant's out of every list, at once. not_found, stale_version, state_conflict unless it is visible.
func (s *Service) Hide(ctx context.Context, merchantID, id, version int64) (*model.Review, error) {
	return s.turn(ctx, merchantID, id, version, model.ReviewHidden)
}

// Show brings a hidden review back.
func (s *Service) Show(ctx context.Context, merchantID, id, version int64) (*model.Review, error) {
	return s.turn(ctx, merchantID, id, version, model.ReviewVisible)
}

func (s *Service) turn(ctx context.Context, merchantID, id, version int64, to model.ReviewState) (*model.Review, error) {
	return s.change(ctx, merchantID, id, func(tx *store.Tx, r *model.Review) error {
		if r.State != model.ReviewVisible && r.State != model.ReviewHidden { // what is held is decided by its holds
			return fault.New(fault.StateConflict)
		}
		return move(tx, id, version, to, s.Now())
	})
}

// change runs fn with a review of the merchant's locked, and returns it as it is afterwards.
func (s *Service) change(ctx context.Context, merchantID, id int64, fn func(tx *store.Tx, r *model.Review) error) (*model.Review, error) {
	var after *model.Review
	err := s.Store.Tx(ctx, func(tx *store.Tx) error {
		r, err := one(tx.Raw("SELECT * FROM reviews WHERE id = ? AND merchant_id = ?"+tx.ForUpdate(), id, merchantID))
		if err != nil {
			return err
		}
		was := *r
		if err := fn(tx, r); err != nil {
			return err
		}
		if after, err = one(tx.Where("id = ?", id)); err != nil {
			return err
		}
		return changelog.Record(tx, changelog.Review, id, was, after)
	})
	return after, err
}

// answerable are the states in which somebody will read an answer, now or later.
var answerable = []model.ReviewState{model.ReviewVisible, model.ReviewHidden}

// Answer is the merchant's word on a review (1–500 characters); a new one takes the former's place. It is not checked: WeChat knows
// the merchant by name. not_found, stale_version, state_conflict while the review is held or refused.
func (s *Service) Answer(ctx context.Context, merchantID, id, version int64, answer, actor string) (*model.Review, error) {
	answer = strings.TrimSpace(answer)
	if n := utf8.RuneCountInString(answer); n == 0 || n > MaxAnswer || !utf8.ValidString(answer) {
		return nil, fault.New(fault.ValidationFailed).With("answer", fault.FieldLength, "应为 1–500 个字符", "must have 1 to 500 characters")
	}
	return s.change(ctx, merchantID, id, func(tx *store.Tx, r *model.Review) error {
		switch {
		case r.Version != version:
			return fault.New(fault.StaleVersion)
		case !slices.Contains(answerable, r.State):
			return fault.New(fault.StateConflict)
		}
		now := s.Now()
		n, err := tx.Affected("UPDATE reviews SET answer = ?, answered_at = ?, answered_by = ?, version = version + 1, updated_at = ? WHERE id = ? AND version = ?",
			answer, now, actor, now, id, version)
		if err == nil && n == 0 {
			return fault.New(fault.StaleVersion)
		}
		return err
	})
}
