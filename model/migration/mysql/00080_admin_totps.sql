-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `admin_totps` (
  `admin_id` bigint NOT NULL,
  `secret_cipher` varchar(255) NOT NULL,
  `last_step` bigint NOT NULL,
  `confirmed_at` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  PRIMARY KEY (`admin_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
