-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE timeout_replicas (
  node                VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  started_at          BIGINT      NOT NULL,
  noted_at            BIGINT      NOT NULL,
  shards              INT         NOT NULL,
  feed                VARCHAR(8)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  in_flight           BIGINT      NOT NULL,
  clock_offset_us     BIGINT      NOT NULL,
  clock_source        VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  clock_difference_us BIGINT      NOT NULL,
  PRIMARY KEY (node)
) ENGINE=InnoDB;
