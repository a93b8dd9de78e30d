package model

// RetimeState is where a re-timing stands.
type RetimeState string

// States of a re-timing.
const (
	RetimeRunning   RetimeState = "running"
	RetimeDone      RetimeState = "done"
	RetimeFailed    RetimeState = "failed"
	RetimeCancelled RetimeState = "cancelled" // by a person, or because the policy was changed meanwhile
)

// RetimeJob is the work of giving the orders that wait the deadlines that a version of a policy says. It goes through them in the
// order of their deadlines and keeps where it is, so that another replica can go on.
type RetimeJob struct {
	ID         int64       `gorm:"primaryKey"`
	PolicyID   int64       `gorm:"not null;index:ix_retime_jobs_policy"`
	Version    int64       `gorm:"not null"` // of the policy
	State      RetimeState `gorm:"size:16;not null;index:ix_retime_jobs_lease,priority:1"`
	Seen       int64       `gorm:"not null"` // orders that were looked at
	Changed    int64       `gorm:"not null"` // orders that got another deadline
	Skipped    int64       `gorm:"not null"` // orders that were to get one and could not: busy, paid, or WeChat did not answer
	CursorDue  Time        `gorm:"not null"`
	CursorID   int64       `gorm:"not null"`
	Actor      string      `gorm:"size:64;not null"` // who asked for it
	Error      string      `gorm:"size:255;not null"`
	LeaseToken string      `gorm:"size:40;not null"`
	LeaseUntil Time        `gorm:"not null;index:ix_retime_jobs_lease,priority:2"`
	CreatedAt  Time        `gorm:"not null;autoCreateTime:false"`
	UpdatedAt  Time        `gorm:"not null;autoUpdateTime:false"`
	EndedAt    Time        `gorm:"not null"`
}
