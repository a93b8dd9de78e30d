-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `order_lines` ADD COLUMN `dropped_quantity` bigint NOT NULL DEFAULT 0;
