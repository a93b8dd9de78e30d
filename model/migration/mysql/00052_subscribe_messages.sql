-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `subscribe_messages` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `event` varchar(32) NOT NULL,
  `notice_key` varchar(64) NOT NULL,
  `shopper_id` bigint NOT NULL,
  `merchant_id` bigint NOT NULL,
  `order_id` bigint NOT NULL,
  `refund_id` bigint NOT NULL,
  `state` varchar(16) NOT NULL,
  `next_at` bigint NULL,
  `calls` bigint NOT NULL,
  `code` varchar(64) NOT NULL,
  `error` varchar(255) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `created_at` bigint NOT NULL,
  `sent_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_subscribe_messages_key` (`notice_key`),
  KEY `ix_subscribe_messages_order` (`order_id`),
  KEY `ix_subscribe_messages_state` (`state`),
  KEY `ix_subscribe_messages_next` (`next_at`),
  KEY `ix_subscribe_messages_created` (`created_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
