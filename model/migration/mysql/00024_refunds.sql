-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `refunds` (
  `id` bigint NOT NULL,
  `order_id` bigint NOT NULL,
  `payment_id` bigint NOT NULL,
  `aftersale_id` bigint NOT NULL,
  `merchant_id` bigint NOT NULL,
  `out_refund_no` varchar(64) NOT NULL,
  `refund_id` varchar(64) NOT NULL,
  `kind` varchar(16) NOT NULL,
  `state` varchar(16) NOT NULL,
  `amount_fen` bigint NOT NULL,
  `freight_fen` bigint NOT NULL,
  `total_fen` bigint NOT NULL,
  `reason` varchar(80) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `error` varchar(255) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `next_at` bigint DEFAULT NULL,
  `calls` bigint NOT NULL,
  `version` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `ended_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_refunds_no` (`out_refund_no`),
  KEY `ix_refunds_order` (`order_id`),
  KEY `ix_refunds_payment` (`payment_id`),
  KEY `ix_refunds_next` (`next_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
