-- Orders from before have no further deadlines: policies set those of what begins from then on.
-- +goose Up
ALTER TABLE orders ADD COLUMN remind_at integer;
ALTER TABLE orders ADD COLUMN ship_due_at integer;
ALTER TABLE orders ADD COLUMN confirm_due_at integer;
ALTER TABLE orders ADD COLUMN ship_overdue_at integer;
CREATE INDEX ix_orders_remind ON orders(remind_at);
CREATE INDEX ix_orders_ship_due ON orders(ship_due_at);
CREATE INDEX ix_orders_confirm ON orders(confirm_due_at);
ALTER TABLE aftersales ADD COLUMN answer_overdue_at integer;
