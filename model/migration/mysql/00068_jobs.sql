-- +goose NO TRANSACTION
-- +goose Up
-- ix_jobs_lease serves the look for work, ix_jobs_merchant the panel's list (by id), ix_jobs_ended the removal of old jobs.
CREATE TABLE `jobs` (
  `id` bigint NOT NULL,
  `merchant_id` bigint NOT NULL,
  `kind` varchar(24) NOT NULL,
  `state` varchar(16) NOT NULL,
  `dry_run` tinyint(1) NOT NULL,
  `actor` varchar(64) NOT NULL,
  `actor_name` varchar(64) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `file_name` varchar(120) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `input` varchar(120) NOT NULL,
  `params` text COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `total` bigint NOT NULL,
  `done` bigint NOT NULL,
  `failed` bigint NOT NULL,
  `step` bigint NOT NULL,
  `cursor_at` bigint NOT NULL,
  `cursor_id` bigint NOT NULL,
  `error` varchar(255) NOT NULL,
  `lease_token` varchar(40) NOT NULL,
  `lease_until` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `updated_at` bigint NOT NULL,
  `started_at` bigint NOT NULL,
  `ended_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ix_jobs_merchant` (`merchant_id`),
  KEY `ix_jobs_lease` (`state`,`lease_until`),
  KEY `ix_jobs_ended` (`ended_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
