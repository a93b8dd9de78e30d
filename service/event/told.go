package event

import (
	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
)

// Told returns the messages of the keys that the table still has, limit at most, in the order in which they were written.
func Told(db *gorm.DB, keys []string, limit int) ([]model.Message, error) {
	var rows []model.Message
	err := db.Where("msg_key IN ?", keys).Order("id").Limit(limit).Find(&rows).Error
	return rows, err
}
