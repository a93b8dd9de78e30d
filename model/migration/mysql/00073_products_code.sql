-- A product's own code is optional and unique within its merchant: NULL where there is none, which the key passes over.
-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `products` ADD COLUMN `code` varchar(64) DEFAULT NULL, ADD UNIQUE KEY `uk_products_code` (`merchant_id`,`code`);
