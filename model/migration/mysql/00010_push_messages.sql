-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `push_messages` (
  `message_id` varchar(128) NOT NULL,
  `event` varchar(64) NOT NULL,
  `received_at` bigint NOT NULL,
  PRIMARY KEY (`message_id`),
  KEY `ix_push_messages_received` (`received_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
