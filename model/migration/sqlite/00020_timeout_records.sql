-- +goose Up
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
