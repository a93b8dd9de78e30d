-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `aftersales` (
  `id` bigint NOT NULL,
  `order_id` bigint NOT NULL,
  `merchant_id` bigint NOT NULL,
  `shopper_id` bigint NOT NULL,
  `type` varchar(16) NOT NULL,
  `state` varchar(16) NOT NULL,
  `reason` varchar(255) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `answer` varchar(255) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `refund_id` bigint NOT NULL,
  `carrier` varchar(32) NOT NULL,
  `tracking_no` varchar(64) NOT NULL,
  `answer_deadline` bigint DEFAULT NULL,
  `version` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `updated_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ix_aftersales_order` (`order_id`),
  KEY `ix_aftersales_merchant` (`merchant_id`,`state`,`created_at`),
  KEY `ix_aftersales_shopper` (`shopper_id`,`created_at`),
  KEY `ix_aftersales_deadline` (`answer_deadline`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
