-- Has the checks in the order in which they are removed.
-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX `ix_media_checks_created` ON `media_checks` (`created_at`);
