-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `messages` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `topic` varchar(64) NOT NULL,
  `msg_key` varchar(64) NOT NULL,
  `seq` bigint NOT NULL,
  `merchant_id` bigint NOT NULL,
  `payload` text NOT NULL,
  `trace` varchar(64) NOT NULL,
  `state` varchar(16) NOT NULL,
  `due_at` bigint NOT NULL,
  `lease_token` varchar(40) NOT NULL,
  `lease_until` bigint NOT NULL,
  `attempts` bigint NOT NULL,
  `error` varchar(255) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `created_at` bigint NOT NULL,
  `sent_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_messages_key` (`msg_key`,`seq`),
  KEY `ix_messages_due` (`state`,`due_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
