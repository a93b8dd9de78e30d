-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `parcels` (
  `id` bigint NOT NULL,
  `order_id` bigint NOT NULL,
  `merchant_id` bigint NOT NULL,
  `delivery` varchar(16) NOT NULL,
  `carrier` varchar(32) NOT NULL,
  `tracking_no` varchar(64) NOT NULL,
  `state` varchar(16) NOT NULL,
  `upload_next_at` bigint DEFAULT NULL,
  `created_at` bigint NOT NULL,
  `uploaded_at` bigint NOT NULL,
  PRIMARY KEY (`id`),
  KEY `ix_parcels_order` (`order_id`),
  KEY `ix_parcels_upload` (`upload_next_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
