-- ix_coupons_figures has all that the figures of a template are counted from, ix_aftersales_queue and ix_aftersales_overdue the
-- order of what waits for an answer, and ix_aftersales_type that of a list of one type.
-- +goose Up
ALTER TABLE coupon_templates ADD COLUMN stopped_at integer NOT NULL DEFAULT 0;
ALTER TABLE coupons ADD COLUMN given_back integer NOT NULL DEFAULT 0;
CREATE INDEX ix_coupons_figures ON coupons(template_id,state,expires_at,given_back);
ALTER TABLE aftersales ADD COLUMN steps text DEFAULT NULL;
CREATE INDEX ix_aftersales_queue ON aftersales(merchant_id,answer_deadline);
CREATE INDEX ix_aftersales_overdue ON aftersales(merchant_id,answer_overdue_at);
CREATE INDEX ix_aftersales_type ON aftersales(merchant_id,type,created_at);
