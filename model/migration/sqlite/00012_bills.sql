-- +goose Up
CREATE TABLE bills (
  id integer PRIMARY KEY,
  state text NOT NULL,
  run integer NOT NULL,
  hash text NOT NULL,
  imported integer NOT NULL,
  payments integer NOT NULL,
  payment_fen integer NOT NULL,
  refunds integer NOT NULL,
  refund_fen integer NOT NULL,
  differences integer NOT NULL,
  compare_step integer NOT NULL,
  compare_after text NOT NULL,
  next_at integer DEFAULT NULL,
  calls integer NOT NULL,
  error text NOT NULL,
  version integer NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL,
  ended_at integer NOT NULL
);
CREATE INDEX ix_bills_next ON bills(next_at);
CREATE TABLE bill_rows (
  day integer NOT NULL,
  kind text NOT NULL,
  number text NOT NULL,
  run integer NOT NULL,
  line_no integer NOT NULL,
  at integer NOT NULL,
  app_id text NOT NULL,
  mch_id text NOT NULL,
  transaction_id text NOT NULL,
  out_trade_no text NOT NULL,
  refund_id text NOT NULL,
  currency text NOT NULL,
  amount_fen integer NOT NULL,
  coupon_fen integer NOT NULL,
  status text NOT NULL,
  PRIMARY KEY (day, kind, number)
);
CREATE INDEX ix_bill_rows_number ON bill_rows(number);
CREATE TABLE bill_differences (
  day integer NOT NULL,
  kind text NOT NULL,
  ref text NOT NULL,
  bill_fen integer NOT NULL,
  shop_fen integer NOT NULL,
  found_at integer NOT NULL,
  PRIMARY KEY (day, kind, ref)
);
CREATE INDEX ix_payments_paid ON payments(paid_at);
CREATE INDEX ix_refunds_ended ON refunds(ended_at);
