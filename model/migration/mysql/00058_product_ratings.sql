-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `product_ratings` (
  `product_id` bigint NOT NULL,
  `merchant_id` bigint NOT NULL,
  `stars_1` bigint NOT NULL,
  `stars_2` bigint NOT NULL,
  `stars_3` bigint NOT NULL,
  `stars_4` bigint NOT NULL,
  `stars_5` bigint NOT NULL,
  `pictured` bigint NOT NULL,
  PRIMARY KEY (`product_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
