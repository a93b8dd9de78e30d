-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `anomalies` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `merchant_id` bigint NOT NULL,
  `kind` varchar(40) NOT NULL,
  `ref` varchar(80) NOT NULL,
  `order_id` bigint NOT NULL,
  `payment_id` bigint NOT NULL,
  `refund_id` bigint NOT NULL,
  `detail` text COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `state` varchar(16) NOT NULL,
  `seen` bigint NOT NULL,
  `note` varchar(255) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `resolved_by` varchar(64) NOT NULL,
  `created_at` bigint NOT NULL,
  `resolved_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_anomalies_ref` (`kind`,`ref`),
  KEY `ix_anomalies_state` (`merchant_id`,`state`),
  KEY `ix_anomalies_order` (`order_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
