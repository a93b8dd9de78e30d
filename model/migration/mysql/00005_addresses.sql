-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `addresses` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `shopper_id` bigint NOT NULL,
  `name` varchar(64) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `phone` varchar(20) NOT NULL,
  `province` varchar(64) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `city` varchar(64) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `district` varchar(64) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `detail` varchar(255) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `region_code` varchar(12) NOT NULL,
  `is_default` tinyint(1) NOT NULL,
  `created_at` bigint NOT NULL,
  `updated_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ix_addresses_shopper` (`shopper_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
