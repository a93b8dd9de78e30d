-- Tables of the timeout module, for SQLite. Every time is unix milliseconds on
-- the engine's clock. See mysql.sql for what each table is for.

CREATE TABLE task_failures (
  kind       TEXT    NOT NULL,
  task_key   TEXT    NOT NULL,
  due        BIGINT  NOT NULL,
  attempts   INTEGER NOT NULL,
  waits      INTEGER NOT NULL,
  next_at    BIGINT  NOT NULL,
  dead_at    BIGINT  NULL,
  error      TEXT    NOT NULL,
  created_at BIGINT  NOT NULL,
  updated_at BIGINT  NOT NULL,
  PRIMARY KEY (kind, task_key)
);

CREATE INDEX idx_task_failures_list ON task_failures (dead_at, updated_at);

CREATE TABLE timeout_meta (
  name       TEXT   NOT NULL,
  value      TEXT   NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (name)
);

CREATE TABLE timeout_members (
  node       TEXT   NOT NULL,
  seen_at    BIGINT NOT NULL,
  PRIMARY KEY (node)
);

CREATE TABLE timeout_shards (
  shard      INTEGER NOT NULL,
  epoch      BIGINT  NOT NULL,
  beat       BIGINT  NOT NULL,
  updated_at BIGINT  NOT NULL,
  PRIMARY KEY (shard)
);

CREATE TABLE timeout_lateness (
  grain_ms BIGINT NOT NULL,
  begin_at BIGINT NOT NULL,
  kind TEXT NOT NULL,
  node TEXT NOT NULL,
  fired BIGINT NOT NULL,
  rescued BIGINT NOT NULL,
  max_us BIGINT NOT NULL,
  counts TEXT NOT NULL,
  PRIMARY KEY (grain_ms, begin_at, kind, node)
);

CREATE TABLE timeout_replicas (
  node TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  noted_at BIGINT NOT NULL,
  shards INTEGER NOT NULL,
  feed TEXT NOT NULL,
  in_flight BIGINT NOT NULL,
  clock_offset_us BIGINT NOT NULL,
  clock_source TEXT NOT NULL,
  clock_difference_us BIGINT NOT NULL,
  PRIMARY KEY (node)
);
