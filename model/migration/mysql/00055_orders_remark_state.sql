-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `orders` ADD COLUMN `remark_state` varchar(16) NOT NULL DEFAULT '';
