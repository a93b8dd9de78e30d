-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `subscriber_receipts` (
  `subscriber` varchar(64) NOT NULL,
  `message_id` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  PRIMARY KEY (`subscriber`,`message_id`),
  KEY `ix_subscriber_receipts_created` (`created_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
