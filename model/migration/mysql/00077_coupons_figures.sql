-- ix_coupons_figures has all that the figures of a template are counted from.
-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `coupons`
  ADD COLUMN `given_back` bigint NOT NULL DEFAULT 0,
  ADD KEY `ix_coupons_figures` (`template_id`,`state`,`expires_at`,`given_back`);
