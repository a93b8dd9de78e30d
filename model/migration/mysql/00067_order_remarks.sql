-- What a merchant's people note on an order for themselves: a row a version, the newest is the one that stands.
-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `order_remarks` (
  `order_id` bigint NOT NULL,
  `version` bigint NOT NULL,
  `merchant_id` bigint NOT NULL,
  `text` varchar(500) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `actor` varchar(64) NOT NULL,
  `created_at` bigint NOT NULL,
  PRIMARY KEY (`order_id`,`version`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
