package account

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemall/tidemall/service/store"
)

const (
	resealRows  = 500
	resealPause = 100 * time.Millisecond
	resealRetry = 30 * time.Second
)

// part is one goroutine with a start and a stop.
type part struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func (p *part) start(ctx context.Context, run func(context.Context)) {
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.done = make(chan struct{})
	go func() {
		defer close(p.done)
		run(ctx)
	}()
}

func (p *part) stop() {
	if p.done != nil {
		p.cancel()
		<-p.done
	}
}

// sealedTexts is one column that a secret seals.
type sealedTexts struct {
	table, key, column string
	by                 sealer
	owner              func(id int64) string
}

func (a *Accounts) sealedTexts() []sealedTexts {
	return []sealedTexts{
		{"admin_totps", "admin_id", "secret_cipher", a.keys.totp, adminOwner},
		{"shoppers", "id", "phone_cipher", a.keys.phone, shopperOwner},
	}
}

// reseal seals anew every phone number and every secret of a second factor that a former secret sealed, a page of rows at a time
// with a pause after each, and ends when it has seen all of them. Replicas that do so at once do no harm, and one that stops
// halfway begins anew at its next start.
func (a *Accounts) reseal(ctx context.Context) {
	var total resealed
	for _, texts := range a.sealedTexts() {
		for after := int64(0); ; {
			page, err := a.resealPage(ctx, texts, after)
			pause := resealPause
			if err != nil {
				a.log.WarnContext(ctx, "what a former secret sealed could not be sealed anew; tried again", "table", texts.table, "error", err)
				pause, page.last = resealRetry, after
			} else if page.last == 0 {
				break
			}
			total.resealed, total.closed, after = total.resealed+page.resealed, total.closed+page.closed, page.last
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	}
	a.log.InfoContext(ctx, "nothing is left that a former secret sealed; secret_previous can be emptied once every replica has the present secret",
		"resealed", total.resealed, "unreadable", total.closed)
}

// resealed is what became of a page of rows.
type resealed struct {
	last     int64 // key of the last row; 0 where there was none
	resealed int64
	closed   int64 // texts that no known secret opens
}

func (a *Accounts) resealPage(ctx context.Context, texts sealedTexts, after int64) (page resealed, err error) {
	var rows []struct {
		ID     int64
		Sealed string
	}
	err = a.store.Read(ctx).Raw(fmt.Sprintf("SELECT %[1]s AS id, %[2]s AS sealed FROM %[3]s WHERE %[1]s > ? ORDER BY %[1]s LIMIT ?",
		texts.key, texts.column, texts.table), after, resealRows).Scan(&rows).Error
	if err != nil {
		return page, store.Classify(err)
	}
	// Whoever set another text meanwhile sealed it with the present secret.
	update := fmt.Sprintf("UPDATE %[3]s SET %[2]s = ? WHERE %[1]s = ? AND %[2]s = ?", texts.key, texts.column, texts.table)
	err = a.store.Tx(ctx, func(tx *store.Tx) error {
		page = resealed{}
		for _, row := range rows {
			page.last = row.ID
			if row.Sealed == "" || texts.by.present(row.Sealed) {
				continue
			}
			text, err := texts.by.open(texts.owner(row.ID), row.Sealed)
			if err != nil {
				page.closed++
				continue
			}
			n, err := tx.Affected(update, texts.by.seal(texts.owner(row.ID), text), row.ID, row.Sealed)
			if err != nil {
				return err
			}
			page.resealed += n
		}
		return nil
	})
	if err != nil {
		return resealed{}, err
	}
	return page, nil
}
