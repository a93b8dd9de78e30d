-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE timeout_members (
  node       VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  seen_at    BIGINT      NOT NULL,
  PRIMARY KEY (node)
) ENGINE=InnoDB;
