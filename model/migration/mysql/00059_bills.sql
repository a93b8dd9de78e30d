-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `bills` (
  `id` bigint NOT NULL,
  `state` varchar(16) NOT NULL,
  `run` bigint NOT NULL,
  `hash` varchar(64) NOT NULL,
  `imported` bigint NOT NULL,
  `payments` bigint NOT NULL,
  `payment_fen` bigint NOT NULL,
  `refunds` bigint NOT NULL,
  `refund_fen` bigint NOT NULL,
  `differences` bigint NOT NULL,
  `compare_step` bigint NOT NULL,
  `compare_after` varchar(80) NOT NULL,
  `next_at` bigint DEFAULT NULL,
  `calls` bigint NOT NULL,
  `error` varchar(255) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `version` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `updated_at` bigint NOT NULL,
  `ended_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ix_bills_next` (`next_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
