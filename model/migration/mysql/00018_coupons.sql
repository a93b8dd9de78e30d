-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `coupons` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `template_id` bigint NOT NULL,
  `merchant_id` bigint NOT NULL,
  `shopper_id` bigint NOT NULL,
  `seq` bigint NOT NULL,
  `state` varchar(16) NOT NULL,
  `order_id` bigint DEFAULT NULL,
  `expires_at` bigint NOT NULL,
  `used_at` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `updated_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_coupons_seq` (`template_id`,`shopper_id`,`seq`),
  UNIQUE KEY `uk_coupons_order` (`order_id`),
  KEY `ix_coupons_shopper` (`shopper_id`,`state`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
