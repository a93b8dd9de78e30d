-- +goose Up
ALTER TABLE orders ADD COLUMN trace_parent text NOT NULL DEFAULT '';
