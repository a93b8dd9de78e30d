-- The overview lists a merchant's SKUs of which little is left.
-- +goose Up
CREATE INDEX ix_skus_merchant_stock ON skus(merchant_id,stock);
