-- +goose Up
CREATE TABLE settings (
  name text NOT NULL,
  value text NOT NULL,
  updated_at integer NOT NULL,
  PRIMARY KEY (name)
);

CREATE TABLE id_blocks (
  name text NOT NULL,
  next integer NOT NULL,
  PRIMARY KEY (name)
);

CREATE TABLE merchants (
  id integer PRIMARY KEY AUTOINCREMENT,
  name text NOT NULL,
  disabled numeric NOT NULL,
  version integer NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL
);
CREATE UNIQUE INDEX uk_merchants_name ON merchants(name);

CREATE TABLE shoppers (
  id integer PRIMARY KEY AUTOINCREMENT,
  openid text NOT NULL,
  unionid text NOT NULL,
  nickname text NOT NULL,
  avatar text NOT NULL,
  phone_cipher text NOT NULL,
  phone_tail text NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL
);
CREATE UNIQUE INDEX uk_shoppers_openid ON shoppers(openid);

CREATE TABLE addresses (
  id integer PRIMARY KEY AUTOINCREMENT,
  shopper_id integer NOT NULL,
  name text NOT NULL,
  phone text NOT NULL,
  province text NOT NULL,
  city text NOT NULL,
  district text NOT NULL,
  detail text NOT NULL,
  region_code text NOT NULL,
  is_default numeric NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL
);
CREATE INDEX ix_addresses_shopper ON addresses(shopper_id);

CREATE TABLE admins (
  id integer PRIMARY KEY AUTOINCREMENT,
  username text NOT NULL,
  password_hash text NOT NULL,
  merchant_id integer NOT NULL,
  role_id integer NOT NULL,
  disabled numeric NOT NULL,
  tokens_from integer NOT NULL,
  failed_count integer NOT NULL,
  locked_until integer NOT NULL,
  version integer NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL
);
CREATE INDEX ix_admins_merchant ON admins(merchant_id);
CREATE INDEX ix_admins_role ON admins(role_id);
CREATE UNIQUE INDEX uk_admins_username ON admins(username);

CREATE TABLE roles (
  id integer PRIMARY KEY AUTOINCREMENT,
  merchant_id integer NOT NULL,
  name text NOT NULL,
  permissions text NOT NULL,
  version integer NOT NULL,
  created_at integer NOT NULL,
  changed_at integer NOT NULL,
  deleted_at integer NOT NULL
);
CREATE INDEX ix_roles_changed ON roles(changed_at);
CREATE UNIQUE INDEX uk_roles_name ON roles(merchant_id,name);

CREATE TABLE revoked_tokens (
  jti text NOT NULL,
  revoked_at integer NOT NULL,
  expires_at integer NOT NULL,
  PRIMARY KEY (jti)
);
CREATE INDEX ix_revoked_tokens_revoked ON revoked_tokens(revoked_at);
CREATE INDEX ix_revoked_tokens_expires ON revoked_tokens(expires_at);

CREATE TABLE idempotency_keys (
  scope text NOT NULL,
  idem_key text NOT NULL,
  body_hash text NOT NULL,
  ref text NOT NULL,
  created_at integer NOT NULL,
  PRIMARY KEY (scope,idem_key)
);
CREATE INDEX ix_idempotency_keys_created ON idempotency_keys(created_at);

CREATE TABLE push_messages (
  message_id text NOT NULL,
  event text NOT NULL,
  received_at integer NOT NULL,
  PRIMARY KEY (message_id)
);
CREATE INDEX ix_push_messages_received ON push_messages(received_at);

CREATE TABLE categories (
  id integer PRIMARY KEY AUTOINCREMENT,
  merchant_id integer NOT NULL,
  parent_id integer NOT NULL,
  name text NOT NULL,
  sort integer NOT NULL,
  version integer NOT NULL,
  created_at integer NOT NULL,
  changed_at integer NOT NULL,
  deleted_at integer NOT NULL
);
CREATE INDEX ix_categories_changed ON categories(changed_at);
CREATE INDEX ix_categories_merchant ON categories(merchant_id,parent_id);

CREATE TABLE products (
  id integer PRIMARY KEY AUTOINCREMENT,
  merchant_id integer NOT NULL,
  category_id integer NOT NULL,
  name text NOT NULL,
  subtitle text NOT NULL,
  detail_html mediumtext NOT NULL,
  images text NOT NULL,
  options text NOT NULL,
  virtual numeric NOT NULL,
  published numeric NOT NULL,
  min_price_fen integer NOT NULL,
  sales integer NOT NULL,
  sort integer NOT NULL,
  version integer NOT NULL,
  created_at integer NOT NULL,
  changed_at integer NOT NULL,
  deleted_at integer NOT NULL
);
CREATE INDEX ix_products_category ON products(category_id,published);
CREATE INDEX ix_products_changed ON products(changed_at);
CREATE INDEX ix_products_merchant ON products(merchant_id,published);
CREATE INDEX ix_products_newest ON products(published,created_at);
CREATE INDEX ix_products_price ON products(published,min_price_fen);
CREATE INDEX ix_products_sales ON products(published,sales);
CREATE INDEX ix_products_sort ON products(published,sort);

