-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `roles` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `merchant_id` bigint NOT NULL,
  `name` varchar(64) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `permissions` text NOT NULL,
  `version` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `changed_at` bigint NOT NULL,
  `deleted_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_roles_name` (`merchant_id`,`name`),
  KEY `ix_roles_changed` (`changed_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
