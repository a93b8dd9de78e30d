-- +goose Up
CREATE TABLE content_holds (
  id integer PRIMARY KEY AUTOINCREMENT,
  kind text NOT NULL,
  ref_id integer NOT NULL,
  merchant_id integer NOT NULL,
  shopper_id integer NOT NULL,
  order_no text NOT NULL,
  text text NOT NULL,
  reason text NOT NULL,
  label integer NOT NULL,
  state text NOT NULL,
  next_at integer,
  attempts integer NOT NULL,
  trace_id text NOT NULL,
  decided_by text NOT NULL,
  decided_at integer NOT NULL,
  version integer NOT NULL,
  created_at integer NOT NULL
);
CREATE INDEX ix_content_holds_ref ON content_holds(kind,ref_id,state);
CREATE INDEX ix_content_holds_merchant ON content_holds(merchant_id,state,created_at);
CREATE INDEX ix_content_holds_next ON content_holds(next_at);
CREATE TABLE media_checks (
  trace_id text NOT NULL PRIMARY KEY,
  hold_id integer NOT NULL,
  suggest text NOT NULL,
  label integer NOT NULL,
  created_at integer NOT NULL
);
CREATE TABLE reviews (
  id integer PRIMARY KEY AUTOINCREMENT,
  merchant_id integer NOT NULL,
  order_id integer NOT NULL,
  line_id integer,
  product_id integer NOT NULL,
  shopper_id integer NOT NULL,
  specs text NOT NULL,
  rating integer NOT NULL,
  content text NOT NULL,
  pictures text NOT NULL,
  pictured numeric NOT NULL,
  state text NOT NULL,
  answer text NOT NULL,
  answered_at integer NOT NULL,
  answered_by text NOT NULL,
  version integer NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL
);
CREATE UNIQUE INDEX uk_reviews_line ON reviews(line_id);
CREATE INDEX ix_reviews_product ON reviews(product_id,state,created_at);
CREATE INDEX ix_reviews_rating ON reviews(product_id,state,rating,created_at);
CREATE INDEX ix_reviews_pictured ON reviews(product_id,state,pictured,created_at);
CREATE INDEX ix_reviews_merchant ON reviews(merchant_id,created_at);
CREATE INDEX ix_reviews_merchant_state ON reviews(merchant_id,state,created_at);
CREATE INDEX ix_reviews_unanswered ON reviews(merchant_id,answered_at,created_at);
CREATE INDEX ix_reviews_shopper ON reviews(shopper_id,created_at);
CREATE TABLE product_ratings (
  product_id integer NOT NULL PRIMARY KEY,
  merchant_id integer NOT NULL,
  stars_1 integer NOT NULL,
  stars_2 integer NOT NULL,
  stars_3 integer NOT NULL,
  stars_4 integer NOT NULL,
  stars_5 integer NOT NULL,
  pictured integer NOT NULL
);
ALTER TABLE orders ADD COLUMN remark_state text NOT NULL DEFAULT '';
ALTER TABLE order_lines ADD COLUMN reviewed_at integer NOT NULL DEFAULT 0;
