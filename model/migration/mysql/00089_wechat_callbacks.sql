-- +goose NO TRANSACTION
-- +goose Up
-- ix_wechat_callbacks_list is the list with all its filters given, in its order; ix_wechat_callbacks_created is what has to go.
CREATE TABLE `wechat_callbacks` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `merchant_id` bigint NOT NULL,
  `order_id` bigint NOT NULL,
  `kind` varchar(8) NOT NULL,
  `notice_id` varchar(64) NOT NULL,
  `verdict` varchar(16) NOT NULL,
  `reason` varchar(32) NOT NULL,
  `event_type` varchar(64) NOT NULL,
  `out_trade_no` varchar(64) NOT NULL,
  `out_refund_no` varchar(64) NOT NULL,
  `amount_fen` bigint NOT NULL,
  `status` bigint NOT NULL,
  `took_ms` bigint NOT NULL,
  `request_id` varchar(64) NOT NULL,
  `count` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `last_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_wechat_callbacks_notice` (`kind`,`notice_id`,`verdict`,`reason`),
  KEY `ix_wechat_callbacks_list` (`merchant_id`,`kind`,`verdict`,`created_at`,`id`),
  KEY `ix_wechat_callbacks_trade` (`out_trade_no`),
  KEY `ix_wechat_callbacks_created` (`created_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
