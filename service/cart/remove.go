// Package cart keeps what a shopper means to buy. It reserves nothing: prices, stock and availability are read when it is shown.
package cart

import (
	"fmt"

	"github.com/tidemall/tidemall/service/store"
)

// RemoveItems removes those of the items that are the shopper's, as when they were ordered. Items that are not there any more
// are no error.
func RemoveItems(tx *store.Tx, shopperID int64, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	if err := tx.Exec("DELETE FROM cart_items WHERE shopper_id = ? AND id IN ?", shopperID, ids).Error; err != nil {
		return fmt.Errorf("remove cart items: %w", err)
	}
	return nil
}
