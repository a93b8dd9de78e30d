-- The policy, and its version, by which a job re-times orders.
-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `jobs` ADD COLUMN `policy_id` bigint NOT NULL DEFAULT 0, ADD COLUMN `policy_version` bigint NOT NULL DEFAULT 0;
