package timeout

import "context"

// settle stores the outcomes: failures in the database first, so that an
// acknowledgement never runs ahead of them, then the schedule. What cannot be
// stored comes again when its lease ends.
func (e *Engine) settle(l *lane, items []*item) {
	// Not the handler's context, which may have ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.force.ctx), leaseTime)
	defer cancel()
	now := e.clock.Now().UnixMilli()
	e.saveFailures(ctx, l, items, now)

	moves := make([]settlement, 0, len(items))
	for _, it := range items {
		if it.lease != 0 {
			moves = append(moves, settlement{it.key, it.lease, it.next(), it.whole})
		}
		e.count(l, it)
	}
	if _, err := e.settleRedis(ctx, l, moves); err != nil {
		e.log.Debug("outcomes wait for the lease to end", "kind", l.kind.Name, "tasks", len(moves), "err", err)
	}
	for _, it := range items {
		e.release(l, it)
	}
}

func (e *Engine) settleRedis(ctx context.Context, l *lane, moves []settlement) ([]bool, error) {
	if len(moves) == 0 {
		return nil, nil
	}
	return e.store.settle(ctx, l.kind.Name, moves)
}

// next is the score the schedule is to have, 0 for none.
func (it *item) next() float64 {
	switch it.outcome.verdict {
	case verdictReschedule:
		return float64(it.outcome.at)
	case verdictAhead, verdictFailed, verdictAgain:
		return backoffScore(it.outcome.at)
	default:
		return 0
	}
}

// release lets the item go, or keeps it in the process if it runs again
// soon, or if without Redis nothing else would know when.
func (e *Engine) release(l *lane, it *item) {
	next := it.next()
	if next == 0 {
		e.near.done(l, it)
		return
	}
	it.due = deadlineOf(next)
	if it.failure != nil && it.due == 0 {
		it.due = it.failure.Due
	}
	at := scoreInstant(next)
	alone := it.lease == 0 && at <= e.clock.Now().Add(nearHold).UnixMilli()
	if alone || at <= e.near.horizon() {
		e.near.back(l, it, at, alone)
		return
	}
	e.near.finish(l, it)
}

// saveFailures writes the rows of what failed or must wait, and deletes those
// of what has come through. A failure that cannot be written does not count.
func (e *Engine) saveFailures(ctx context.Context, l *lane, items []*item, now int64) {
	var failed, again []*Failure
	var failedItems []*item
	var through []string
	for _, it := range items {
		switch it.outcome.verdict {
		case verdictFailed:
			failed = append(failed, e.failureRow(l, it, now))
			failedItems = append(failedItems, it)
		case verdictAgain:
			again = append(again, e.againRow(l, it, now))
		case verdictDone, verdictReschedule:
			it.waits = 0
			if it.failure != nil {
				through = append(through, it.key)
			}
		}
	}
	if err := e.failures.save(ctx, failed); err != nil {
		for _, it := range failedItems {
			it.outcome = Again(err)
			e.againRow(l, it, now)
		}
		e.log.Warn("failures could not be stored and do not count", "kind", l.kind.Name, "tasks", len(failed), "err", err)
	} else {
		e.logFailures(l, failedItems)
	}
	// These two are for people and for a shorter way; a row that stays is
	// deleted with the next deadline.
	if err := e.failures.save(ctx, again); err != nil {
		e.log.Debug("waiting tasks could not be listed", "kind", l.kind.Name, "err", err)
	}
	if err := e.failures.clear(ctx, l.kind.Name, through); err != nil {
		e.log.Warn("failures of finished tasks could not be deleted", "kind", l.kind.Name, "err", err)
	}
}

func (e *Engine) logFailures(l *lane, items []*item) {
	for _, it := range items {
		if it.failure.DeadAt != 0 {
			it.outcome.verdict = verdictDead
			e.log.Error("task is dead", "kind", l.kind.Name, "key", it.key, "attempts", it.failure.Attempts, "err", it.outcome.err)
			e.metrics.dead.WithLabelValues(l.kind.Name).Inc()
			continue
		}
		e.log.Warn("task failed", "kind", l.kind.Name, "key", it.key, "attempts", it.failure.Attempts, "err", it.outcome.err)
	}
}

// row is the failure row of the item, carried on if it is about the same
// deadline.
func (it *item) row(l *lane, now int64) *Failure {
	row := &Failure{Kind: l.kind.Name, Key: it.key, Due: it.due, CreatedAt: now}
	if it.failure.appliesTo(it.due) {
		*row = *it.failure
	}
	if row.Due == 0 {
		row.Due = it.at
	}
	row.UpdatedAt = now
	if it.outcome.err != nil {
		row.Error = it.outcome.err.Error()
	}
	return row
}

// failureRow counts a failure and sets when the task runs again, if ever.
func (e *Engine) failureRow(l *lane, it *item, now int64) *Failure {
	row := it.row(l, now)
	row.Attempts++
	row.NextAt = now + failureBackoff(row.Attempts).Milliseconds() + 1
	if row.Attempts >= l.kind.MaxAttempts {
		row.DeadAt = now
	}
	it.outcome.at = row.NextAt
	it.failure = row
	return row
}

// againRow sets when a task runs again that is not to blame.
func (e *Engine) againRow(l *lane, it *item, now int64) *Failure {
	row := it.row(l, now)
	it.waits = max(it.waits, row.Waits) + 1
	row.Waits = it.waits
	row.NextAt = now + outageBackoff(it.waits).Milliseconds() + 1
	it.outcome.at = row.NextAt
	it.failure = row
	return row
}

// count records the result in the figures.
func (e *Engine) count(l *lane, it *item) {
	result := it.outcome.String()
	switch it.outcome.verdict {
	case verdictAhead:
		return
	case verdictDead:
		if it.outcome.err == nil {
			return // was dead before
		}
	case verdictFailed, verdictAgain:
		l.retries.Add(1)
		e.metrics.retries.WithLabelValues(l.kind.Name).Inc()
	}
	l.fired.Add(1)
	e.metrics.fired.WithLabelValues(l.kind.Name, result).Inc()
	if it.swept && (it.rescued || it.lease == 0) && it.outcome.verdict == verdictDone {
		l.rescued.Add(1)
		l.history.rescued(e.clock.Now().UnixMilli())
		e.metrics.rescued.WithLabelValues(l.kind.Name).Inc()
	}
}
