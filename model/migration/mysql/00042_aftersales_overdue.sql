-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `aftersales` ADD COLUMN `answer_overdue_at` bigint DEFAULT NULL;
