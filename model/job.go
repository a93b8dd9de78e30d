package model

// JobKind says what a job does.
type JobKind string

// Kinds of jobs.
const (
	JobShipBatch     JobKind = "ship_batch"
	JobProductImport JobKind = "product_import"
	JobProductExport JobKind = "product_export"
	JobOrderExport   JobKind = "order_export"
	JobRetime        JobKind = "retime"
)

// JobKinds lists all kinds.
var JobKinds = []JobKind{JobShipBatch, JobProductImport, JobProductExport, JobOrderExport, JobRetime}

// Exports reports whether the job writes a file.
func (k JobKind) Exports() bool { return k == JobProductExport || k == JobOrderExport }

// JobState is where a job stands.
type JobState string

// States of a job.
const (
	JobWaiting   JobState = "waiting"
	JobRunning   JobState = "running"
	JobDone      JobState = "done" // rows may have failed
	JobFailed    JobState = "failed"
	JobCancelled JobState = "cancelled" // what it did stays
)

// JobTransitions says how jobs go on. A running job that another replica takes over keeps its state.
var JobTransitions = Transitions[JobState]{
	JobWaiting: {JobRunning, JobCancelled},
	JobRunning: {JobDone, JobFailed, JobCancelled},
}

// JobsOpen are the states in which a job has not ended.
var JobsOpen = []JobState{JobWaiting, JobRunning}

// Job is long work that somebody asked for. It goes on in steps, each with its result in one transaction of its own, and keeps
// where it is, so that another replica can go on.
type Job struct {
	ID            int64    `gorm:"primaryKey;autoIncrement:false"`
	MerchantID    int64    `gorm:"not null;index:ix_jobs_merchant"` // 0 for one that is about everybody's things
	Kind          JobKind  `gorm:"size:24;not null"`
	State         JobState `gorm:"size:16;not null;index:ix_jobs_lease,priority:1"`
	DryRun        bool     `gorm:"not null"` // says what it would do and does nothing
	Actor         string   `gorm:"size:64;not null"`
	ActorName     string   `gorm:"size:64;not null"`                        // the admin's, when it was asked for
	FileName      string   `gorm:"size:120;not null"`                       // as the file was called that it reads; empty for one that reads none
	Input         string   `gorm:"size:120;not null"`                       // the file's key in the private store
	Params        string   `gorm:"type:text;not null"`                      // what an export is of, in JSON
	PolicyID      int64    `gorm:"not null;default:0;index:ix_jobs_policy"` // by which orders are re-timed, and its version
	PolicyVersion int64    `gorm:"not null;default:0"`
	Total         int64    `gorm:"not null"` // rows; those of a job without a file are counted when it starts
	Done          int64    `gorm:"not null"` // rows that have their result, failed ones too
	Failed        int64    `gorm:"not null"`
	Step          int64    `gorm:"not null"` // steps that committed: rows, or parts of an export
	CursorAt      Time     `gorm:"not null"` // where a job without a file goes on
	CursorID      int64    `gorm:"not null"`
	Error         string   `gorm:"size:255;not null"` // the code of what ended a failed job
	LeaseToken    string   `gorm:"size:40;not null"`
	LeaseUntil    Time     `gorm:"not null;index:ix_jobs_lease,priority:2"`
	CreatedAt     Time     `gorm:"not null;autoCreateTime:false"`
	UpdatedAt     Time     `gorm:"not null;autoUpdateTime:false"`
	StartedAt     Time     `gorm:"not null"`
	EndedAt       Time     `gorm:"not null;index:ix_jobs_ended"`
}

// JobRowState says whether a row of a job did what it says.
type JobRowState string

// States of a job's rows.
const (
	JobRowOK     JobRowState = "ok"
	JobRowFailed JobRowState = "failed"
)

// JobRow is the result of one row of a job, or one part of an export's file, written in the transaction of its effect.
type JobRow struct {
	JobID   int64       `gorm:"primaryKey;autoIncrement:false;index:ix_job_rows_state,priority:1"`
	RowNo   int64       `gorm:"primaryKey;autoIncrement:false;index:ix_job_rows_state,priority:3"` // from 1
	State   JobRowState `gorm:"size:16;not null;index:ix_job_rows_state,priority:2"`
	Line    int64       `gorm:"not null"`          // of the file, where the row begins; RowNo without one
	Subject string      `gorm:"size:255;not null"` // what it is about; of a part its key in the private store
	Outcome string      `gorm:"size:40;not null"`  // what was done, or the code of what failed
	TextZH  string      `gorm:"column:text_zh;type:text;not null"`
	TextEN  string      `gorm:"column:text_en;type:text;not null"`
	Bytes   int64       `gorm:"not null"` // of a part
}
