-- The lines that were there before.
-- +goose NO TRANSACTION
-- +goose Up
UPDATE `order_lines` l JOIN `orders` o ON o.`id` = l.`order_id` SET l.`created_at` = o.`created_at` WHERE l.`created_at` = 0;
