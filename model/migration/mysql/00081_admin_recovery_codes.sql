-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `admin_recovery_codes` (
  `admin_id` bigint NOT NULL,
  `code_hash` varchar(64) NOT NULL,
  `used_at` bigint NOT NULL,
  PRIMARY KEY (`admin_id`,`code_hash`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
