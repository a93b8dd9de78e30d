-- The last four digits of the receiver's phone, by which people look for an order. NULL where they are not worked out yet: of the orders
-- that were there before, and of those that a replica of an older version still places. The column alone is added without touching a row.
-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `orders` ADD COLUMN `receiver_phone_tail` varchar(4) DEFAULT NULL;
