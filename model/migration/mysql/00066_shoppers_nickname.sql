-- Finds the shoppers of a nickname, for the search of orders.
-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX `ix_shoppers_nickname` ON `shoppers` (`nickname`);
