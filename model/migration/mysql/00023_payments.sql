-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `payments` (
  `id` bigint NOT NULL,
  `order_id` bigint NOT NULL,
  `attempt_id` bigint NOT NULL,
  `merchant_id` bigint NOT NULL,
  `out_trade_no` varchar(32) NOT NULL,
  `transaction_id` varchar(64) NOT NULL,
  `amount_fen` bigint NOT NULL,
  `payer_fen` bigint NOT NULL,
  `currency` varchar(16) NOT NULL,
  `settled` tinyint(1) NOT NULL,
  `settled_order` bigint DEFAULT NULL,
  `refunded_fen` bigint NOT NULL,
  `paid_at` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_payments_transaction` (`transaction_id`),
  UNIQUE KEY `uk_payments_settled` (`settled_order`),
  KEY `ix_payments_order` (`order_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
