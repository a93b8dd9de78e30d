-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `timeout_policy_versions` (
  `policy_id` bigint NOT NULL,
  `version` bigint NOT NULL,
  `duration_ms` bigint NOT NULL,
  `enabled` tinyint(1) NOT NULL,
  `rollout_percent` bigint NOT NULL,
  `actor` varchar(64) NOT NULL,
  `created_at` bigint NOT NULL,
  PRIMARY KEY (`policy_id`,`version`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
