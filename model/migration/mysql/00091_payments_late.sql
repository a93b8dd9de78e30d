-- +goose NO TRANSACTION
-- +goose Up
-- The list of late payments, newest first: few among all payments.
CREATE INDEX `ix_payments_late` ON `payments` (`merchant_id`, `settled`, `created_at`, `id`);