CREATE TABLE skus (
  id integer PRIMARY KEY AUTOINCREMENT,
  product_id integer NOT NULL,
  merchant_id integer NOT NULL,
  specs text NOT NULL,
  spec_key text NOT NULL,
  price_fen integer NOT NULL,
  stock integer NOT NULL,
  weight_g integer NOT NULL,
  image text NOT NULL,
  sort integer NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL,
  deleted_at integer NOT NULL
);
CREATE INDEX ix_skus_merchant ON skus(merchant_id);
CREATE UNIQUE INDEX uk_skus_spec ON skus(product_id,spec_key);

CREATE TABLE stock_ledger (
  id integer PRIMARY KEY AUTOINCREMENT,
  merchant_id integer NOT NULL,
  sku_id integer NOT NULL,
  kind text NOT NULL,
  delta integer NOT NULL,
  order_id integer NOT NULL,
  line_id integer,
  refund_id integer NOT NULL,
  reason text NOT NULL,
  actor text NOT NULL,
  created_at integer NOT NULL
);
CREATE INDEX ix_stock_ledger_sku ON stock_ledger(sku_id,created_at);
CREATE UNIQUE INDEX uk_stock_ledger_line ON stock_ledger(line_id,kind,refund_id);

CREATE TABLE cart_items (
  id integer PRIMARY KEY AUTOINCREMENT,
  shopper_id integer NOT NULL,
  sku_id integer NOT NULL,
  quantity integer NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL
);
CREATE UNIQUE INDEX uk_cart_items_sku ON cart_items(shopper_id,sku_id);

CREATE TABLE freight_rules (
  id integer PRIMARY KEY AUTOINCREMENT,
  merchant_id integer NOT NULL,
  name text NOT NULL,
  kind text NOT NULL,
  regions text NOT NULL,
  first_units integer NOT NULL,
  first_fen integer NOT NULL,
  step_units integer NOT NULL,
  step_fen integer NOT NULL,
  free_over_fen integer NOT NULL,
  sort integer NOT NULL,
  version integer NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL
);
CREATE INDEX ix_freight_rules_merchant ON freight_rules(merchant_id);

CREATE TABLE coupon_templates (
  id integer PRIMARY KEY AUTOINCREMENT,
  merchant_id integer NOT NULL,
  name text NOT NULL,
  kind text NOT NULL,
  amount_fen integer NOT NULL,
  percent_off integer NOT NULL,
  max_discount_fen integer NOT NULL,
  threshold_fen integer NOT NULL,
  scope text NOT NULL,
  scope_ids text NOT NULL,
  total integer NOT NULL,
  per_shopper integer NOT NULL,
  issued integer NOT NULL,
  starts_at integer NOT NULL,
  ends_at integer NOT NULL,
  valid_days integer NOT NULL,
  version integer NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL
);
CREATE INDEX ix_coupon_templates_merchant ON coupon_templates(merchant_id);

CREATE TABLE coupons (
  id integer PRIMARY KEY AUTOINCREMENT,
  template_id integer NOT NULL,
  merchant_id integer NOT NULL,
  shopper_id integer NOT NULL,
  seq integer NOT NULL,
  state text NOT NULL,
  order_id integer,
  expires_at integer NOT NULL,
  used_at integer NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL
);
CREATE INDEX ix_coupons_shopper ON coupons(shopper_id,state);
CREATE UNIQUE INDEX uk_coupons_order ON coupons(order_id);
CREATE UNIQUE INDEX uk_coupons_seq ON coupons(template_id,shopper_id,seq);

