-- Re-timings are jobs like the others.
-- +goose NO TRANSACTION
-- +goose Up
DROP TABLE `retime_jobs`;
