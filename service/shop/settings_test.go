package shop_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/shop"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

const now = model.Time(1_790_000_000_000)

// stored knows one picture.
type stored string

func (s stored) Exists(_ context.Context, key string) (bool, error) { return key == string(s), nil }

func fixture(t *testing.T, s *store.Store) *shop.Service {
	t.Helper()
	for _, m := range []model.Merchant{{ID: 1, Name: "甲店", Disabled: true, Version: 1}, {ID: 2, Name: "乙店", Version: 4}, {ID: 3, Name: "丙店", Version: 1}} {
		if err := s.Read(t.Context()).Create(&m).Error; err != nil {
			t.Fatal(err)
		}
	}
	return &shop.Service{Store: s, Now: func() model.Time { return now }, Pictures: stored("logo.png")}
}

func TestSettingsAreKeptUnderTheMerchantsVersion(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		service := fixture(t, s)
		draft := shop.Draft{
			Version: 4, Name: " 潮汐小店 ", Logo: "logo.png", ContactPhone: "400-123-4567", Notice: "当日发货\n满 99 包邮",
			Sender: model.Contact{Name: "仓库", Phone: "13812345678", Address: "人民大道 200 号"},
		}
		ctx := changelog.Begin(t.Context(), &changelog.Call{AdminID: 3, Action: "put", Now: func() model.Time { return now }})
		got, err := service.Set(ctx, 2, draft)
		if err != nil {
			t.Fatal(err)
		}
		want := shop.Settings{Name: "潮汐小店", Version: 5, ShopSettings: model.ShopSettings{
			MerchantID: 2, Logo: "logo.png", ContactPhone: "400-123-4567", Notice: "当日发货\n满 99 包邮", Sender: draft.Sender, UpdatedAt: now,
		}}
		read, err := service.Get(t.Context(), 2)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v, want (-), got (+):\n%s", err, diff)
		}
		if diff := cmp.Diff(want, read); diff != "" {
			t.Errorf("read again, want (-), got (+):\n%s", diff)
		}
		if _, err := service.Set(ctx, 2, draft); !fault.Is(err, fault.StaleVersion) {
			t.Errorf("the version that was read is gone: %v", err)
		}
		again := draft
		again.Version, again.Notice = 5, ""
		if _, err := service.Set(ctx, 2, again); err != nil {
			t.Error(err)
		}
		var log []model.AdminChange
		if err := s.Read(t.Context()).Order("id").Find(&log).Error; err != nil {
			t.Fatal(err)
		}
		if len(log) != 2 || log[0].MerchantID != 2 || log[1].Before != `{"notice":"当日发货\n满 99 包邮"}` || log[1].After != `{"notice":""}` {
			t.Errorf("%+v", log)
		}
		open, err := service.Open(t.Context(), 0)
		if err != nil || open.MerchantID != 2 || open.Name != "潮汐小店" {
			t.Errorf("the first shop that is open: %+v %v", open, err)
		}
	})
}

func TestSettingsThatAreRefused(t *testing.T) {
	service := fixture(t, storetest.SQLite(t))
	for name, c := range map[string]struct {
		merchant int64
		change   func(d *shop.Draft)
		code     fault.Code
	}{
		"no name":        {2, func(d *shop.Draft) { d.Name = " " }, fault.ValidationFailed},
		"taken name":     {2, func(d *shop.Draft) { d.Name = "丙店" }, fault.NameTaken},
		"no picture":     {2, func(d *shop.Draft) { d.Logo = "other.png" }, fault.ValidationFailed},
		"no phone":       {2, func(d *shop.Draft) { d.ContactPhone = "call me" }, fault.ValidationFailed},
		"broken address": {2, func(d *shop.Draft) { d.ReturnTo.Address = "a\nb" }, fault.ValidationFailed},
		"stale":          {2, func(d *shop.Draft) { d.Version = 3 }, fault.StaleVersion},
		"no merchant":    {9, func(*shop.Draft) {}, fault.NotFoundError},
	} {
		d := shop.Draft{Version: 4, Name: "乙店"}
		c.change(&d)
		if _, err := service.Set(t.Context(), c.merchant, d); !fault.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	for id, code := range map[int64]fault.Code{1: fault.NotFoundError, 9: fault.NotFoundError} {
		if _, err := service.Open(t.Context(), id); !fault.Is(err, code) {
			t.Errorf("shop %d: %v, want %s", id, err, code)
		}
	}
}
