-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `subscribe_templates` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `event` varchar(32) NOT NULL,
  `template_id` varchar(64) NOT NULL,
  `page` varchar(255) NOT NULL,
  `fields` text COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `enabled` tinyint(1) NOT NULL,
  `version` bigint NOT NULL,
  `created_at` bigint NOT NULL,
  `changed_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_subscribe_templates_event` (`event`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
