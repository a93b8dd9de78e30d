-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `media_checks` (
  `trace_id` varchar(128) NOT NULL,
  `hold_id` bigint NOT NULL,
  `suggest` varchar(16) NOT NULL,
  `label` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  PRIMARY KEY (`trace_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
