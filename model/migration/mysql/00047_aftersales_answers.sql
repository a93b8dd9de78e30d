-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `aftersales`
  ADD COLUMN `amount_fen` bigint NOT NULL DEFAULT 0,
  ADD COLUMN `restock` tinyint(1) NOT NULL DEFAULT 0,
  ADD COLUMN `answered_by` varchar(64) NOT NULL DEFAULT '',
  ADD KEY `ix_aftersales_merchant_created` (`merchant_id`,`created_at`);
