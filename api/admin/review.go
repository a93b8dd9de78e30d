package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/review"
	"github.com/tidemall/tidemall/service/store"
)

// Reviews has the merchant's operations about reviews.
type Reviews struct {
	Service interface {
		List(ctx context.Context, f review.Filter, p store.Page) ([]review.View, int64, error)
		ListAfter(ctx context.Context, f review.Filter, after store.Cursor, limit int) ([]review.View, *store.Cursor, error)
		ViewOf(ctx context.Context, r *model.Review) (review.View, error)
		Answer(ctx context.Context, merchantID, id, version int64, answer, actor string) (*model.Review, error)
		Hide(ctx context.Context, merchantID, id, version int64) (*model.Review, error)
		Show(ctx context.Context, merchantID, id, version int64) (*model.Review, error)
	}
	Pictures api.Pictures
}

// Review is a review as the merchant sees it. What is not passed is not shown to the merchant here either, but among what is held.
type Review struct {
	ID          int64             `json:"id"`
	OrderNo     string            `json:"order_no,omitempty"`
	ProductID   int64             `json:"product_id"`
	ProductName string            `json:"product_name"`
	ShopperID   int64             `json:"shopper_id"`
	Nickname    string            `json:"nickname"`
	Specs       map[string]string `json:"specs"`
	Rating      int               `json:"rating"`
	Content     string            `json:"content,omitempty" doc:"Absent while the review is held, and of one that was refused: see GET /content-holds"`
	Pictures    []api.Picture     `json:"pictures" doc:"Likewise"`
	Status      model.ReviewState `json:"status" enum:"held,visible,hidden,refused"`
	Answer      *api.ReviewAnswer `json:"answer,omitempty"`
	AnsweredBy  string            `json:"answered_by,omitempty" example:"admin:3"`
	Version     int64             `json:"version"`
	CreatedAt   model.Time        `json:"created_at" format:"date-time"`
}

func (r *Reviews) show(v review.View) Review {
	out := Review{
		ID: v.ID, OrderNo: v.OrderNo, ProductID: v.ProductID, ProductName: v.ProductName, ShopperID: v.ShopperID, Nickname: v.Nickname,
		Specs: v.Specs, Rating: v.Rating, Pictures: []api.Picture{}, Status: v.State, Answer: api.ReviewAnswerOf(v.Review),
		AnsweredBy: v.AnsweredBy, Version: v.Version, CreatedAt: v.CreatedAt,
	}
	if v.State == model.ReviewVisible || v.State == model.ReviewHidden {
		out.Content, out.Pictures = v.Content, api.PicturesOf(v.Pictures, r.Pictures)
	}
	return out
}

// ReviewListInput asks for a page of reviews.
type ReviewListInput struct {
	api.DeepInput

	Status     model.ReviewState `query:"status" enum:"held,visible,hidden,refused" doc:"Only those that stand here"`
	ProductID  int64             `query:"product_id" minimum:"1" maximum:"9007199254740991" doc:"Only those of this product"`
	Rating     int               `query:"rating" minimum:"1" maximum:"5" doc:"Only those with so many stars"`
	Pictured   bool              `query:"with_pictures" doc:"Only those with pictures"`
	Unanswered bool              `query:"unanswered" doc:"Only those without an answer"`
	Answered   bool              `query:"answered" doc:"Only those with an answer"`
}

// All lists the merchant's reviews, newest first.
func (r *Reviews) All(ctx context.Context, in *ReviewListInput) (*api.Reply[api.Deep[Review]], error) {
	f := review.Filter{
		MerchantID: api.Admin(ctx).MerchantID, State: in.Status, ProductID: in.ProductID, Rating: in.Rating, Pictured: in.Pictured,
		Unanswered: in.Unanswered, Answered: in.Answered,
	}
	rows, next, total, err := api.ReviewRows(ctx, r.Service, f, in.DeepInput)
	if err != nil {
		return nil, err
	}
	out := make([]Review, len(rows))
	for i, v := range rows {
		out[i] = r.show(v)
	}
	return api.NewDeep(out, next, total, in.DeepInput), nil
}

// AnswerBody is the merchant's word on a review.
type AnswerBody struct {
	Answer  string `json:"answer" minLength:"1" maxLength:"500" doc:"Takes the place of a former answer"`
	Version int64  `json:"version" minimum:"1" maximum:"9007199254740991" doc:"The review's version that was read"`
}

// AnswerInput answers a review.
type AnswerInput struct {
	api.IDPath
	Body AnswerBody
}

// Answer answers a review.
func (r *Reviews) Answer(ctx context.Context, in *AnswerInput) (*api.Reply[Review], error) {
	return r.after(ctx)(r.Service.Answer(ctx, api.Admin(ctx).MerchantID, in.ID, in.Body.Version, in.Body.Answer, api.Caller(ctx)))
}

// Hide takes a review out of every list.
func (r *Reviews) Hide(ctx context.Context, in *DecideInput) (*api.Reply[Review], error) {
	return r.after(ctx)(r.Service.Hide(ctx, api.Admin(ctx).MerchantID, in.ID, in.Body.Version))
}

// Show brings a hidden review back.
func (r *Reviews) Show(ctx context.Context, in *DecideInput) (*api.Reply[Review], error) {
	return r.after(ctx)(r.Service.Show(ctx, api.Admin(ctx).MerchantID, in.ID, in.Body.Version))
}

func (r *Reviews) after(ctx context.Context) func(*model.Review, error) (*api.Reply[Review], error) {
	return func(row *model.Review, err error) (*api.Reply[Review], error) {
		if err != nil {
			return nil, err
		}
		v, err := r.Service.ViewOf(ctx, row)
		if err != nil {
			return nil, err
		}
		return api.Body(r.show(v)), nil
	}
}
