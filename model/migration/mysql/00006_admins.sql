-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `admins` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `username` varchar(64) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `password_hash` varchar(255) NOT NULL,
  `merchant_id` bigint NOT NULL,
  `role_id` bigint NOT NULL,
  `disabled` tinyint(1) NOT NULL,
  `tokens_from` bigint NOT NULL,
  `failed_count` bigint NOT NULL,
  `locked_until` bigint NOT NULL,
  `version` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `updated_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_admins_username` (`username`),
  KEY `ix_admins_merchant` (`merchant_id`),
  KEY `ix_admins_role` (`role_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
