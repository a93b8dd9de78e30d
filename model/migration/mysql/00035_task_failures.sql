-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE task_failures (
  kind       VARCHAR(32)   CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  task_key   VARCHAR(64)   CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  due        BIGINT        NOT NULL,
  attempts   INT           NOT NULL,
  waits      INT           NOT NULL,
  next_at    BIGINT        NOT NULL,
  dead_at    BIGINT        NULL,
  error      VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  created_at BIGINT        NOT NULL,
  updated_at BIGINT        NOT NULL,
  PRIMARY KEY (kind, task_key),
  KEY idx_task_failures_list (dead_at, updated_at)
) ENGINE=InnoDB;
