-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `freight_rules` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `merchant_id` bigint NOT NULL,
  `name` varchar(64) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `kind` varchar(16) NOT NULL,
  `regions` text NOT NULL,
  `first_units` bigint NOT NULL,
  `first_fen` bigint NOT NULL,
  `step_units` bigint NOT NULL,
  `step_fen` bigint NOT NULL,
  `free_over_fen` bigint NOT NULL,
  `sort` bigint NOT NULL,
  `version` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `updated_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ix_freight_rules_merchant` (`merchant_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
