-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `shipping_uploads` (
  `id` bigint NOT NULL,
  `merchant_id` bigint NOT NULL,
  `state` varchar(16) NOT NULL,
  `next_at` bigint DEFAULT NULL,
  `calls` bigint NOT NULL,
  `revision` bigint NOT NULL,
  `wanted_at` bigint NOT NULL,
  `called_hash` varchar(64) NOT NULL,
  `called_at` bigint NOT NULL,
  `sent_hash` varchar(64) NOT NULL,
  `sent_at` bigint NOT NULL,
  `split` tinyint(1) NOT NULL,
  `finished` tinyint(1) NOT NULL,
  `corrections` bigint NOT NULL,
  `error` varchar(255) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `uploaded_at` bigint NOT NULL,
  `settlement_due_at` bigint NOT NULL,
  `received_at` bigint NOT NULL,
  `received_by` varchar(16) NOT NULL,
  `settled_at` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `updated_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ix_shipping_uploads_next` (`next_at`),
  KEY `ix_shipping_uploads_merchant` (`merchant_id`,`state`,`created_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
