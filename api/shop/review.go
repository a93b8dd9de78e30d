package shop

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/review"
	"github.com/tidemall/tidemall/service/store"
)

// Reviews has the operations of writing and reading reviews.
type Reviews struct {
	Service interface {
		Add(ctx context.Context, shopperID int64, no string, d review.Draft) (*model.Review, error)
		ViewOf(ctx context.Context, r *model.Review) (review.View, error)
		OfProduct(ctx context.Context, f review.Filter, after store.Cursor, limit int) ([]review.View, *store.Cursor, error)
		List(ctx context.Context, f review.Filter, p store.Page) ([]review.View, int64, error)
		ListAfter(ctx context.Context, f review.Filter, after store.Cursor, limit int) ([]review.View, *store.Cursor, error)
		RatingOf(ctx context.Context, productID int64) (review.Rating, error)
	}
	Pictures api.Pictures
}

// ReviewBody is what a shopper says of a line.
type ReviewBody struct {
	LineID   int64         `json:"line_id" minimum:"1" maximum:"9007199254740991" doc:"The line of the order"`
	Rating   int           `json:"rating" minimum:"1" maximum:"5" doc:"Stars"`
	Content  string        `json:"content,omitempty" maxLength:"500"`
	Pictures []api.Picture `json:"pictures,omitempty" maxItems:"9" doc:"As POST /files answered them, in display order"`
}

// ReviewInput reviews a line of an order.
type ReviewInput struct {
	api.OrderPath
	Body ReviewBody
}

// MyReview is a review as its author sees it.
type MyReview struct {
	ID          int64             `json:"id"`
	OrderNo     string            `json:"order_no,omitempty"`
	LineID      int64             `json:"line_id,omitempty"`
	ProductID   int64             `json:"product_id"`
	ProductName string            `json:"product_name"`
	Specs       map[string]string `json:"specs"`
	Rating      int               `json:"rating"`
	Content     string            `json:"content,omitempty"`
	Pictures    []api.Picture     `json:"pictures"`
	Status      model.ReviewState `json:"status" enum:"held,visible,hidden,refused" doc:"held: others see it once its text and pictures are passed; hidden: by the merchant"`
	Answer      *api.ReviewAnswer `json:"answer,omitempty"`
	CreatedAt   model.Time        `json:"created_at" format:"date-time"`
}

func (r *Reviews) mine(v review.View) MyReview {
	out := MyReview{
		ID: v.ID, OrderNo: v.OrderNo, ProductID: v.ProductID, ProductName: v.ProductName, Specs: v.Specs, Rating: v.Rating, Content: v.Content,
		Pictures: api.PicturesOf(v.Pictures, r.Pictures), Status: v.State, Answer: api.ReviewAnswerOf(v.Review), CreatedAt: v.CreatedAt,
	}
	if v.LineID != nil {
		out.LineID = *v.LineID
	}
	return out
}

// Add stores a review of a line that was received.
func (r *Reviews) Add(ctx context.Context, in *ReviewInput) (*api.Reply[MyReview], error) {
	pictures, err := api.ImagesOf("pictures", in.Body.Pictures)
	if err != nil {
		return nil, err
	}
	made, err := r.Service.Add(ctx, api.Shopper(ctx), in.No, review.Draft{
		LineID: in.Body.LineID, Rating: in.Body.Rating, Content: in.Body.Content, Pictures: pictures,
	})
	if err != nil {
		return nil, err
	}
	v, err := r.Service.ViewOf(ctx, made)
	if err != nil {
		return nil, err
	}
	return api.Body(r.mine(v)), nil
}

// MyReviewsInput asks for a page of one's reviews.
type MyReviewsInput struct{ api.DeepInput }

// Mine lists the shopper's reviews, newest first.
func (r *Reviews) Mine(ctx context.Context, in *MyReviewsInput) (*api.Reply[api.Deep[MyReview]], error) {
	rows, next, total, err := api.ReviewRows(ctx, r.Service, review.Filter{ShopperID: api.Shopper(ctx)}, in.DeepInput)
	if err != nil {
		return nil, err
	}
	out := make([]MyReview, len(rows))
	for i, v := range rows {
		out[i] = r.mine(v)
	}
	return api.NewDeep(out, next, total, in.DeepInput), nil
}

// ProductReviewsInput asks for reviews of a product.
type ProductReviewsInput struct {
	api.IDPath
	api.AfterInput

	Rating   int  `query:"rating" minimum:"1" maximum:"5" doc:"Only those with so many stars"`
	Pictured bool `query:"with_pictures" doc:"Only those with pictures"`
}

// ProductReviews is a page of a product's reviews with its counts.
type ProductReviews struct {
	List   []ProductReview `json:"list" doc:"Newest first"`
	Next   string          `json:"next,omitempty" doc:"Give it as after to read on; absent at the end"`
	Rating api.Rating      `json:"rating" doc:"Of all reviews that are shown"`
}

// ProductReview is a review as everybody sees it.
type ProductReview struct {
	ID        int64             `json:"id"`
	Nickname  string            `json:"nickname" doc:"Masked" example:"张***"`
	Avatar    string            `json:"avatar,omitempty" format:"uri" doc:"Once WeChat has passed it"`
	Specs     map[string]string `json:"specs"`
	Rating    int               `json:"rating"`
	Content   string            `json:"content,omitempty"`
	Pictures  []api.Picture     `json:"pictures"`
	Answer    *api.ReviewAnswer `json:"answer,omitempty"`
	CreatedAt model.Time        `json:"created_at" format:"date-time"`
}

// OfProduct lists the reviews of a product that are shown.
func (r *Reviews) OfProduct(ctx context.Context, in *ProductReviewsInput) (*api.Reply[ProductReviews], error) {
	f := review.Filter{ProductID: in.ID, Rating: in.Rating, Pictured: in.Pictured}
	rows, next, err := r.Service.OfProduct(ctx, f, in.Cursor(), in.Limit)
	if err != nil {
		return nil, err
	}
	rating, err := r.Service.RatingOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := ProductReviews{List: make([]ProductReview, len(rows)), Rating: api.RatingOf(rating)}
	if next != nil {
		out.Next = next.String()
	}
	for i, v := range rows {
		out.List[i] = ProductReview{
			ID: v.ID, Nickname: v.Masked(), Avatar: r.Pictures.URL(v.Avatar), Specs: v.Specs, Rating: v.Rating, Content: v.Content,
			Pictures: api.PicturesOf(v.Pictures, r.Pictures), Answer: api.ReviewAnswerOf(v.Review), CreatedAt: v.CreatedAt,
		}
	}
	return api.Body(out), nil
}
