-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `order_lines` (
  `id` bigint NOT NULL,
  `order_id` bigint NOT NULL,
  `line_no` bigint NOT NULL,
  `merchant_id` bigint NOT NULL,
  `product_id` bigint NOT NULL,
  `sku_id` bigint NOT NULL,
  `name` varchar(200) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `image` varchar(255) NOT NULL,
  `specs` text NOT NULL,
  `virtual` tinyint(1) NOT NULL,
  `quantity` bigint NOT NULL,
  `price_fen` bigint NOT NULL,
  `discount_fen` bigint NOT NULL,
  `adjustment_fen` bigint NOT NULL,
  `shipped_quantity` bigint NOT NULL,
  `refunding_quantity` bigint NOT NULL,
  `refunded_quantity` bigint NOT NULL,
  `refunded_fen` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_order_lines_no` (`order_id`,`line_no`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
