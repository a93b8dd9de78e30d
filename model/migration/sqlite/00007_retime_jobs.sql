-- +goose Up
CREATE TABLE retime_jobs (
  id integer PRIMARY KEY AUTOINCREMENT,
  policy_id integer NOT NULL,
  version integer NOT NULL,
  state text NOT NULL,
  seen integer NOT NULL,
  changed integer NOT NULL,
  skipped integer NOT NULL,
  cursor_due integer NOT NULL,
  cursor_id integer NOT NULL,
  actor text NOT NULL,
  error text NOT NULL,
  lease_token text NOT NULL,
  lease_until integer NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL,
  ended_at integer NOT NULL
);
CREATE INDEX ix_retime_jobs_policy ON retime_jobs(policy_id);
CREATE INDEX ix_retime_jobs_lease ON retime_jobs(state,lease_until);
