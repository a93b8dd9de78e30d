-- A row a login. ix_admin_sessions_admin serves the list of an admin's own that go on; ix_admin_sessions_expires serves their removal.
-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `admin_sessions` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `admin_id` bigint NOT NULL,
  `jti` varchar(64) NOT NULL,
  `ip` varchar(64) NOT NULL,
  `agent` varchar(200) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `created_at` bigint NOT NULL,
  `last_seen_at` bigint NOT NULL,
  `expires_at` bigint NOT NULL,
  `ended_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_admin_sessions_jti` (`jti`),
  KEY `ix_admin_sessions_admin` (`admin_id`,`expires_at`),
  KEY `ix_admin_sessions_expires` (`expires_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
