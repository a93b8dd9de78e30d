package order

import (
	"database/sql"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/coupon"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/shipping"
	"github.com/tidemall/tidemall/service/store"
)

// facts is what a submit depends on.
type facts struct {
	before *model.Order // the order that the Idempotency-Key made before; nil for a new one
	basis
}

// factsSQL reads them by one statement: it is on the road of every order, and each statement costs a tenth of it.
const factsSQL = `SELECT
	(SELECT COUNT(*) FROM orders WHERE shopper_id = s.id AND state = 'pending_payment') AS unpaid,
	COALESCE((SELECT id FROM orders WHERE shopper_id = s.id AND idem_key = ?), 0) AS before_id,
	a.id AS a_id, a.name AS a_name, a.phone AS a_phone, a.province AS a_province, a.city AS a_city, a.district AS a_district,
	a.detail AS a_detail, a.region_code AS a_region_code,
	c.id AS c_id, c.template_id AS c_template_id, c.merchant_id AS c_merchant_id, c.shopper_id AS c_shopper_id, c.seq AS c_seq,
	c.state AS c_state, c.expires_at AS c_expires_at,
	t.id AS t_id, t.merchant_id AS t_merchant_id, t.name AS t_name, t.kind AS t_kind, t.amount_fen AS t_amount_fen,
	t.percent_off AS t_percent_off, t.max_discount_fen AS t_max_discount_fen, t.threshold_fen AS t_threshold_fen,
	t.scope AS t_scope, t.scope_ids AS t_scope_ids, t.starts_at AS t_starts_at, t.ends_at AS t_ends_at
	FROM shoppers s
	LEFT JOIN addresses a ON a.id = ? AND a.shopper_id = s.id
	LEFT JOIN coupons c ON c.id = ? AND c.shopper_id = s.id
	LEFT JOIN coupon_templates t ON t.id = c.template_id
	WHERE s.id = ?`

// facts locks the shopper's row, so that submits of one shopper on all replicas follow one another, and reads what the submit
// depends on. unpaid_limit, idempotency_key_reused, address_required (no such address).
func (s *Service) facts(tx *store.Tx, d draft) (f facts, err error) {
	var id int64
	var row struct {
		Unpaid, BeforeID int64
		Address          model.Address        `gorm:"embedded;embeddedPrefix:a_"`
		Coupon           model.Coupon         `gorm:"embedded;embeddedPrefix:c_"`
		Template         model.CouponTemplate `gorm:"embedded;embeddedPrefix:t_"`
	}
	var rules []model.FreightRule
	var r store.Reads
	r.Add(func(rows *sql.Rows) error { return rows.Scan(&id) }, "SELECT id FROM shoppers WHERE id = ?"+tx.ForUpdate(), d.shopperID)
	r.Add(func(rows *sql.Rows) error { return tx.ScanRows(rows, &row) }, factsSQL, d.Key, d.AddressID, d.CouponID, d.shopperID)
	catalog.ReadSellables(&r, d.skus(), &f.goods)
	if d.AddressID != 0 {
		shipping.ReadRules(&r, d.Items[0].SKUID, &rules)
	}
	// Items of several merchants are refused, so the first item's merchant is that of all.
	f.rules = func(int64) ([]model.FreightRule, error) { return rules, nil }
	if err := tx.Ask(&r); err != nil {
		return f, err
	}
	if id == 0 {
		return f, fault.New(fault.TokenInvalid)
	}
	if row.BeforeID != 0 {
		f.before, err = one(tx.Where("id = ?", row.BeforeID))
		if err == nil && f.before.IdemHash != d.hash {
			return facts{}, fault.New(fault.IdempotencyKeyReused)
		}
		return f, err
	}
	if row.Unpaid >= s.MaxUnpaid {
		return f, fault.New(fault.UnpaidLimit)
	}
	if d.AddressID != 0 {
		if row.Address.ID == 0 {
			return f, noAddress()
		}
		f.address = addressOf(row.Address)
	}
	if row.Coupon.ID != 0 {
		f.held = []coupon.HeldCoupon{{Coupon: row.Coupon, Template: row.Template}}
	}
	return f, nil
}
