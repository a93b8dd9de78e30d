-- The panel lists one merchant's products in the merchant's own order.
-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX `ix_products_merchant_sort` ON `products` (`merchant_id`, `sort`);
