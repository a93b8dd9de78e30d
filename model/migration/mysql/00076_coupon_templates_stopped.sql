-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `coupon_templates` ADD COLUMN `stopped_at` bigint NOT NULL DEFAULT 0;
