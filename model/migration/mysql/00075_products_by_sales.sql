-- The panel lists one merchant's products by what they sold.
-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX `ix_products_merchant_sales` ON `products` (`merchant_id`, `sales`);
