-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `coupon_templates` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `merchant_id` bigint NOT NULL,
  `name` varchar(64) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `kind` varchar(16) NOT NULL,
  `amount_fen` bigint NOT NULL,
  `percent_off` bigint NOT NULL,
  `max_discount_fen` bigint NOT NULL,
  `threshold_fen` bigint NOT NULL,
  `scope` varchar(16) NOT NULL,
  `scope_ids` text NOT NULL,
  `total` bigint NOT NULL,
  `per_shopper` bigint NOT NULL,
  `issued` bigint NOT NULL,
  `starts_at` bigint NOT NULL,
  `ends_at` bigint NOT NULL,
  `valid_days` bigint NOT NULL,
  `version` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `updated_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ix_coupon_templates_merchant` (`merchant_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
