-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE `parcel_lines` (
  `parcel_id` bigint NOT NULL,
  `line_id` bigint NOT NULL,
  `quantity` bigint NOT NULL,
  PRIMARY KEY (`parcel_id`,`line_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
