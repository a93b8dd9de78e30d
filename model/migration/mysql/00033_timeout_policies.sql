-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `timeout_policies` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `stage` varchar(32) NOT NULL,
  `merchant_id` bigint NOT NULL,
  `order_type` varchar(16) NOT NULL,
  `biz_line` varchar(32) NOT NULL,
  `duration_ms` bigint NOT NULL,
  `enabled` tinyint(1) NOT NULL,
  `rollout_percent` bigint NOT NULL,
  `version` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `changed_at` bigint NOT NULL,
  `deleted_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ix_timeout_policies_stage` (`stage`),
  KEY `ix_timeout_policies_changed` (`changed_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
