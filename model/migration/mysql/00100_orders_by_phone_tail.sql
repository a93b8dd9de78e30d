-- Has the orders of a tail in the order of the list, and those that lack one.
-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX `ix_orders_merchant_tail` ON `orders` (`merchant_id`, `receiver_phone_tail`, `created_at`);
