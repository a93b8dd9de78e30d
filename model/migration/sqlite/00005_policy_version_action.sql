-- +goose Up
ALTER TABLE timeout_policy_versions ADD COLUMN action text NOT NULL DEFAULT '';
ALTER TABLE timeout_policy_versions ADD COLUMN from_version integer NOT NULL DEFAULT 0;
