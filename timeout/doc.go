// Package timeout acts on deadlines. For any kind of deadline it promises that
// the kind's handler is called within milliseconds of the instant while the
// process is up and never early; that kill -9 of any replica, loss of Redis
// with all its data and a restart of the database lose no deadline; and that
// one failing task never delays another.
//
// The truth is a deadline column of the owner's table, read through a Source.
// Everything above it is a hint that makes it fast: sorted sets in Redis, a
// timing wheel in the process, and where Redis is away the table itself feeds
// the wheel. A task may therefore be handed over more than once, and the
// handler's conditional update makes its effect happen once.
//
// The way of a task:
//
//	Schedule ─► sorted set ─► poller ─► wheel ─► worker: claim, handle, acknowledge
//	                ▲            ▲                  ▲
//	owner's table ──┴ look ──────┘ (Redis away)     └── sweep
//
// The package knows nothing of its users and imports none of their packages.
package timeout
