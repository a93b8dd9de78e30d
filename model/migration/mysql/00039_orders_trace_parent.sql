-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `orders` ADD COLUMN `trace_parent` varchar(55) NOT NULL DEFAULT '';
