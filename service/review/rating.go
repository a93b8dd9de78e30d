package review

import (
	"context"
	"fmt"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Rating is what a product's visible reviews say in sum.
type Rating struct {
	Stars    [5]int64 // how many gave one star, two, …
	Pictured int64    // how many have pictures
}

// Count returns how many there are.
func (r Rating) Count() int64 {
	var n int64
	for _, s := range r.Stars {
		n += s
	}
	return n
}

// Average returns the mean number of stars in tenths, rounded; 0 without any.
func (r Rating) Average() int64 {
	n, sum := r.Count(), int64(0)
	if n == 0 {
		return 0
	}
	for i, s := range r.Stars {
		sum += int64(i+1) * s
	}
	return (20*sum + n) / (2 * n)
}

// RatingOf returns what shoppers say of a product.
func (s *Service) RatingOf(ctx context.Context, productID int64) (Rating, error) {
	var rows []model.ProductRating
	if err := s.Store.Read(ctx).Where("product_id = ?", productID).Find(&rows).Error; err != nil || len(rows) == 0 {
		return Rating{}, store.Classify(err)
	}
	r := rows[0]
	return Rating{Stars: [5]int64{r.Stars1, r.Stars2, r.Stars3, r.Stars4, r.Stars5}, Pictured: r.Pictured}, nil
}

// count adds a review to its product's counts, or takes it off. The row of the counts is the last that is locked.
func count(tx *store.Tx, r *model.Review, by int64) error {
	row := model.ProductRating{ProductID: r.ProductID, MerchantID: r.MerchantID}
	*[]*int64{&row.Stars1, &row.Stars2, &row.Stars3, &row.Stars4, &row.Stars5}[r.Rating-1] = by
	if r.Pictured {
		row.Pictured = by
	}
	stars := fmt.Sprintf("stars_%d", r.Rating)
	set := fmt.Sprintf(" ON DUPLICATE KEY UPDATE %[1]s = %[1]s + VALUES(%[1]s), pictured = pictured + VALUES(pictured)", stars)
	if tx.Dialect() == store.SQLite {
		set = fmt.Sprintf(" ON CONFLICT (product_id) DO UPDATE SET %[1]s = %[1]s + excluded.%[1]s, pictured = pictured + excluded.pictured", stars)
	}
	return tx.Exec("INSERT INTO product_ratings (product_id, merchant_id, stars_1, stars_2, stars_3, stars_4, stars_5, pictured) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"+set,
		row.ProductID, row.MerchantID, row.Stars1, row.Stars2, row.Stars3, row.Stars4, row.Stars5, row.Pictured).Error
}
