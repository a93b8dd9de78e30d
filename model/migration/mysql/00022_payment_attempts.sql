-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `payment_attempts` (
  `id` bigint NOT NULL,
  `order_id` bigint NOT NULL,
  `merchant_id` bigint NOT NULL,
  `out_trade_no` varchar(32) NOT NULL,
  `state` varchar(16) NOT NULL,
  `amount_fen` bigint NOT NULL,
  `app_id` varchar(64) NOT NULL,
  `mch_id` varchar(64) NOT NULL,
  `openid` varchar(128) NOT NULL,
  `description` varchar(127) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `notify_url` varchar(255) NOT NULL,
  `time_expire` bigint NOT NULL,
  `call_until` bigint NOT NULL,
  `prepay_id` varchar(64) NOT NULL,
  `prepay_at` bigint NOT NULL,
  `missing_at` bigint NOT NULL,
  `next_query_at` bigint DEFAULT NULL,
  `queries` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `ended_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_payment_attempts_no` (`out_trade_no`),
  KEY `ix_payment_attempts_order` (`order_id`),
  KEY `ix_payment_attempts_query` (`state`,`next_query_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
