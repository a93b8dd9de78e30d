-- ix_aftersales_queue and ix_aftersales_overdue have the order of what waits for an answer, ix_aftersales_type that of a list of one
-- type.
-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `aftersales`
  ADD COLUMN `steps` text COLLATE utf8mb4_unicode_520_ci DEFAULT NULL,
  ADD KEY `ix_aftersales_queue` (`merchant_id`,`answer_deadline`),
  ADD KEY `ix_aftersales_overdue` (`merchant_id`,`answer_overdue_at`),
  ADD KEY `ix_aftersales_type` (`merchant_id`,`type`,`created_at`);
