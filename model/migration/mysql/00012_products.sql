-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `products` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `merchant_id` bigint NOT NULL,
  `category_id` bigint NOT NULL,
  `name` varchar(200) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `subtitle` varchar(255) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `detail_html` mediumtext COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `images` text NOT NULL,
  `options` text NOT NULL,
  `virtual` tinyint(1) NOT NULL,
  `published` tinyint(1) NOT NULL,
  `min_price_fen` bigint NOT NULL,
  `sales` bigint NOT NULL,
  `sort` bigint NOT NULL,
  `version` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `changed_at` bigint NOT NULL,
  `deleted_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ix_products_merchant` (`merchant_id`,`published`),
  KEY `ix_products_category` (`category_id`,`published`),
  KEY `ix_products_sales` (`published`,`sales`),
  KEY `ix_products_newest` (`published`,`created_at`),
  KEY `ix_products_price` (`published`,`min_price_fen`),
  KEY `ix_products_sort` (`published`,`sort`),
  KEY `ix_products_changed` (`changed_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
