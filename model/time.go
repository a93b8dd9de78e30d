// Package model holds Tidemall's rows, typed states, money and time, and the tables of allowed transitions. It knows no
// database handle and no HTTP.
package model

import (
	"fmt"
	"time"
)

// Time is an instant in unix milliseconds, UTC. It is stored as a BIGINT in every database and written to JSON as RFC 3339
// with exactly three fractional digits. Zero means "not set" and is left out of JSON by omitempty.
type Time int64

const timeLayout = "2006-01-02T15:04:05.000Z"

// At converts a time.Time, dropping what is finer than a millisecond.
func At(t time.Time) Time { return Time(t.UnixMilli()) }

// CeilTime converts a time.Time, rounding up to the next millisecond. Deadlines are made with it, so that none fires early.
func CeilTime(t time.Time) Time {
	ms := t.UnixMilli()
	if time.UnixMilli(ms).Before(t) {
		ms++
	}
	return Time(ms)
}

// Std returns the instant as a time.Time in UTC.
func (t Time) Std() time.Time { return time.UnixMilli(int64(t)).UTC() }

// Add returns the instant d later; d is cut to whole milliseconds.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// Sub returns the duration from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Millisecond }

// IsZero reports whether the instant is not set.
func (t Time) IsZero() bool { return t == 0 }

// String returns the same text as JSON, without quotes.
func (t Time) String() string { return t.Std().Format(timeLayout) }

// MarshalText writes RFC 3339 UTC with exactly three fractional digits.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads RFC 3339 with any offset and any number of fractional digits.
func (t *Time) UnmarshalText(b []byte) error {
	v, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return fmt.Errorf("time %q is not RFC 3339, such as 2026-01-31T08:00:00.000Z", b)
	}
	*t = At(v)
	return nil
}
