-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `revoked_tokens` (
  `jti` varchar(64) NOT NULL,
  `revoked_at` bigint NOT NULL,
  `expires_at` bigint NOT NULL,
  PRIMARY KEY (`jti`),
  KEY `ix_revoked_tokens_revoked` (`revoked_at`),
  KEY `ix_revoked_tokens_expires` (`expires_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
