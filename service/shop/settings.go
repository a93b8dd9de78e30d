// Package shop keeps what a merchant says of its shop: its name, how shoppers reach it, what they are told, where parcels come from and
// go back to.
package shop

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Bounds of the settings, in characters.
const (
	MaxName    = 100
	MaxNotice  = 500
	MaxPerson  = 64
	MaxPhone   = 20
	MaxAddress = 255
)

// Pictures is what is asked of stored pictures.
type Pictures interface {
	Exists(ctx context.Context, key string) (bool, error)
}

// Service is safe for concurrent use.
type Service struct {
	Store    *store.Store
	Now      func() model.Time
	Pictures Pictures
}

// Settings is a shop: the merchant with its settings. Version is the merchant's, and guards both.
type Settings struct {
	model.ShopSettings

	Name    string
	Version int64
}

// Draft is what is to become of the settings.
type Draft struct {
	Version      int64
	Name         string
	Logo         string // a key in the file store, or empty
	ContactPhone string
	Notice       string
	Sender       model.Contact
	ReturnTo     model.Contact
}

// Get returns the merchant's settings, empty ones where none were ever set. not_found.
func (s *Service) Get(ctx context.Context, merchantID int64) (Settings, error) {
	m, err := merchant(s.Store.Read(ctx), merchantID)
	if err != nil {
		return Settings{}, err
	}
	row, err := settingsOf(s.Store.Read(ctx), merchantID)
	return Settings{ShopSettings: row, Name: m.Name, Version: m.Version}, store.Classify(err)
}

// Open returns the settings of a shop that is open, for shoppers: of the first where merchantID is 0. not_found where there is none,
// or it is disabled.
func (s *Service) Open(ctx context.Context, merchantID int64) (Settings, error) {
	if merchantID == 0 {
		var first []int64
		if err := s.Store.Read(ctx).Raw("SELECT id FROM merchants WHERE disabled = ? ORDER BY id LIMIT 1", false).Scan(&first).Error; err != nil {
			return Settings{}, store.Classify(err)
		}
		if len(first) == 0 {
			return Settings{}, fault.New(fault.NotFoundError)
		}
		merchantID = first[0]
	}
	m, err := merchant(s.Store.Read(ctx), merchantID)
	if err == nil && m.Disabled {
		err = fault.New(fault.NotFoundError)
	}
	if err != nil {
		return Settings{}, err
	}
	row, err := settingsOf(s.Store.Read(ctx), merchantID)
	return Settings{ShopSettings: row, Name: m.Name, Version: m.Version}, store.Classify(err)
}

// Set changes the merchant's settings. not_found, validation_failed, stale_version, name_taken.
func (s *Service) Set(ctx context.Context, merchantID int64, d Draft) (Settings, error) {
	if err := d.check(); err != nil {
		return Settings{}, err
	}
	if d.Logo != "" {
		there, err := s.Pictures.Exists(ctx, d.Logo)
		if err != nil {
			return Settings{}, err
		}
		if !there {
			return Settings{}, fault.New(fault.ValidationFailed).With("logo.url", fault.FieldChoice, "图片不存在，请先上传", "is not a stored picture; upload it first")
		}
	}
	var is Settings
	err := s.Store.Tx(ctx, func(tx *store.Tx) (err error) {
		is, err = s.set(tx, merchantID, d)
		return err
	})
	if store.IsDuplicate(err) {
		err = fault.New(fault.NameTaken).With("name", fault.FieldDup, "名称已被使用", "the name is taken")
	}
	return is, err
}

