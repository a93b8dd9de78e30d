-- Failed tries at an admin's password by where they come from. ix_admin_failures_ends serves their removal.
-- +goose Up
CREATE TABLE admin_failures (
  id integer PRIMARY KEY AUTOINCREMENT,
  admin_id integer NOT NULL,
  source text NOT NULL,
  failed integer NOT NULL,
  ends_at integer NOT NULL
);
CREATE UNIQUE INDEX uk_admin_failures_source ON admin_failures(admin_id,source);
CREATE INDEX ix_admin_failures_ends ON admin_failures(ends_at);
