package reconcile

import (
	"context"
	"errors"

	"gorm.io/gorm/clause"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

// batchRows is how many rows are stored by one statement, and deleted.
const batchRows = 500

// errPause stops the reading of a bill where the time is up.
var errPause = errors.New("reconcile: the step's time is up")

// fetch downloads the bill, which has been verified by then, and stores its rows. whole is false where the time was up first: the
// next step downloads the same file, known by its hash, and goes on behind the rows that are stored.
func (s *Service) fetch(ctx context.Context, b *model.Bill, more func() bool) (whole bool, err error) {
	file, err := s.WeChat.TradeBill(ctx, Day(b.ID).Date(), wechat.BillAll)
	switch {
	case wechat.KindOf(err) == wechat.KindNoBill:
		return s.fetchNothing(ctx, b, err)
	case err != nil:
		return false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	failpoint.Hit("bill.fetched")
	if b.State != model.BillImporting || b.Hash != file.Hash {
		err := s.move(ctx, b, model.BillImporting, map[string]any{"hash": file.Hash, "run": b.Run + 1, "imported": 0, "error": ""})
		if err != nil {
			return false, err
		}
	}
	if err := s.store(ctx, b, file, more); err != nil {
		if errors.Is(err, errPause) {
			return false, nil
		}
		return false, err
	}
	failpoint.Hit("bill.imported")
	return true, s.imported(ctx, b)
}

// fetchNothing records that WeChat knows of nothing on the day, unless the shop knows better. WeChat does not sign what it refuses.
func (s *Service) fetchNothing(ctx context.Context, b *model.Bill, said error) (bool, error) {
	known, err := s.known(ctx, Day(b.ID))
	if err != nil {
		return false, err
	}
	if known != "" {
		return false, &wechat.Error{Op: "trade bill", Kind: wechat.KindBusy, Message: known + "; " + said.Error()}
	}
	err = s.change(ctx, b, map[string]any{"hash": "", "run": b.Run + 1, "imported": 0, "error": ""})
	if err != nil {
		return false, err
	}
	return true, s.imported(ctx, b)
}

// known says what speaks against a day of which WeChat says that it has no bill; empty if nothing does. Rows of a bill that was
// verified do for good: the bill was signed for. What the shop itself recorded does until the bill is overdue, and is then missing in it.
func (s *Service) known(ctx context.Context, day Day) (string, error) {
	from, until := day.Start(), day.Add(1).Start()
	var has struct{ Billed, Recorded bool }
	err := s.Store.Read(ctx).Raw(`SELECT EXISTS (SELECT 1 FROM bill_rows WHERE day = ?) AS billed,
			(EXISTS (SELECT 1 FROM payments WHERE paid_at >= ? AND paid_at < ?) OR
			EXISTS (SELECT 1 FROM refunds WHERE ended_at >= ? AND ended_at < ? AND state = ? AND amount_fen > 0)) AS recorded`,
		day, from, until, from, until, model.RefundSuccess).Scan(&has).Error
	switch {
	case err != nil:
		return "", store.Classify(err)
	case has.Billed:
		return "WeChat has given a bill of the day already", nil
	case has.Recorded && !s.overdue(day):
		return "the shop has payments or refunds of the day", nil
	}
	return "", nil
}

// store stores the rows of the file that are not stored yet, in batches; each is counted in the transaction that stores it.
func (s *Service) store(ctx context.Context, b *model.Bill, file *wechat.Bill, more func() bool) error {
	done, seen := b.Imported, int64(0)
	batch := make([]model.BillRow, 0, batchRows)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := s.Store.Tx(ctx, func(tx *store.Tx) error {
			rows := distinct(batch)
			if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&rows).Error; err != nil {
				return err
			}
			return s.changeIn(tx, b, map[string]any{"imported": seen, "next_at": s.Now().Add(lease)})
		})
		batch = batch[:0]
		failpoint.Hit("bill.stored")
		return err
	}
	err := file.Rows(func(r wechat.BillRow) error {
		if seen++; seen <= done {
			return nil
		}
		batch = append(batch, stored(b, r))
		if len(batch) < batchRows {
			return nil
		}
		if err := flush(); err != nil {
			return err
		}
		if !more() {
			return errPause
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// distinct drops from a batch what a later row of it replaces.
func distinct(batch []model.BillRow) []model.BillRow {
	type key struct {
		kind   model.BillRowKind
		number string
	}
	at := make(map[key]int, len(batch))
	out := make([]model.BillRow, 0, len(batch))
	for _, r := range batch {
		k := key{r.Kind, r.Number}
		if i, again := at[k]; again {
			out[i] = r
			continue
		}
		at[k] = len(out)
		out = append(out, r)
	}
	return out
}

// stored is a row of the file as it is kept. What is longer than its column is no number of ours.
func stored(b *model.Bill, r wechat.BillRow) model.BillRow {
	row := model.BillRow{
		Day: b.ID, Kind: model.BillPayment, Number: cut(r.TransactionID, 64), Run: b.Run, LineNo: r.Line, At: model.At(r.At),
		AppID: cut(r.AppID, 64), MchID: cut(r.MchID, 64), TransactionID: cut(r.TransactionID, 64), OutTradeNo: cut(r.OutTradeNo, 64),
		Currency: cut(r.Currency, 16), AmountFen: model.Fen(r.AmountFen), CouponFen: model.Fen(r.CouponFen), Status: cut(r.State, 16),
	}
	if r.IsRefund() {
		row.Kind, row.Number, row.RefundID = model.BillRefund, cut(r.OutRefundNo, 64), cut(r.RefundID, 64)
		row.AmountFen, row.Status = model.Fen(r.RefundFen), cut(r.RefundStatus, 16)
		if row.Number == "" { // made in WeChat's console, perhaps
			row.Number = row.RefundID
		}
	}
	return row
}

// imported ends the import: rows of former imports that this one does not have go, the sums are taken, and the comparison begins.
func (s *Service) imported(ctx context.Context, b *model.Bill) error {
	if err := s.purge(ctx, Day(b.ID), b.Run); err != nil {
		return err
	}
	var sums []struct {
		Kind model.BillRowKind
		N    int64
		Fen  model.Fen
	}
	err := s.Store.Read(ctx).Raw("SELECT kind, COUNT(*) AS n, SUM(amount_fen) AS fen FROM bill_rows WHERE day = ? GROUP BY kind", b.ID).Scan(&sums).Error
	if err != nil {
		return store.Classify(err)
	}
	set := map[string]any{
		"payments": 0, "payment_fen": 0, "refunds": 0, "refund_fen": 0, "differences": 0, "compare_step": 0, "compare_after": "", "error": "",
		"next_at": s.Now().Add(lease),
	}
	for _, sum := range sums {
		if sum.Kind == model.BillPayment {
			set["payments"], set["payment_fen"] = sum.N, sum.Fen
		} else {
			set["refunds"], set["refund_fen"] = sum.N, sum.Fen
		}
	}
	return s.move(ctx, b, model.BillComparing, set)
}

// purge deletes the rows of a day that are of another run, in pages.
func (s *Service) purge(ctx context.Context, day Day, run int64) error {
	for {
		var rows []model.BillRow
		err := s.Store.Read(ctx).Select("kind", "number").Where("day = ? AND run <> ?", day, run).Order("kind, number").Limit(batchRows).Find(&rows).Error
		if err != nil || len(rows) == 0 {
			return store.Classify(err)
		}
		numbers := map[model.BillRowKind][]string{}
		for _, r := range rows {
			numbers[r.Kind] = append(numbers[r.Kind], r.Number)
		}
		err = s.Store.Tx(ctx, func(tx *store.Tx) error {
			for kind, these := range numbers {
				if err := tx.Exec("DELETE FROM bill_rows WHERE day = ? AND kind = ? AND number IN ? AND run <> ?", day, kind, these, run).Error; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}
