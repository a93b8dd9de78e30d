-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `idempotency_keys` (
  `scope` varchar(64) NOT NULL,
  `idem_key` varchar(64) NOT NULL,
  `body_hash` varchar(64) NOT NULL,
  `ref` varchar(64) NOT NULL,
  `created_at` bigint NOT NULL,
  PRIMARY KEY (`scope`,`idem_key`),
  KEY `ix_idempotency_keys_created` (`created_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
