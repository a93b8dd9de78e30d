-- The last four digits of the receiver's phone, by which people look for an order. NULL where they are not worked out yet.
-- +goose Up
ALTER TABLE orders ADD COLUMN receiver_phone_tail text DEFAULT NULL;
CREATE INDEX ix_orders_merchant_tail ON orders(merchant_id,receiver_phone_tail,created_at);
