-- +goose Up
CREATE TABLE timeout_shards (
  shard      INTEGER NOT NULL,
  epoch      BIGINT  NOT NULL,
  beat       BIGINT  NOT NULL,
  updated_at BIGINT  NOT NULL,
  PRIMARY KEY (shard)
);
