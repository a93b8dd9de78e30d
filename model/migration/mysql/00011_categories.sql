-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `categories` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `merchant_id` bigint NOT NULL,
  `parent_id` bigint NOT NULL,
  `name` varchar(64) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `sort` bigint NOT NULL,
  `version` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `changed_at` bigint NOT NULL,
  `deleted_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ix_categories_merchant` (`merchant_id`,`parent_id`),
  KEY `ix_categories_changed` (`changed_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
