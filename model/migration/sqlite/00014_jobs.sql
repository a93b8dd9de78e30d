-- +goose Up
CREATE TABLE jobs (
  id integer PRIMARY KEY,
  merchant_id integer NOT NULL,
  kind text NOT NULL,
  state text NOT NULL,
  dry_run numeric NOT NULL,
  actor text NOT NULL,
  actor_name text NOT NULL,
  file_name text NOT NULL,
  input text NOT NULL,
  params text NOT NULL,
  total integer NOT NULL,
  done integer NOT NULL,
  failed integer NOT NULL,
  step integer NOT NULL,
  cursor_at integer NOT NULL,
  cursor_id integer NOT NULL,
  error text NOT NULL,
  lease_token text NOT NULL,
  lease_until integer NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL,
  started_at integer NOT NULL,
  ended_at integer NOT NULL
);
CREATE INDEX ix_jobs_merchant ON jobs(merchant_id);
CREATE INDEX ix_jobs_lease ON jobs(state,lease_until);
CREATE INDEX ix_jobs_ended ON jobs(ended_at);
CREATE TABLE job_rows (
  job_id integer NOT NULL,
  row_no integer NOT NULL,
  state text NOT NULL,
  line integer NOT NULL,
  subject text NOT NULL,
  outcome text NOT NULL,
  text_zh text NOT NULL,
  text_en text NOT NULL,
  bytes integer NOT NULL,
  PRIMARY KEY (job_id, row_no)
);
CREATE INDEX ix_job_rows_state ON job_rows(job_id,state,row_no);
