-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `wechat_callback_refusals` (
  `hour` bigint NOT NULL,
  `kind` varchar(8) NOT NULL,
  `reason` varchar(32) NOT NULL,
  `count` bigint NOT NULL,
  `last_at` bigint NOT NULL,
  `last_ip` varchar(64) NOT NULL,
  PRIMARY KEY (`hour`,`kind`,`reason`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
