package content

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/deadline"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
)

// Withheld is a text or a picture that is to be held.
type Withheld struct {
	Judgement

	Kind                         model.HoldKind
	RefID, MerchantID, ShopperID int64
	OrderNo                      string
	// Text is what is held: the text itself, or a picture's key.
	Text string
}

// Hold writes the hold in the transaction that stores what is held. WeChat is asked again by itself where it could not be asked,
// and about a picture at once.
func (s *Service) Hold(tx *store.Tx, n Withheld) error {
	now := s.Now()
	row := model.ContentHold{
		Kind: n.Kind, RefID: n.RefID, MerchantID: n.MerchantID, ShopperID: n.ShopperID, OrderNo: n.OrderNo, Text: n.Text,
		Reason: n.Reason, Label: n.Label, State: model.HoldHeld, Version: 1, CreatedAt: now,
	}
	switch n.Reason {
	case model.HoldWaiting:
		row.NextAt = &now
	case model.HoldFailed:
		next := now.Add(pause(0))
		row.NextAt = &next
	case model.HoldDoubtful:
	}
	if err := tx.Create(&row).Error; err != nil {
		return err
	}
	if row.NextAt != nil {
		ctx := context.WithoutCancel(tx.Statement.Context)
		tx.AfterCommit(func() { s.schedule(ctx, deadline.Task(Kind, row.ID, *row.NextAt)) })
	}
	return nil
}

// Supersede ends the holds of a thing that nobody decided on: something else has taken the place of what they hold. The thing is
// locked.
func (s *Service) Supersede(tx *store.Tx, refID int64, kinds ...model.HoldKind) error {
	return tx.Exec("UPDATE content_holds SET state = ?, decided_at = ?, next_at = NULL, version = version + 1 WHERE kind IN ? AND ref_id = ? AND state IN ?",
		model.HoldSuperseded, s.Now(), kinds, refID, model.HoldTransitions.From(model.HoldSuperseded)).Error
}

// Open counts the holds of a thing that nobody has decided on yet. The thing is locked.
func (s *Service) Open(tx *store.Tx, refID int64, kinds ...model.HoldKind) (n int64, err error) {
	err = tx.Raw("SELECT COUNT(*) FROM content_holds WHERE kind IN ? AND ref_id = ? AND state = ?", kinds, refID, model.HoldHeld).Scan(&n).Error
	return n, err
}

// Pending returns the newest text of a thing that is held, "" without any.
func (s *Service) Pending(ctx context.Context, kind model.HoldKind, refID int64) (string, error) {
	var texts []string
	err := s.Store.Read(ctx).Raw("SELECT text FROM content_holds WHERE kind = ? AND ref_id = ? AND state = ? ORDER BY id DESC LIMIT 1",
		kind, refID, model.HoldHeld).Scan(&texts).Error
	if err != nil || len(texts) == 0 {
		return "", store.Classify(err)
	}
	return texts[0], nil
}

// Passed says which texts of things were held and are passed by now, by the ids of the things. Of several decisions on the same text
// the last one counts: what was passed once may have been refused since.
func (s *Service) Passed(ctx context.Context, kind model.HoldKind, refIDs []int64) (map[int64]map[string]bool, error) {
	var rows []struct {
		RefID int64
		Text  string
		State model.HoldState
	}
	err := s.Store.Read(ctx).Raw("SELECT ref_id, text, state FROM content_holds WHERE kind = ? AND ref_id IN ? AND state IN ? ORDER BY id",
		kind, refIDs, []model.HoldState{model.HoldPassed, model.HoldRefused}).Scan(&rows).Error
	passed := map[int64]map[string]bool{}
	for _, r := range rows {
		if passed[r.RefID] == nil {
			passed[r.RefID] = map[string]bool{}
		}
		passed[r.RefID][r.Text] = r.State == model.HoldPassed
	}
	return passed, store.Classify(err)
}

const (
	firstPause   = 10 * time.Second
	longestPause = time.Hour
	// patience is how long WeChat is asked again before only a person is waited for.
	patience = 72 * time.Hour
	// verdictPatience is how long a verdict on a picture is waited for.
	verdictPatience = 24 * time.Hour
)

// pause is how long to wait after so many questions without an answer.
func pause(attempts int) time.Duration { return min(firstPause<<min(attempts, 10), longestPause) }

// holdByID returns the hold, or nil.
func holdByID(db *gorm.DB, id int64) (*model.ContentHold, error) {
	var rows []model.ContentHold
	if err := db.Where("id = ?", id).Find(&rows).Error; err != nil || len(rows) == 0 {
		return nil, store.Classify(err)
	}
	return &rows[0], nil
}

func wechatError(err error) bool {
	var e *wechat.Error
	return errors.As(err, &e)
}

var errMoved = errors.New("content: the hold was changed by somebody else meanwhile")

func notFound() error { return fault.New(fault.NotFoundError) }
