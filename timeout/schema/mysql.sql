-- Tables of the timeout module, for MySQL, MariaDB and TiDB. Every time is
-- unix milliseconds on the engine's clock.

-- One row per task that is dead, backing off after failures of its own, or
-- waiting for an outage to pass.
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

-- Facts that every replica of one installation must agree on (shards).
CREATE TABLE timeout_meta (
  name       VARCHAR(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  value      VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  updated_at BIGINT       NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB;

-- The live replicas, by heartbeat; they divide the shards among themselves.
CREATE TABLE timeout_members (
  node       VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  seen_at    BIGINT      NOT NULL,
  PRIMARY KEY (node)
) ENGINE=InnoDB;

-- What is known of each shard's lease in Redis: a beat there that is not
-- higher than the one here shows that Redis has lost writes.
CREATE TABLE timeout_shards (
  shard      INT    NOT NULL,
  epoch      BIGINT NOT NULL,
  beat       BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (shard)
) ENGINE=InnoDB;

-- How late deadlines were, by kind and period; each replica replaces its own
-- rows. counts has the classes of lateness that are not empty, as class:count.
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

-- How each replica is, for people; nothing is decided by it.
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
