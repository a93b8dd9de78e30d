package review

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/content"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Draft is what a shopper says of a line. Content and pictures may be empty.
type Draft struct {
	LineID   int64
	Rating   int
	Content  string
	Pictures []model.Image
}

func (s *Service) check(ctx context.Context, d *Draft) error {
	d.Content = strings.TrimSpace(d.Content)
	wrong := fault.New(fault.ValidationFailed)
	if d.Rating < 1 || d.Rating > 5 {
		wrong.With("rating", fault.FieldRange, "应为 1 至 5", "must be from 1 to 5")
	}
	if utf8.RuneCountInString(d.Content) > MaxContent || !utf8.ValidString(d.Content) {
		wrong.With("content", fault.FieldLength, fmt.Sprintf("最多 %d 个字符", MaxContent), fmt.Sprintf("may have %d characters at most", MaxContent))
	}
	if len(d.Pictures) > MaxPictures {
		wrong.With("pictures", fault.FieldLength, fmt.Sprintf("最多 %d 张", MaxPictures), fmt.Sprintf("may be %d at most", MaxPictures))
		return wrong
	}
	seen := map[string]bool{}
	for i, p := range d.Pictures {
		there, err := s.Pictures.Exists(ctx, p.Key)
		switch field := fmt.Sprintf("pictures[%d].url", i); {
		case err != nil:
			return err
		case !there:
			wrong.With(field, fault.FieldGone, "请先上传图片", "is no picture that was uploaded here")
		case seen[p.Key]:
			wrong.With(field, fault.FieldDup, "", "")
		}
		seen[p.Key] = true
	}
	if len(wrong.Fields) > 0 {
		return wrong
	}
	return nil
}

// Add stores a shopper's review of a line of their completed order. WeChat is asked about the text first: content_refused if it is
// risky. It is shown at once if the text passed and there are no pictures; pictures are looked at afterwards. Errors beside are
// those of order.LineForReview and validation_failed.
func (s *Service) Add(ctx context.Context, shopperID int64, no string, d Draft) (*model.Review, error) {
	o, line, err := s.Orders.LineForReview(ctx, shopperID, no, d.LineID)
	if err != nil {
		return nil, err
	}
	if err := s.check(ctx, &d); err != nil {
		return nil, err
	}
	var judged content.Judgement
	if d.Content != "" {
		judged, err = s.Content.Judge(ctx, content.Question{ShopperID: shopperID, Kind: model.HoldReview, Field: "content", Text: d.Content})
		if err != nil {
			return nil, err
		}
	}
	var made *model.Review
	err = s.Store.Tx(ctx, func(tx *store.Tx) error {
		made = compose(o, line, d, s.Now())
		if judged.Held || len(d.Pictures) > 0 {
			made.State = model.ReviewHeld
		}
		return s.add(tx, o, made, judged)
	})
	return made, err
}

func compose(o *model.Order, l *model.OrderLine, d Draft, now model.Time) *model.Review {
	pictures := d.Pictures
	if pictures == nil {
		pictures = []model.Image{}
	}
	return &model.Review{
		MerchantID: o.MerchantID, OrderID: o.ID, LineID: &l.ID, ProductID: l.ProductID, ShopperID: o.ShopperID, Specs: l.Specs,
		Rating: d.Rating, Content: d.Content, Pictures: pictures, Pictured: len(pictures) > 0,
		State: model.ReviewVisible, Version: 1, CreatedAt: now, UpdatedAt: now,
	}
}

func (s *Service) add(tx *store.Tx, o *model.Order, r *model.Review, judged content.Judgement) error {
	if err := s.Orders.TakeForReview(tx, o.ID, *r.LineID, r.CreatedAt); err != nil {
		return err
	}
	if err := tx.Create(r).Error; err != nil {
		return err
	}
	held := content.Withheld{Kind: model.HoldReview, RefID: r.ID, MerchantID: r.MerchantID, ShopperID: r.ShopperID, OrderNo: o.No, Text: r.Content, Judgement: judged}
	if judged.Held {
		if err := s.Content.Hold(tx, held); err != nil {
			return err
		}
	}
	for _, p := range r.Pictures {
		held.Kind, held.Text, held.Judgement = model.HoldPicture, p.Key, content.Waiting
		if err := s.Content.Hold(tx, held); err != nil {
			return err
		}
	}
	if r.State == model.ReviewVisible {
		return count(tx, r, 1)
	}
	return nil
}

// Import writes a visible review that was made elsewhere, such as the demo's: no order is behind it, and nobody is asked about it.
func Import(tx *store.Tx, r *model.Review) error {
	r.State, r.Pictured, r.Version = model.ReviewVisible, len(r.Pictures) > 0, 1
	if err := tx.Create(r).Error; err != nil {
		return err
	}
	return count(tx, r, 1)
}

// Effect shows a review once everything of it is passed, and refuses it with the first thing that is.
func (s *Service) Effect() content.Effect {
	return content.Effect{
		Lock: func(tx *store.Tx, id int64) error {
			_, err := lock(tx, id)
			return err
		},
		Apply: func(tx *store.Tx, h model.ContentHold, now model.Time) error {
			if h.State != model.HoldPassed {
				if err := s.Content.Supersede(tx, h.RefID, kinds...); err != nil {
					return err
				}
				return move(tx, h.RefID, 0, model.ReviewRefused, now)
			}
			open, err := s.Content.Open(tx, h.RefID, kinds...)
			if err != nil || open > 0 {
				return err
			}
			return move(tx, h.RefID, 0, model.ReviewVisible, now)
		},
	}
}
