-- +goose Up
CREATE TABLE wechat_callbacks (
  id integer PRIMARY KEY AUTOINCREMENT,
  merchant_id integer NOT NULL,
  order_id integer NOT NULL,
  kind text NOT NULL,
  notice_id text NOT NULL,
  verdict text NOT NULL,
  reason text NOT NULL,
  event_type text NOT NULL,
  out_trade_no text NOT NULL,
  out_refund_no text NOT NULL,
  amount_fen integer NOT NULL,
  status integer NOT NULL,
  took_ms integer NOT NULL,
  request_id text NOT NULL,
  count integer NOT NULL,
  created_at integer NOT NULL,
  last_at integer NOT NULL
);
CREATE UNIQUE INDEX uk_wechat_callbacks_notice ON wechat_callbacks(kind, notice_id, verdict, reason);
-- The list with all its filters given, in its order.
CREATE INDEX ix_wechat_callbacks_list ON wechat_callbacks(merchant_id, kind, verdict, created_at, id);
CREATE INDEX ix_wechat_callbacks_trade ON wechat_callbacks(out_trade_no);
-- What has to go.
CREATE INDEX ix_wechat_callbacks_created ON wechat_callbacks(created_at);
CREATE TABLE wechat_callback_refusals (
  hour integer NOT NULL,
  kind text NOT NULL,
  reason text NOT NULL,
  count integer NOT NULL,
  last_at integer NOT NULL,
  last_ip text NOT NULL,
  PRIMARY KEY (hour, kind, reason)
);
-- The list of late payments, newest first: few among all payments.
CREATE INDEX ix_payments_late ON payments(merchant_id, settled, created_at, id);
