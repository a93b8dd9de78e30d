-- Has the attempts in the order in which WeChat is asked about them; of those that ended it knows no time.
-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `payment_attempts` ADD KEY `ix_payment_attempts_due` (`next_query_at`), DROP KEY `ix_payment_attempts_query`;
