-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE timeout_meta (
  name       VARCHAR(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  value      VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  updated_at BIGINT       NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB;
