-- Has the attempts in the order in which WeChat is asked about them; of those that ended it knows no time.
-- +goose Up
DROP INDEX ix_payment_attempts_query;
CREATE INDEX ix_payment_attempts_due ON payment_attempts(next_query_at);
