package callback

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gorm.io/gorm/clause"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Start writes what was recorded and removes what is too old, until Stop.
func (r *Recorder) Start(ctx context.Context) error {
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	r.done = make(chan struct{})
	go func() {
		defer close(r.done)
		r.run(ctx)
	}()
	return nil
}

// Stop writes what is left and returns when that is done; when ctx ends first, its error is returned.
func (r *Recorder) Stop(ctx context.Context) error {
	if r.stop == nil {
		return nil
	}
	r.stop()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run is the goroutine. A batch that cannot be written is kept and tried again, while the queue fills and at last overflows.
func (r *Recorder) run(ctx context.Context) {
	clean := time.NewTimer(0)
	defer clean.Stop()
	var batch []model.Callback
	failing := false
	for ctx.Err() == nil {
		wait := retryPause
		if !failing {
			wait = gather
			select {
			case <-ctx.Done():
			case <-clean.C:
				r.cleaned(ctx)
				clean.Reset(cleanEvery)
				continue
			case <-r.wake:
			}
		}
		pause(ctx, wait)
		var err error
		batch, err = r.flush(context.WithoutCancel(ctx), batch)
		if err != nil && !failing {
			r.Log.WarnContext(ctx, "callbacks cannot be written down for the moment", "error", err)
		}
		failing = err != nil
	}
	if batch, err := r.flush(context.WithoutCancel(ctx), batch); err != nil {
		r.dropped.Add(float64(len(batch) + len(r.queue)))
		r.Log.WarnContext(ctx, "the last callbacks could not be written down", "error", err)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// flush writes everything that waits, first the batch, and returns the batch that could not be written.
func (r *Recorder) flush(ctx context.Context, batch []model.Callback) ([]model.Callback, error) {
	if err := r.writeRefusals(ctx); err != nil {
		return batch, err
	}
	for {
		for len(batch) < batchRows && len(r.queue) > 0 {
			batch = append(batch, <-r.queue) // this goroutine alone takes
		}
		if len(batch) == 0 {
			return nil, nil
		}
		if err := r.write(ctx, batch); err != nil {
			return batch, err
		}
		batch = nil
	}
}

// write writes a batch in one transaction. Rows are in the order of their key, so that replicas do not wait for each other in circles.
func (r *Recorder) write(ctx context.Context, batch []model.Callback) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	if err := r.attribute(ctx, batch); err != nil {
		return err
	}
	slices.SortStableFunc(batch, func(a, b model.Callback) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.NoticeID, b.NoticeID), cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(a.Reason, b.Reason))
	})
	return r.Store.Tx(ctx, func(tx *store.Tx) error {
		for i := range batch {
			row := batch[i] // Create sets the id
			if err := tx.Clauses(again("wechat_callbacks", "kind", "notice_id", "verdict", "reason", "status", "took_ms", "request_id", "last_at")).Create(&row).Error; err != nil {
				return err
			}
		}
		return nil
	})
}

// again counts on the row that is there, whose first columns are its key, and takes the further columns from the new one.
func again(table string, columns ...string) clause.OnConflict {
	const keys = 4
	on := clause.OnConflict{}
	for _, c := range columns[:keys] {
		on.Columns = append(on.Columns, clause.Column{Name: c})
	}
	on.DoUpdates = append(clause.Assignments(map[string]any{"count": clause.Expr{SQL: table + ".count + 1"}}), clause.AssignmentColumns(columns[keys:])...)
	return on
}

// attribute finds the order, and by it the merchant, that each callback of the batch is about.
func (r *Recorder) attribute(ctx context.Context, batch []model.Callback) error {
	var numbers []string
	for _, c := range batch {
		if c.OutTradeNo != "" {
			numbers = append(numbers, c.OutTradeNo)
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	var rows []model.PaymentAttempt
	err := r.Store.Read(ctx).Select("out_trade_no", "order_id", "merchant_id").Where("out_trade_no IN ?", numbers).Find(&rows).Error
	if err != nil {
		return store.Classify(err)
	}
	byNo := make(map[string]model.PaymentAttempt, len(rows))
	for _, a := range rows {
		byNo[a.OutTradeNo] = a
	}
	for i := range batch {
		a := byNo[batch[i].OutTradeNo]
		batch[i].OrderID, batch[i].MerchantID = a.OrderID, a.MerchantID
	}
	return nil
}

// writeRefusals adds what was counted to the figures; what cannot be written is counted on.
func (r *Recorder) writeRefusals(ctx context.Context) error {
	r.mu.Lock()
	counted := r.refusals
	r.refusals = map[refusal]*model.CallbackRefusals{}
	r.mu.Unlock()
	if len(counted) == 0 {
		return nil
	}
	rows := make([]*model.CallbackRefusals, 0, len(counted))
	for _, row := range counted {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b *model.CallbackRefusals) int {
		return cmp.Or(cmp.Compare(a.Hour, b.Hour), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Reason, b.Reason))
	})
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	err := r.Store.Tx(ctx, func(tx *store.Tx) error {
		onDuplicate := " ON DUPLICATE KEY UPDATE count = count + VALUES(count), last_at = VALUES(last_at), last_ip = VALUES(last_ip)"
		if tx.Dialect() == store.SQLite {
			onDuplicate = " ON CONFLICT (hour, kind, reason) DO UPDATE SET count = count + excluded.count, last_at = excluded.last_at, last_ip = excluded.last_ip"
		}
		for _, row := range rows {
			err := tx.Exec("INSERT INTO wechat_callback_refusals (hour, kind, reason, count, last_at, last_ip) VALUES (?, ?, ?, ?, ?, ?)"+onDuplicate,
				row.Hour, row.Kind, row.Reason, row.Count, row.LastAt, row.LastIP).Error
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.keep(counted)
	}
	return err
}

// keep counts on what could not be written. Hours that are past the retention by then go, so that a long outage holds no more.
func (r *Recorder) keep(counted map[refusal]*model.CallbackRefusals) {
	before := r.Now().Add(-Retention)
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, row := range counted {
		if newer := r.refusals[key]; newer != nil {
			newer.Count += row.Count
		} else if key.hour >= before {
			r.refusals[key] = row
		}
	}
}
