-- When a line's order was placed, and the index that finds the orders of a product in the order of the list.
-- +goose Up
ALTER TABLE order_lines ADD COLUMN created_at integer NOT NULL DEFAULT 0;
UPDATE order_lines SET created_at = COALESCE((SELECT created_at FROM orders WHERE orders.id = order_lines.order_id), 0);
CREATE INDEX ix_order_lines_product ON order_lines(product_id, created_at, order_id);
-- Finds the shoppers of a nickname, for the search of orders.
CREATE INDEX ix_shoppers_nickname ON shoppers(nickname);
-- What a merchant's people note on an order for themselves: a row a version, the newest is the one that stands.
CREATE TABLE order_remarks (
  order_id integer NOT NULL,
  version integer NOT NULL,
  merchant_id integer NOT NULL,
  text text NOT NULL,
  actor text NOT NULL,
  created_at integer NOT NULL,
  PRIMARY KEY (order_id, version)
);
