-- Orders that were shipped before there was an upload: they are uploaded now.
-- +goose NO TRANSACTION
-- +goose Up
INSERT IGNORE INTO `shipping_uploads`
  (`id`, `merchant_id`, `state`, `next_at`, `calls`, `revision`, `wanted_at`, `called_hash`, `called_at`, `sent_hash`, `sent_at`, `split`, `finished`,
   `corrections`, `error`, `uploaded_at`, `settlement_due_at`, `received_at`, `received_by`, `settled_at`, `created_at`, `updated_at`)
SELECT `order_id`, `merchant_id`, MIN(`state`), MIN(`upload_next_at`), 0, 1, MAX(`created_at`), '', 0, '', 0, 0, 0,
  0, '', 0, 0, 0, '', 0, MIN(`created_at`), MAX(`created_at`)
FROM `parcels` WHERE `state` IN ('waiting', 'skipped') GROUP BY `order_id`, `merchant_id`;
