-- Failed tries at an admin's password by where they come from. ix_admin_failures_ends serves their removal.
-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `admin_failures` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `admin_id` bigint NOT NULL,
  `source` varchar(80) NOT NULL,
  `failed` bigint NOT NULL,
  `ends_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_admin_failures_source` (`admin_id`,`source`),
  KEY `ix_admin_failures_ends` (`ends_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
