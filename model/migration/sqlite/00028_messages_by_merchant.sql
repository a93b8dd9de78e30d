-- The panel lists one merchant's messages, newest first, and counts them.
-- +goose Up
CREATE INDEX ix_messages_merchant ON messages(merchant_id, id);