CREATE TABLE orders (
  id integer,
  no text NOT NULL,
  merchant_id integer NOT NULL,
  shopper_id integer NOT NULL,
  state text NOT NULL,
  close_reason text NOT NULL,
  order_type text NOT NULL,
  biz_line text NOT NULL,
  goods_fen integer NOT NULL,
  discount_fen integer NOT NULL,
  freight_fen integer NOT NULL,
  adjustment_fen integer NOT NULL,
  payable_fen integer NOT NULL,
  refunded_fen integer NOT NULL,
  coupon_id integer NOT NULL,
  address text,
  remark text NOT NULL,
  idem_key text NOT NULL,
  idem_hash text NOT NULL,
  policy_id integer NOT NULL,
  policy_version integer NOT NULL,
  pay_deadline integer NOT NULL,
  first_attempt_at integer,
  closing_reason text,
  claim_token text NOT NULL,
  claim_until integer NOT NULL,
  closing_next_at integer,
  closing_note text NOT NULL,
  paid_at integer NOT NULL,
  shipped_at integer NOT NULL,
  completed_at integer NOT NULL,
  closed_at integer NOT NULL,
  version integer NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX ix_orders_closing ON orders(closing_next_at);
CREATE INDEX ix_orders_deadline ON orders(state,pay_deadline);
CREATE INDEX ix_orders_merchant ON orders(merchant_id,created_at);
CREATE INDEX ix_orders_merchant_state ON orders(merchant_id,state,created_at);
CREATE INDEX ix_orders_shopper ON orders(shopper_id,created_at);
CREATE INDEX ix_orders_shopper_state ON orders(shopper_id,state,created_at);
CREATE UNIQUE INDEX uk_orders_idem ON orders(shopper_id,idem_key);
CREATE UNIQUE INDEX uk_orders_no ON orders(no);

CREATE TABLE order_lines (
  id integer,
  order_id integer NOT NULL,
  line_no integer NOT NULL,
  merchant_id integer NOT NULL,
  product_id integer NOT NULL,
  sku_id integer NOT NULL,
  name text NOT NULL,
  image text NOT NULL,
  specs text NOT NULL,
  virtual numeric NOT NULL,
  quantity integer NOT NULL,
  price_fen integer NOT NULL,
  discount_fen integer NOT NULL,
  adjustment_fen integer NOT NULL,
  shipped_quantity integer NOT NULL,
  refunding_quantity integer NOT NULL,
  refunded_quantity integer NOT NULL,
  refunded_fen integer NOT NULL,
  PRIMARY KEY (id)
);
CREATE UNIQUE INDEX uk_order_lines_no ON order_lines(order_id,line_no);

CREATE TABLE order_events (
  order_id integer,
  version integer,
  from_state text NOT NULL,
  to_state text NOT NULL,
  actor text NOT NULL,
  reason text NOT NULL,
  trace_id text NOT NULL,
  created_at integer NOT NULL,
  PRIMARY KEY (order_id,version)
);

CREATE TABLE payment_attempts (
  id integer,
  order_id integer NOT NULL,
  merchant_id integer NOT NULL,
  out_trade_no text NOT NULL,
  state text NOT NULL,
  amount_fen integer NOT NULL,
  app_id text NOT NULL,
  mch_id text NOT NULL,
  openid text NOT NULL,
  description text NOT NULL,
  notify_url text NOT NULL,
  time_expire integer NOT NULL,
  call_until integer NOT NULL,
  prepay_id text NOT NULL,
  prepay_at integer NOT NULL,
  missing_at integer NOT NULL,
  next_query_at integer,
  queries integer NOT NULL,
  created_at integer NOT NULL,
  ended_at integer NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX ix_payment_attempts_order ON payment_attempts(order_id);
CREATE INDEX ix_payment_attempts_query ON payment_attempts(state,next_query_at);
CREATE UNIQUE INDEX uk_payment_attempts_no ON payment_attempts(out_trade_no);

CREATE TABLE payments (
  id integer,
  order_id integer NOT NULL,
  attempt_id integer NOT NULL,
  merchant_id integer NOT NULL,
  out_trade_no text NOT NULL,
  transaction_id text NOT NULL,
  amount_fen integer NOT NULL,
  payer_fen integer NOT NULL,
  currency text NOT NULL,
  settled numeric NOT NULL,
  settled_order integer,
  refunded_fen integer NOT NULL,
  paid_at integer NOT NULL,
  created_at integer NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX ix_payments_order ON payments(order_id);
CREATE UNIQUE INDEX uk_payments_settled ON payments(settled_order);
CREATE UNIQUE INDEX uk_payments_transaction ON payments(transaction_id);

CREATE TABLE refunds (
  id integer,
  order_id integer NOT NULL,
  payment_id integer NOT NULL,
  aftersale_id integer NOT NULL,
  merchant_id integer NOT NULL,
  out_refund_no text NOT NULL,
  refund_id text NOT NULL,
  kind text NOT NULL,
  state text NOT NULL,
  amount_fen integer NOT NULL,
  freight_fen integer NOT NULL,
  total_fen integer NOT NULL,
  reason text NOT NULL,
  error text NOT NULL,
  next_at integer,
  calls integer NOT NULL,
  version integer NOT NULL,
  created_at integer NOT NULL,
  ended_at integer NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX ix_refunds_next ON refunds(next_at);
CREATE INDEX ix_refunds_order ON refunds(order_id);
CREATE INDEX ix_refunds_payment ON refunds(payment_id);
CREATE UNIQUE INDEX uk_refunds_no ON refunds(out_refund_no);

CREATE TABLE refund_lines (
  refund_id integer,
  line_id integer,
  quantity integer NOT NULL,
  amount_fen integer NOT NULL,
  PRIMARY KEY (refund_id,line_id)
);

CREATE TABLE anomalies (
  id integer PRIMARY KEY AUTOINCREMENT,
  merchant_id integer NOT NULL,
  kind text NOT NULL,
  ref text NOT NULL,
  order_id integer NOT NULL,
  payment_id integer NOT NULL,
  refund_id integer NOT NULL,
  detail text NOT NULL,
  state text NOT NULL,
  seen integer NOT NULL,
  note text NOT NULL,
  resolved_by text NOT NULL,
  created_at integer NOT NULL,
  resolved_at integer NOT NULL
);
CREATE INDEX ix_anomalies_order ON anomalies(order_id);
CREATE INDEX ix_anomalies_state ON anomalies(merchant_id,state);
CREATE UNIQUE INDEX uk_anomalies_ref ON anomalies(kind,ref);

CREATE TABLE parcels (
  id integer,
  order_id integer NOT NULL,
  merchant_id integer NOT NULL,
  delivery text NOT NULL,
  carrier text NOT NULL,
  tracking_no text NOT NULL,
  state text NOT NULL,
  upload_next_at integer,
  created_at integer NOT NULL,
  uploaded_at integer NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX ix_parcels_order ON parcels(order_id);
CREATE INDEX ix_parcels_upload ON parcels(upload_next_at);

CREATE TABLE parcel_lines (
  parcel_id integer,
  line_id integer,
  quantity integer NOT NULL,
  PRIMARY KEY (parcel_id,line_id)
);

CREATE TABLE aftersales (
  id integer,
  order_id integer NOT NULL,
  merchant_id integer NOT NULL,
  shopper_id integer NOT NULL,
  type text NOT NULL,
  state text NOT NULL,
  reason text NOT NULL,
  answer text NOT NULL,
  refund_id integer NOT NULL,
  carrier text NOT NULL,
  tracking_no text NOT NULL,
  answer_deadline integer,
  version integer NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX ix_aftersales_deadline ON aftersales(answer_deadline);
CREATE INDEX ix_aftersales_merchant ON aftersales(merchant_id,state,created_at);
CREATE INDEX ix_aftersales_order ON aftersales(order_id);
CREATE INDEX ix_aftersales_shopper ON aftersales(shopper_id,created_at);

CREATE TABLE aftersale_lines (
  aftersale_id integer,
  line_id integer,
  quantity integer NOT NULL,
  PRIMARY KEY (aftersale_id,line_id)
);

CREATE TABLE messages (
  id integer PRIMARY KEY AUTOINCREMENT,
  topic text NOT NULL,
  msg_key text NOT NULL,
  seq integer NOT NULL,
  merchant_id integer NOT NULL,
  payload text NOT NULL,
  trace text NOT NULL,
  state text NOT NULL,
  due_at integer NOT NULL,
  lease_token text NOT NULL,
  lease_until integer NOT NULL,
  attempts integer NOT NULL,
  error text NOT NULL,
  created_at integer NOT NULL,
  sent_at integer NOT NULL
);
CREATE INDEX ix_messages_due ON messages(state,due_at);
CREATE UNIQUE INDEX uk_messages_key ON messages(msg_key,seq);

CREATE TABLE subscriber_receipts (
  subscriber text NOT NULL,
  message_id integer,
  created_at integer NOT NULL,
  PRIMARY KEY (subscriber,message_id)
);
CREATE INDEX ix_subscriber_receipts_created ON subscriber_receipts(created_at);

CREATE TABLE timeout_policies (
  id integer PRIMARY KEY AUTOINCREMENT,
  stage text NOT NULL,
  merchant_id integer NOT NULL,
  order_type text NOT NULL,
  biz_line text NOT NULL,
  duration_ms integer NOT NULL,
  enabled numeric NOT NULL,
  rollout_percent integer NOT NULL,
  version integer NOT NULL,
  created_at integer NOT NULL,
  changed_at integer NOT NULL,
  deleted_at integer NOT NULL
);
CREATE INDEX ix_timeout_policies_changed ON timeout_policies(changed_at);
CREATE INDEX ix_timeout_policies_stage ON timeout_policies(stage);

CREATE TABLE timeout_policy_versions (
  policy_id integer,
  version integer,
  duration_ms integer NOT NULL,
  enabled numeric NOT NULL,
  rollout_percent integer NOT NULL,
  actor text NOT NULL,
  created_at integer NOT NULL,
  PRIMARY KEY (policy_id,version)
);
