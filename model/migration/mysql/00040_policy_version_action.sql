-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `timeout_policy_versions`
  ADD COLUMN `action` varchar(16) NOT NULL DEFAULT '',
  ADD COLUMN `from_version` bigint NOT NULL DEFAULT 0;
