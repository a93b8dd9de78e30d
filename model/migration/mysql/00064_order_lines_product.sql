-- When a line's order was placed, and the index that finds the orders of a product in the order of the list (order_id beside the time,
-- since orders of one millisecond need a place too): searching a merchant's orders for a product reads that product's lines alone.
-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `order_lines`
  ADD COLUMN `created_at` bigint NOT NULL DEFAULT 0,
  ADD KEY `ix_order_lines_product` (`product_id`, `created_at`, `order_id`);
