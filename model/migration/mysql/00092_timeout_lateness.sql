-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE timeout_lateness (
  grain_ms BIGINT        NOT NULL,
  begin_at BIGINT        NOT NULL,
  kind     VARCHAR(32)   CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  node     VARCHAR(64)   CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  fired    BIGINT        NOT NULL,
  rescued  BIGINT        NOT NULL,
  max_us   BIGINT        NOT NULL,
  counts   VARCHAR(1500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (grain_ms, begin_at, kind, node)
) ENGINE=InnoDB;
