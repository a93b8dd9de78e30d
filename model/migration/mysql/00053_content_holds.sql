-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `content_holds` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `kind` varchar(16) NOT NULL,
  `ref_id` bigint NOT NULL,
  `merchant_id` bigint NOT NULL,
  `shopper_id` bigint NOT NULL,
  `order_no` varchar(32) NOT NULL,
  `text` varchar(600) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `reason` varchar(16) NOT NULL,
  `label` bigint NOT NULL,
  `state` varchar(16) NOT NULL,
  `next_at` bigint DEFAULT NULL,
  `attempts` bigint NOT NULL,
  `trace_id` varchar(128) NOT NULL,
  `decided_by` varchar(64) NOT NULL,
  `decided_at` bigint NOT NULL,
  `version` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ix_content_holds_ref` (`kind`,`ref_id`,`state`),
  KEY `ix_content_holds_merchant` (`merchant_id`,`state`,`created_at`),
  KEY `ix_content_holds_next` (`next_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
