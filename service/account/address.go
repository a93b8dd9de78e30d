package account

import (
	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Address reads one of the shopper's addresses; not_found if it is somebody else's.
func Address(db *gorm.DB, shopperID, id int64) (model.Address, error) {
	var rows []model.Address
	if err := db.Where("id = ? AND shopper_id = ?", id, shopperID).Find(&rows).Error; err != nil {
		return model.Address{}, store.Classify(err)
	}
	if len(rows) == 0 {
		return model.Address{}, fault.New(fault.NotFoundError)
	}
	return rows[0], nil
}
