-- Sessions of admins, a row a login, and their second factors. ix_admin_sessions_admin serves the list of an admin's own that go
-- on; ix_admin_sessions_expires serves their removal.
-- +goose Up
CREATE TABLE admin_sessions (
  id integer PRIMARY KEY AUTOINCREMENT,
  admin_id integer NOT NULL,
  jti text NOT NULL,
  ip text NOT NULL,
  agent text NOT NULL,
  created_at integer NOT NULL,
  last_seen_at integer NOT NULL,
  expires_at integer NOT NULL,
  ended_at integer NOT NULL
);
CREATE UNIQUE INDEX uk_admin_sessions_jti ON admin_sessions(jti);
CREATE INDEX ix_admin_sessions_admin ON admin_sessions(admin_id,expires_at);
CREATE INDEX ix_admin_sessions_expires ON admin_sessions(expires_at);
CREATE TABLE admin_totps (
  admin_id integer NOT NULL,
  secret_cipher text NOT NULL,
  last_step integer NOT NULL,
  confirmed_at integer NOT NULL,
  created_at integer NOT NULL,
  PRIMARY KEY (admin_id)
);
CREATE TABLE admin_recovery_codes (
  admin_id integer NOT NULL,
  code_hash text NOT NULL,
  used_at integer NOT NULL,
  PRIMARY KEY (admin_id, code_hash)
);
