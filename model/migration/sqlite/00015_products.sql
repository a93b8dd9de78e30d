-- +goose Up
ALTER TABLE products ADD COLUMN code text DEFAULT NULL;
CREATE UNIQUE INDEX uk_products_code ON products(merchant_id,code);
CREATE INDEX ix_products_merchant_sort ON products(merchant_id,sort);
CREATE INDEX ix_products_merchant_sales ON products(merchant_id,sales);
