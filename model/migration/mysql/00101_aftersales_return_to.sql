-- Where the goods of an after-sale go back to, as the merchant said when it approved it; NULL where nothing was said.
-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `aftersales` ADD COLUMN `return_to` text COLLATE utf8mb4_unicode_520_ci DEFAULT NULL;
