-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `skus` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `product_id` bigint NOT NULL,
  `merchant_id` bigint NOT NULL,
  `specs` text NOT NULL,
  `spec_key` varchar(255) NOT NULL,
  `price_fen` bigint NOT NULL,
  `stock` bigint NOT NULL,
  `weight_g` bigint NOT NULL,
  `image` varchar(255) NOT NULL,
  `sort` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `updated_at` bigint NOT NULL,
  `deleted_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_skus_spec` (`product_id`,`spec_key`),
  KEY `ix_skus_merchant` (`merchant_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
