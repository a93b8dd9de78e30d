-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `bill_rows` (
  `day` bigint NOT NULL,
  `kind` varchar(8) NOT NULL,
  `number` varchar(64) NOT NULL,
  `run` bigint NOT NULL,
  `line_no` bigint NOT NULL,
  `at` bigint NOT NULL,
  `app_id` varchar(64) NOT NULL,
  `mch_id` varchar(64) NOT NULL,
  `transaction_id` varchar(64) NOT NULL,
  `out_trade_no` varchar(64) NOT NULL,
  `refund_id` varchar(64) NOT NULL,
  `currency` varchar(16) NOT NULL,
  `amount_fen` bigint NOT NULL,
  `coupon_fen` bigint NOT NULL,
  `status` varchar(16) NOT NULL,
  PRIMARY KEY (`day`,`kind`,`number`),
  KEY `ix_bill_rows_number` (`number`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
