-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `order_events` (
  `order_id` bigint NOT NULL,
  `version` bigint NOT NULL,
  `from_state` varchar(20) NOT NULL,
  `to_state` varchar(20) NOT NULL,
  `actor` varchar(64) NOT NULL,
  `reason` varchar(255) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `trace_id` varchar(32) NOT NULL,
  `created_at` bigint NOT NULL,
  PRIMARY KEY (`order_id`,`version`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
