-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `refund_lines` (
  `refund_id` bigint NOT NULL,
  `line_id` bigint NOT NULL,
  `quantity` bigint NOT NULL,
  `amount_fen` bigint NOT NULL,
  PRIMARY KEY (`refund_id`,`line_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
