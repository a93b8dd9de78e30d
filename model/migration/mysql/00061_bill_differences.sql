-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `bill_differences` (
  `day` bigint NOT NULL,
  `kind` varchar(40) NOT NULL,
  `ref` varchar(80) NOT NULL,
  `bill_fen` bigint NOT NULL,
  `shop_fen` bigint NOT NULL,
  `found_at` bigint NOT NULL,
  PRIMARY KEY (`day`,`kind`,`ref`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
