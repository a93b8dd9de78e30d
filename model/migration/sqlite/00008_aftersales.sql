-- Until now only pieces that were never shipped went back to the shelf with a refund.
-- +goose Up
ALTER TABLE order_lines ADD COLUMN dropped_quantity integer NOT NULL DEFAULT 0;
UPDATE order_lines SET dropped_quantity = (
  SELECT COALESCE(SUM(g.delta), 0) FROM stock_ledger g WHERE g.line_id = order_lines.id AND g.kind = 'return'
) WHERE refunded_quantity > 0;
ALTER TABLE refunds ADD COLUMN called_at integer NOT NULL DEFAULT 0;
ALTER TABLE aftersales ADD COLUMN amount_fen integer NOT NULL DEFAULT 0;
ALTER TABLE aftersales ADD COLUMN restock numeric NOT NULL DEFAULT 0;
ALTER TABLE aftersales ADD COLUMN answered_by text NOT NULL DEFAULT '';
CREATE INDEX ix_aftersales_merchant_created ON aftersales(merchant_id,created_at);
