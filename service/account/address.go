package account

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// MaxAddresses is how many addresses a shopper may keep.
const MaxAddresses = 50

// Address returns a shopper's address; somebody else's is not_found.
func Address(db *gorm.DB, shopperID, id int64) (model.Address, error) {
	var a model.Address
	err := db.Where("id = ? AND shopper_id = ?", id, shopperID).Take(&a).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return a, fault.New(fault.NotFoundError)
	}
	return a, store.Classify(err)
}

// Addresses lists a shopper's addresses: the default one first, then the newest.
func (a *Accounts) Addresses(ctx context.Context, shopperID int64) ([]model.Address, error) {
	var list []model.Address
	err := a.store.Read(ctx).Where("shopper_id = ?", shopperID).Order("is_default DESC, id DESC").Limit(MaxAddresses).Find(&list).Error
	return list, store.Classify(err)
}

// AddressInput is what a shopper says of an address.
type AddressInput struct {
	Name, Phone, Province, City, District, Detail, RegionCode string

	IsDefault bool
}

func (in *AddressInput) check() error {
	v := newCheck()
	for _, f := range []struct {
		name     string
		value    *string
		min, max int
	}{
		{"name", &in.Name, 1, 64},
		{"phone", &in.Phone, 5, 20},
		{"province", &in.Province, 1, 64},
		{"city", &in.City, 1, 64},
		{"district", &in.District, 0, 64},
		{"detail", &in.Detail, 1, 255},
		{"region_code", &in.RegionCode, 0, 12},
	} {
		v.line(f.name, f.value, f.min, f.max)
	}
	return v.err()
}

func (in *AddressInput) fill(row *model.Address, now model.Time) {
	row.Name, row.Phone, row.Province, row.City = in.Name, in.Phone, in.Province, in.City
	row.District, row.Detail, row.RegionCode, row.IsDefault = in.District, in.Detail, in.RegionCode, in.IsDefault
	row.UpdatedAt = now
}

// AddAddress stores a new address. If it is to be the default, no other stays it. The 51st is refused with address_limit.
func (a *Accounts) AddAddress(ctx context.Context, shopperID int64, in AddressInput) (model.Address, error) {
	if err := in.check(); err != nil {
		return model.Address{}, err
	}
	row := model.Address{ShopperID: shopperID, CreatedAt: a.now()}
	in.fill(&row, row.CreatedAt)
	err := a.store.Tx(ctx, func(tx *store.Tx) error {
		row.ID = 0 // the transaction may be repeated
		if err := lockShopper(tx, shopperID); err != nil {
			return err
		}
		var n int64
		if err := tx.Model(&model.Address{}).Where("shopper_id = ?", shopperID).Count(&n).Error; err != nil {
			return err
		}
		if n >= MaxAddresses {
			return fault.New(fault.AddressLimit)
		}
		if err := onlyDefault(tx, row, row.CreatedAt); err != nil {
			return err
		}
		return tx.Create(&row).Error
	})
	return row, err
}

// ChangeAddress replaces an address.
func (a *Accounts) ChangeAddress(ctx context.Context, shopperID, id int64, in AddressInput) (model.Address, error) {
	if err := in.check(); err != nil {
		return model.Address{}, err
	}
	var row model.Address
	err := a.store.Tx(ctx, func(tx *store.Tx) error {
		if err := lockShopper(tx, shopperID); err != nil {
			return err
		}
		var err error
		if row, err = Address(tx.DB, shopperID, id); err != nil {
			return err
		}
		in.fill(&row, a.now())
		if err := onlyDefault(tx, row, row.UpdatedAt); err != nil {
			return err
		}
		return tx.Model(&row).Select("*").Updates(&row).Error
	})
	return row, err
}

// RemoveAddress forgets an address. Orders keep a copy of theirs.
func (a *Accounts) RemoveAddress(ctx context.Context, shopperID, id int64) error {
	return a.store.Tx(ctx, func(tx *store.Tx) error {
		n, err := tx.Affected("DELETE FROM addresses WHERE id = ? AND shopper_id = ?", id, shopperID)
		if err == nil && n == 0 {
			return fault.New(fault.NotFoundError)
		}
		return err
	})
}

// onlyDefault takes the mark from the shopper's other addresses where this one is to have it.
func onlyDefault(tx *store.Tx, row model.Address, now model.Time) error {
	if !row.IsDefault {
		return nil
	}
	return tx.Exec("UPDATE addresses SET is_default = ?, updated_at = ? WHERE shopper_id = ? AND is_default = ? AND id <> ?",
		false, now, row.ShopperID, true, row.ID).Error
}

// lockShopper makes changes of one shopper's things wait for each other.
func lockShopper(tx *store.Tx, id int64) error {
	var found int64
	if err := tx.Raw("SELECT id FROM shoppers WHERE id = ?"+tx.ForUpdate(), id).Scan(&found).Error; err != nil {
		return err
	}
	if found == 0 {
		return fault.New(fault.TokenInvalid)
	}
	return nil
}
