-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX `ix_refunds_ended` ON `refunds` (`ended_at`);
