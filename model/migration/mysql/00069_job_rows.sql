-- +goose NO TRANSACTION
-- +goose Up
-- The key makes a row's result unique; ix_job_rows_state serves the list of the rows that failed.
CREATE TABLE `job_rows` (
  `job_id` bigint NOT NULL,
  `row_no` bigint NOT NULL,
  `state` varchar(16) NOT NULL,
  `line` bigint NOT NULL,
  `subject` varchar(255) COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `outcome` varchar(40) NOT NULL,
  `text_zh` text COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `text_en` text COLLATE utf8mb4_unicode_520_ci NOT NULL,
  `bytes` bigint NOT NULL,
  PRIMARY KEY (`job_id`,`row_no`),
  KEY `ix_job_rows_state` (`job_id`,`state`,`row_no`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
