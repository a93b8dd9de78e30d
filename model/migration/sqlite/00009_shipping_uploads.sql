-- +goose Up
CREATE TABLE shipping_uploads (
  id integer,
  merchant_id integer NOT NULL,
  state text NOT NULL,
  next_at integer,
  calls integer NOT NULL,
  revision integer NOT NULL,
  wanted_at integer NOT NULL,
  called_hash text NOT NULL,
  called_at integer NOT NULL,
  sent_hash text NOT NULL,
  sent_at integer NOT NULL,
  split numeric NOT NULL,
  finished numeric NOT NULL,
  corrections integer NOT NULL,
  error text NOT NULL,
  uploaded_at integer NOT NULL,
  settlement_due_at integer NOT NULL,
  received_at integer NOT NULL,
  received_by text NOT NULL,
  settled_at integer NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX ix_shipping_uploads_next ON shipping_uploads(next_at);
CREATE INDEX ix_shipping_uploads_merchant ON shipping_uploads(merchant_id,state,created_at);
-- Orders that were shipped before there was an upload: they are uploaded now.
INSERT OR IGNORE INTO shipping_uploads
  (id, merchant_id, state, next_at, calls, revision, wanted_at, called_hash, called_at, sent_hash, sent_at, split, finished,
   corrections, error, uploaded_at, settlement_due_at, received_at, received_by, settled_at, created_at, updated_at)
SELECT order_id, merchant_id, MIN(state), MIN(upload_next_at), 0, 1, MAX(created_at), '', 0, '', 0, 0, 0,
  0, '', 0, 0, 0, '', 0, MIN(created_at), MAX(created_at)
FROM parcels WHERE state IN ('waiting', 'skipped') GROUP BY order_id, merchant_id;
-- The upload is of the order, not of the parcel.
DROP INDEX ix_parcels_upload;
ALTER TABLE parcels DROP COLUMN upload_next_at;
