-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `order_lines` ADD COLUMN `reviewed_at` bigint NOT NULL DEFAULT 0;
