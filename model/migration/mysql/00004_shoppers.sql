-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `shoppers` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `openid` varchar(128) NOT NULL,
  `unionid` varchar(128) NOT NULL,
  `nickname` varchar(64) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `avatar` varchar(512) NOT NULL,
  `phone_cipher` varchar(255) NOT NULL,
  `phone_tail` varchar(8) NOT NULL,
  `created_at` bigint NOT NULL,
  `updated_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_shoppers_openid` (`openid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
