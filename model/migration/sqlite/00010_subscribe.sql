-- +goose Up
CREATE TABLE subscribe_templates (
  id integer PRIMARY KEY AUTOINCREMENT,
  event text NOT NULL,
  template_id text NOT NULL,
  page text NOT NULL,
  fields text NOT NULL,
  enabled numeric NOT NULL,
  version integer NOT NULL,
  created_at integer NOT NULL,
  changed_at integer NOT NULL
);
CREATE UNIQUE INDEX uk_subscribe_templates_event ON subscribe_templates(event);
CREATE TABLE subscribe_messages (
  id integer PRIMARY KEY AUTOINCREMENT,
  event text NOT NULL,
  notice_key text NOT NULL,
  shopper_id integer NOT NULL,
  merchant_id integer NOT NULL,
  order_id integer NOT NULL,
  refund_id integer NOT NULL,
  state text NOT NULL,
  next_at integer NULL,
  calls integer NOT NULL,
  code text NOT NULL,
  error text NOT NULL,
  created_at integer NOT NULL,
  sent_at integer NOT NULL
);
CREATE UNIQUE INDEX uk_subscribe_messages_key ON subscribe_messages(notice_key);
CREATE INDEX ix_subscribe_messages_order ON subscribe_messages(order_id);
CREATE INDEX ix_subscribe_messages_state ON subscribe_messages(state);
CREATE INDEX ix_subscribe_messages_next ON subscribe_messages(next_at);
CREATE INDEX ix_subscribe_messages_created ON subscribe_messages(created_at);
