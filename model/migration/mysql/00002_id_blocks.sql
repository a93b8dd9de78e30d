-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `id_blocks` (
  `name` varchar(64) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `next` bigint NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
