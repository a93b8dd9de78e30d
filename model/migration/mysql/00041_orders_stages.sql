-- Orders from before have no further deadlines: policies set those of what begins from then on.
-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `orders`
  ADD COLUMN `remind_at` bigint DEFAULT NULL,
  ADD COLUMN `ship_due_at` bigint DEFAULT NULL,
  ADD COLUMN `confirm_due_at` bigint DEFAULT NULL,
  ADD COLUMN `ship_overdue_at` bigint DEFAULT NULL,
  ADD KEY `ix_orders_remind` (`remind_at`),
  ADD KEY `ix_orders_ship_due` (`ship_due_at`),
  ADD KEY `ix_orders_confirm` (`confirm_due_at`);
