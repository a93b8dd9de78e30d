-- The upload is of the order, not of the parcel.
-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE `parcels` DROP KEY `ix_parcels_upload`, DROP COLUMN `upload_next_at`;
