-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `stock_ledger` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `merchant_id` bigint NOT NULL,
  `sku_id` bigint NOT NULL,
  `kind` varchar(16) NOT NULL,
  `delta` bigint NOT NULL,
  `order_id` bigint NOT NULL,
  `line_id` bigint DEFAULT NULL,
  `refund_id` bigint NOT NULL,
  `reason` varchar(255) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `actor` varchar(64) NOT NULL,
  `created_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_stock_ledger_line` (`line_id`,`kind`,`refund_id`),
  KEY `ix_stock_ledger_sku` (`sku_id`,`created_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
