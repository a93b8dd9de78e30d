-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `settings` (
  `name` varchar(64) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `value` varchar(512) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `updated_at` bigint NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
