-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX `ix_jobs_policy` ON `jobs` (`policy_id`);
