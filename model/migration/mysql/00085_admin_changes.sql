-- +goose NO TRANSACTION
-- +goose Up
-- The lists are ordered by (created_at, id): of all, of a merchant, and each of the filters has its own index. The cleaner walks
-- along ix_admin_changes_created.
CREATE TABLE `admin_changes` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `admin_id` bigint NOT NULL,
  `admin_name` varchar(64) NOT NULL,
  `merchant_id` bigint NOT NULL,
  `action` varchar(96) NOT NULL,
  `kind` varchar(32) NOT NULL,
  `ref` varchar(64) NOT NULL,
  `fields_before` mediumtext NOT NULL,
  `fields_after` mediumtext NOT NULL,
  `request_id` varchar(64) NOT NULL,
  `ip` varchar(45) NOT NULL,
  `created_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ix_admin_changes_created` (`created_at`, `id`),
  KEY `ix_admin_changes_merchant` (`merchant_id`, `created_at`, `id`),
  KEY `ix_admin_changes_admin` (`admin_id`, `created_at`, `id`),
  KEY `ix_admin_changes_action` (`merchant_id`, `action`, `created_at`, `id`),
  KEY `ix_admin_changes_kind` (`merchant_id`, `kind`, `created_at`, `id`),
  KEY `ix_admin_changes_ref` (`kind`, `ref`, `created_at`, `id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
