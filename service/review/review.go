// Package review is what shoppers say of what they received: a rating, a text and pictures for a line of a completed order, once.
// A review is shown once WeChat, or a person, has passed its text and all its pictures; the merchant answers it, or hides it.
package review

import (
	"context"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/content"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Limits of a review. Lengths count characters.
const (
	MaxContent  = 500
	MaxPictures = 9
	MaxAnswer   = 500
)

// Orders tells what can be reviewed.
type Orders interface {
	// LineForReview reads a shopper's order with the line that is to be reviewed.
	LineForReview(ctx context.Context, shopperID int64, no string, lineID int64) (*model.Order, *model.OrderLine, error)
	// TakeForReview marks the line as reviewed, under the order's lock.
	TakeForReview(tx *store.Tx, orderID, lineID int64, now model.Time) error
}

// Content judges texts and pictures.
type Content interface {
	Judge(ctx context.Context, q content.Question) (content.Judgement, error)
	Hold(tx *store.Tx, n content.Withheld) error
	Supersede(tx *store.Tx, refID int64, kinds ...model.HoldKind) error
	Open(tx *store.Tx, refID int64, kinds ...model.HoldKind) (int64, error)
	// Passed returns the texts of things that were held and are passed by now, by the ids of the things.
	Passed(ctx context.Context, kind model.HoldKind, refIDs []int64) (map[int64]map[string]bool, error)
}

// Shelf tells what shoppers may see.
type Shelf interface {
	// OnShelf is not_found for a product that is not on the shelf.
	OnShelf(ctx context.Context, productID int64) error
}

// Pictures is what reviews need of the file store.
type Pictures interface {
	Exists(ctx context.Context, key string) (bool, error)
}

// Deps is what the service is made of; all are required.
type Deps struct {
	Store    *store.Store
	Now      func() model.Time
	Orders   Orders
	Content  Content
	Shelf    Shelf
	Pictures Pictures
}

// Service is safe for concurrent use.
type Service struct{ Deps }

// New makes the service.
func New(d Deps) *Service { return &Service{d} }

// kinds are the holds that a review waits for.
var kinds = []model.HoldKind{model.HoldReview, model.HoldPicture}

// lock reads a review under its row lock. not_found if there is none.
func lock(tx *store.Tx, id int64) (*model.Review, error) {
	return one(tx.Raw("SELECT * FROM reviews WHERE id = ?"+tx.ForUpdate(), id))
}

func one(q *gorm.DB) (*model.Review, error) {
	var rows []model.Review
	if err := q.Find(&rows).Error; err != nil {
		return nil, store.Classify(err)
	}
	if len(rows) == 0 {
		return nil, fault.New(fault.NotFoundError)
	}
	return &rows[0], nil
}
