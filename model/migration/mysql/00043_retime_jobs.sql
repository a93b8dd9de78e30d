-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `retime_jobs` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `policy_id` bigint NOT NULL,
  `version` bigint NOT NULL,
  `state` varchar(16) NOT NULL,
  `seen` bigint NOT NULL,
  `changed` bigint NOT NULL,
  `skipped` bigint NOT NULL,
  `cursor_due` bigint NOT NULL,
  `cursor_id` bigint NOT NULL,
  `actor` varchar(64) NOT NULL,
  `error` varchar(255) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `lease_token` varchar(40) NOT NULL,
  `lease_until` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `updated_at` bigint NOT NULL,
  `ended_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ix_retime_jobs_policy` (`policy_id`),
  KEY `ix_retime_jobs_lease` (`state`,`lease_until`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
