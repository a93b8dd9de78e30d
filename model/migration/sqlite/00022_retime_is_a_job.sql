-- Re-timings are jobs like the others: the policy, and its version, by which a job re-times orders.
-- +goose Up
ALTER TABLE jobs ADD COLUMN policy_id integer NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN policy_version integer NOT NULL DEFAULT 0;
CREATE INDEX ix_jobs_policy ON jobs(policy_id);
DROP TABLE retime_jobs;
