-- Until now only pieces that were never shipped went back to the shelf with a refund. Replicas of the former version may be at
-- work meanwhile, so the statement may be repeated.
-- +goose NO TRANSACTION
-- +goose Up
UPDATE `order_lines` SET `dropped_quantity` = (
  SELECT COALESCE(SUM(`g`.`delta`), 0) FROM `stock_ledger` `g` WHERE `g`.`line_id` = `order_lines`.`id` AND `g`.`kind` = 'return'
) WHERE `refunded_quantity` > 0;
