// Package audit checks the shop's invariants in one consistent snapshot of the database: that stock, coupons, money, states and
// messages agree with one another. It only reads, and may run while the shop does.
package audit

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/store"
)

// Options of an audit. Now is required.
type Options struct {
	// Now is the instant at which deadlines are judged.
	Now model.Time
	// OverdueAlarm is order.overdue_alarm_ms: how far past its deadline an unpaid order may be. 0 means 60 s.
	OverdueAlarm time.Duration
	// MessageRetention is how long messages are kept; 0 means event.Retention.
	MessageRetention time.Duration
}

const (
	defaultAlarm = 60 * time.Second
	// stuckAfter is how long a message may be due without anybody taking it.
	stuckAfter = 5 * time.Minute
	// retentionMargin is for clocks of replicas that differ.
	retentionMargin = time.Minute

	maxExamples = 10
	// spanIDs is how many ids one statement looks at: statements stay short on a large database, well within the time that a
	// connection waits for an answer.
	spanIDs = 20_000
)

// check is one invariant. It holds if none of its rules finds anything.
type check struct {
	id, name string
	rules    []rule
}

// rule finds what breaks an invariant in one way.
type rule struct {
	// broken says what is wrong with what is found.
	broken string
	// walks is the table whose ids limit the statement to @lo … @hi.
	walks string
	// sql selects one row with the column ref for each offender. Beside @lo and @hi it may use @overdue, @since (promised
	// messages are still there), @due (a message due before it is stuck) and @far (one due after it was put off for ever). Sums
	// are compared in the database, so only offenders are read. It is written in what MySQL, MariaDB and SQLite have in common.
	sql string
	// find is for what SQL of all databases cannot express.
	find func(db *gorm.DB, found func(ref string)) error
}

// checks are all invariants, in order.
func checks() []check {
	return []check{
		stockEqualsLedger(), linesMoveStockOnce(),
		couponsFollowOrders(), couponsWithinLimits(),
		amountsAddUp(), paidOnce(), refundsWithinPayments(),
		deadlinesKept(), versionsHaveEvents(), changesHaveMessages(),
		strayPaymentsGoBack(), merchantsApart(),
	}
}

// Run checks everything in one snapshot. The error is the database's; broken invariants are in the report.
func Run(ctx context.Context, s *store.Store, o Options) (Report, error) {
	var r Report
	err := s.Snapshot(ctx, func(db *gorm.DB) (err error) {
		r, err = runAll(db.WithContext(ctx), o)
		return err
	})
	return r, store.Classify(err)
}

func runAll(db *gorm.DB, o Options) (Report, error) {
	if o.OverdueAlarm == 0 {
		o.OverdueAlarm = defaultAlarm
	}
	if o.MessageRetention == 0 {
		o.MessageRetention = event.Retention
	}
	a := auditor{db: db, spans: map[string][]int64{}, params: map[string]any{
		"overdue": o.Now.Add(-o.OverdueAlarm), "since": o.Now.Add(retentionMargin - o.MessageRetention),
		"due": o.Now.Add(-stuckAfter), "far": o.Now.Add(stuckAfter),
	}}
	report := Report{OK: true}
	for _, c := range checks() {
		result := Check{ID: c.id, Name: c.name, Examples: []string{}}
		for _, r := range c.rules {
			f, err := a.run(r)
			if err != nil {
				return Report{}, fmt.Errorf("%s, %s: %w", c.id, r.broken, err)
			}
			result.add(f)
		}
		report.Checks = append(report.Checks, result)
		report.OK = report.OK && result.Violations == 0
	}
	return report, nil
}

type auditor struct {
	db     *gorm.DB
	spans  map[string][]int64 // where the spans of a table begin
	params map[string]any
}

func (a *auditor) run(r rule) (Finding, error) {
	f := Finding{Broken: r.broken, Examples: []string{}}
	if r.find != nil {
		err := r.find(a.db, f.found)
		return f, err
	}
	spans, err := a.spansOf(r.walks)
	if err != nil {
		return f, err
	}
	for _, lo := range spans {
		a.params["lo"], a.params["hi"] = lo, lo+spanIDs-1
		if err := a.span(r.sql, f.found); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (a *auditor) span(sql string, found func(ref string)) error {
	rows, err := a.db.Raw(sql, a.params).Rows()
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var ref string
		if err := rows.Scan(&ref); err != nil {
			return err
		}
		found(ref)
	}
	return rows.Err()
}

// spansOf returns where the spans of a table begin. Ids may have wide gaps, which are left out.
func (a *auditor) spansOf(table string) ([]int64, error) {
	if spans, ok := a.spans[table]; ok {
		return spans, nil
	}
	spans := []int64{}
	for after := int64(0); ; {
		var lo *int64
		if err := a.db.Raw("SELECT MIN(id) FROM "+table+" WHERE id > ?", after).Scan(&lo).Error; err != nil {
			return nil, err
		}
		if lo == nil {
			a.spans[table] = spans
			return spans, nil
		}
		spans = append(spans, *lo)
		after = *lo + spanIDs - 1
	}
}
