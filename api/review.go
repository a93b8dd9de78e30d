package api

import (
	"context"
	"fmt"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/file"
	"github.com/tidemall/tidemall/service/review"
	"github.com/tidemall/tidemall/service/store"
)

// Rating is what a product's reviews say in sum.
type Rating struct {
	Count    int64       `json:"count" doc:"How many reviews are shown"`
	Average  float64     `json:"average,omitempty" doc:"Mean number of stars to one digit; absent without reviews" example:"4.8"`
	Stars    RatingStars `json:"stars" doc:"How many gave so many stars"`
	Pictured int64       `json:"with_pictures" doc:"How many have pictures"`
}

// RatingStars counts reviews by their stars.
type RatingStars struct {
	One   int64 `json:"1"`
	Two   int64 `json:"2"`
	Three int64 `json:"3"`
	Four  int64 `json:"4"`
	Five  int64 `json:"5"`
}

// RatingOf shows a rating.
func RatingOf(r review.Rating) Rating {
	return Rating{
		Count: r.Count(), Average: float64(r.Average()) / 10, Pictured: r.Pictured,
		Stars: RatingStars{r.Stars[0], r.Stars[1], r.Stars[2], r.Stars[3], r.Stars[4]},
	}
}

// ReviewAnswer is the merchant's word on a review.
type ReviewAnswer struct {
	Text string     `json:"text"`
	At   model.Time `json:"at" format:"date-time"`
}

// ReviewAnswerOf shows the answer; nil without one.
func ReviewAnswerOf(r model.Review) *ReviewAnswer {
	if r.AnsweredAt == 0 {
		return nil
	}
	return &ReviewAnswer{Text: r.Answer, At: r.AnsweredAt}
}

// ImagesOf reads pictures that an input names by the URLs that uploads answered. validation_failed on the field, such as
// pictures[0].url, for any other URL.
func ImagesOf(field string, pictures []Picture) ([]model.Image, error) {
	wrong := fault.New(fault.ValidationFailed)
	images := make([]model.Image, len(pictures))
	for i, p := range pictures {
		img, ok := file.Parse(p.URL)
		if !ok {
			wrong.With(fmt.Sprintf("%s[%d].url", field, i), fault.FieldFormat, "请先上传图片", "is no URL of a picture that was uploaded here")
		}
		images[i] = img
	}
	if len(wrong.Fields) > 0 {
		return nil, wrong
	}
	return images, nil
}

// ReviewLister reads pages of reviews.
type ReviewLister interface {
	List(ctx context.Context, f review.Filter, p store.Page) ([]review.View, int64, error)
	ListAfter(ctx context.Context, f review.Filter, after store.Cursor, limit int) ([]review.View, *store.Cursor, error)
}

// ReviewRows reads a page of reviews by number or by cursor, as the caller asked.
func ReviewRows(ctx context.Context, s ReviewLister, f review.Filter, in DeepInput) ([]review.View, string, int64, error) {
	return DeepRows(ctx, in,
		func(ctx context.Context, after store.Cursor, limit int) ([]review.View, *store.Cursor, error) {
			return s.ListAfter(ctx, f, after, limit)
		},
		func(ctx context.Context, p store.Page) ([]review.View, int64, error) { return s.List(ctx, f, p) },
		func(v review.View) store.Cursor { return store.Cursor{At: v.CreatedAt, ID: v.ID} })
}
