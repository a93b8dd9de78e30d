-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `refunds` ADD COLUMN `called_at` bigint NOT NULL DEFAULT 0;
