-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `shop_settings` (
  `merchant_id` bigint NOT NULL,
  `logo` varchar(255) NOT NULL,
  `contact_phone` varchar(20) NOT NULL,
  `notice` varchar(600) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `sender` text NOT NULL,
  `return_to` text NOT NULL,
  `updated_at` bigint NOT NULL,
  PRIMARY KEY (`merchant_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