func (s *Service) set(tx *store.Tx, merchantID int64, d Draft) (Settings, error) {
	m, err := merchant(tx.DB, merchantID)
	if err != nil {
		return Settings{}, err
	}
	now := s.Now()
	n, err := tx.Affected("UPDATE merchants SET name = ?, version = version + 1, updated_at = ? WHERE id = ? AND version = ?", d.Name, now, merchantID, d.Version)
	if err != nil {
		return Settings{}, err
	}
	if n == 0 {
		return Settings{}, fault.New(fault.StaleVersion)
	}
	was, err := settingsOf(tx.DB, merchantID)
	if err != nil {
		return Settings{}, err
	}
	is := model.ShopSettings{
		MerchantID: merchantID, Logo: d.Logo, ContactPhone: d.ContactPhone, Notice: d.Notice, Sender: d.Sender, ReturnTo: d.ReturnTo, UpdatedAt: now,
	}
	if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&is).Error; err != nil {
		return Settings{}, err
	}
	before, after := Settings{was, m.Name, m.Version}, Settings{is, d.Name, d.Version + 1}
	return after, changelog.Record(tx, changelog.ShopSettings, merchantID, before, after)
}

func merchant(db *gorm.DB, id int64) (m model.Merchant, err error) {
	err = db.Where("id = ?", id).Take(&m).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return m, fault.New(fault.NotFoundError)
	}
	return m, store.Classify(err)
}

func settingsOf(db *gorm.DB, merchantID int64) (model.ShopSettings, error) {
	row := model.ShopSettings{}
	err := db.Where("merchant_id = ?", merchantID).Limit(1).Find(&row).Error
	row.MerchantID = merchantID
	return row, err
}

// ReturnTo returns where the merchant's goods go back to; an empty address where it has not said so.
func ReturnTo(db *gorm.DB, merchantID int64) (model.Contact, error) {
	row, err := settingsOf(db, merchantID)
	return row.ReturnTo, err
}

// phoneShape takes mobiles, landlines with their area, and service numbers such as 400-123-4567.
var phoneShape = regexp.MustCompile(`^\+?[0-9][0-9 -]{3,18}[0-9]$`)

func (d *Draft) check() error {
	c := check{fault.New(fault.ValidationFailed)}
	c.text("name", &d.Name, 1, MaxName, false)
	c.text("notice", &d.Notice, 0, MaxNotice, true)
	c.phone("contact_phone", &d.ContactPhone)
	c.contact("sender", &d.Sender, 0)
	c.contact("return_to", &d.ReturnTo, 0)
	return c.err()
}

// CheckContact trims a contact and checks that it is whole: validation_failed at the fields below field.
func CheckContact(field string, who *model.Contact) error {
	c := check{fault.New(fault.ValidationFailed)}
	c.contact(field, who, 1)
	return c.err()
}

// check collects what is wrong with an input.
type check struct{ wrong *fault.Error }

func (c check) err() error {
	if len(c.wrong.Fields) > 0 {
		return c.wrong
	}
	return nil
}

func (c check) text(field string, value *string, shortest, longest int, lines bool) {
	*value = strings.TrimSpace(*value)
	n := utf8.RuneCountInString(*value)
	bad := func(r rune) bool { return unicode.IsControl(r) && (!lines || r != '\n') }
	switch {
	case n < shortest || n > longest:
		c.wrong.With(field, fault.FieldLength, fmt.Sprintf("长度必须为 %d–%d 个字符", shortest, longest), fmt.Sprintf("must have %d–%d characters", shortest, longest))
	case strings.ContainsFunc(*value, bad) || !utf8.ValidString(*value):
		c.wrong.With(field, fault.FieldFormat, "不能包含控制字符", "must not have control characters")
	}
}

func (c check) phone(field string, value *string) {
	if *value = strings.TrimSpace(*value); *value != "" && !phoneShape.MatchString(*value) {
		c.wrong.With(field, fault.FieldFormat, "须为电话号码", "must be a phone number")
	}
}

// contact checks a contact of which each field has at least so many characters.
func (c check) contact(field string, who *model.Contact, shortest int) {
	c.text(field+".name", &who.Name, shortest, MaxPerson, false)
	c.text(field+".phone", &who.Phone, shortest, MaxPhone, false)
	c.phone(field+".phone", &who.Phone)
	c.text(field+".address", &who.Address, shortest, MaxAddress, false)
}
