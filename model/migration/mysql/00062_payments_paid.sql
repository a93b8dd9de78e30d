-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX `ix_payments_paid` ON `payments` (`paid_at`);
