-- +goose Up
CREATE TABLE admin_changes (
  id integer PRIMARY KEY AUTOINCREMENT,
  admin_id integer NOT NULL,
  admin_name text NOT NULL,
  merchant_id integer NOT NULL,
  action text NOT NULL,
  kind text NOT NULL,
  ref text NOT NULL,
  fields_before text NOT NULL,
  fields_after text NOT NULL,
  request_id text NOT NULL,
  ip text NOT NULL,
  created_at integer NOT NULL
);
CREATE INDEX ix_admin_changes_created ON admin_changes(created_at, id);
CREATE INDEX ix_admin_changes_merchant ON admin_changes(merchant_id, created_at, id);
CREATE INDEX ix_admin_changes_admin ON admin_changes(admin_id, created_at, id);
CREATE INDEX ix_admin_changes_action ON admin_changes(merchant_id, action, created_at, id);
CREATE INDEX ix_admin_changes_kind ON admin_changes(merchant_id, kind, created_at, id);
CREATE INDEX ix_admin_changes_ref ON admin_changes(kind, ref, created_at, id);

CREATE TABLE shop_settings (
  merchant_id integer PRIMARY KEY,
  logo text NOT NULL,
  contact_phone text NOT NULL,
  notice text NOT NULL,
  sender text NOT NULL,
  return_to text NOT NULL,
  updated_at integer NOT NULL
);
