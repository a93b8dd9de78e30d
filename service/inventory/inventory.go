// Package inventory keeps stock: every change of a SKU's stock is made together with its entry in the stock ledger, in the
// caller's transaction. Stock rows are the hottest of the shop, so callers touch them last, and here always in id order.
package inventory

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// ErrShort says that stock does not cover what is to be taken. The transaction must be rolled back: other SKUs of the same
// call may have been taken already. Short tells which ones were missing.
var ErrShort = errors.New("inventory: stock is short")

// Reserve adds to the batch that the lines' quantities are taken from stock. Sending it is ErrShort if any SKU has less.
func Reserve(b *store.Batch, lines []model.OrderLine, actor string, now model.Time) {
	record(b, model.LedgerReserve, 0, lines, actor, "", now)
	sums := perSKU(lines)
	cases, args := caseOf(sums)
	b.Expect(int64(len(sums)), ErrShort,
		"UPDATE skus SET stock = stock - "+cases+", updated_at = ? WHERE id IN ("+marks(len(sums))+") AND stock >= "+cases,
		slices.Concat(args, []any{now}, idsOf(sums), args)...)
}

// Release gives the full quantities of closed orders' lines back: one ledger entry a line, stock added once per SKU. A line
// that was released before fails on the ledger's unique key, and with it the whole transaction.
func Release(tx *store.Tx, lines []model.OrderLine, actor, reason string, now model.Time) error {
	return give(tx, model.LedgerRelease, 0, lines, actor, reason, now)
}

// Return gives back what a refund returns to the shelf; each line's Quantity is the returned one. Once per line and refund.
func Return(tx *store.Tx, refundID int64, lines []model.OrderLine, actor, reason string, now model.Time) error {
	return give(tx, model.LedgerReturn, refundID, lines, actor, reason, now)
}

// Open records the initial stock of SKUs that were just inserted with it.
func Open(tx *store.Tx, skus []model.SKU, actor string, now model.Time) error {
	entries := make([]model.LedgerEntry, len(skus))
	for i, k := range skus {
		entries[i] = model.LedgerEntry{MerchantID: k.MerchantID, SKUID: k.ID, Kind: model.LedgerInitial, Delta: k.Stock, Actor: actor, CreatedAt: now}
	}
	if len(entries) == 0 {
		return nil
	}
	return tx.CreateInBatches(&entries, 200).Error
}

// Adjust changes a SKU's stock by delta and returns the new stock. not_found if the merchant has no such SKU,
// stock_insufficient if stock would fall below zero.
func Adjust(tx *store.Tx, merchantID, skuID, delta int64, reason, actor string, now model.Time) (int64, error) {
	n, err := tx.Affected("UPDATE skus SET stock = stock + ?, updated_at = ? WHERE id = ? AND merchant_id = ? AND deleted_at = 0 AND stock + ? >= 0",
		delta, now, skuID, merchantID, delta)
	if err != nil {
		return 0, err
	}
	var stock []int64
	if err := tx.Raw("SELECT stock FROM skus WHERE id = ? AND merchant_id = ? AND deleted_at = 0", skuID, merchantID).Scan(&stock).Error; err != nil {
		return 0, err
	}
	switch {
	case len(stock) == 0:
		return 0, fault.New(fault.NotFoundError)
	case n == 0:
		return 0, fault.New(fault.StockInsufficient).With("delta", fault.FieldStock, "库存会变成负数", "would take stock below zero")
	}
	entry := model.LedgerEntry{MerchantID: merchantID, SKUID: skuID, Kind: model.LedgerAdjust, Delta: delta, Reason: reason, Actor: actor, CreatedAt: now}
	return stock[0], tx.Create(&entry).Error
}

// Short returns those of the SKUs that have less stock than wanted, with the stock they have. A SKU that is gone has 0.
func Short(db *gorm.DB, want map[int64]int64) (map[int64]int64, error) {
	var rows []struct{ ID, Stock int64 }
	ids := make([]int64, 0, len(want))
	for id := range want {
		ids = append(ids, id)
	}
	if err := db.Raw("SELECT id, stock FROM skus WHERE id IN ? AND deleted_at = 0", ids).Scan(&rows).Error; err != nil {
		return nil, store.Classify(err)
	}
	short := map[int64]int64{}
	for _, id := range ids {
		short[id] = 0
	}
	for _, r := range rows {
		if r.Stock >= want[r.ID] {
			delete(short, r.ID)
		} else {
			short[r.ID] = r.Stock
		}
	}
	return short, nil
}

// errGone says that a SKU to give stock back to does not exist; no SKU that was ever sold is deleted.
var errGone = errors.New("inventory: a SKU to give stock back to does not exist")

// give records that the lines' quantities come back and raises stock once per SKU, in id order.
func give(tx *store.Tx, kind model.LedgerKind, refundID int64, lines []model.OrderLine, actor, reason string, now model.Time) error {
	var b store.Batch
	record(&b, kind, refundID, lines, actor, reason, now)
	for some := range slices.Chunk(perSKU(lines), 500) {
		cases, args := caseOf(some)
		b.Expect(int64(len(some)), errGone, "UPDATE skus SET stock = stock + "+cases+", updated_at = ? WHERE id IN ("+marks(len(some))+")",
			slices.Concat(args, []any{now}, idsOf(some))...)
	}
	return tx.Send(&b)
}

// record adds one ledger entry a line; reserve takes, everything else gives.
func record(b *store.Batch, kind model.LedgerKind, refundID int64, lines []model.OrderLine, actor, reason string, now model.Time) {
	sign := int64(1)
	if kind == model.LedgerReserve {
		sign = -1
	}
	const columns = 10
	row := ", (" + marks(columns) + ")"
	for some := range slices.Chunk(lines, 500) {
		args := make([]any, 0, len(some)*columns)
		for _, l := range some {
			args = append(args, l.MerchantID, l.SKUID, kind, sign*l.Quantity, l.OrderID, l.ID, refundID, reason, actor, now)
		}
		b.Add("INSERT INTO stock_ledger (merchant_id, sku_id, kind, delta, order_id, line_id, refund_id, reason, actor, created_at) VALUES "+
			strings.Repeat(row, len(some))[2:], args...)
	}
}

type skuSum struct{ id, quantity int64 }

func perSKU(lines []model.OrderLine) []skuSum {
	at := map[int64]int{}
	var sums []skuSum
	for _, l := range lines {
		i, ok := at[l.SKUID]
		if !ok {
			i = len(sums)
			at[l.SKUID] = i
			sums = append(sums, skuSum{id: l.SKUID})
		}
		sums[i].quantity += l.Quantity
	}
	slices.SortFunc(sums, func(a, b skuSum) int { return int(a.id - b.id) })
	return sums
}

// caseOf is the quantity of each SKU as an expression. SKUs of one quantity share a list, which the server searches in its sort
// order; a WHEN for each SKU it would try one after the other, for each row.
func caseOf(sums []skuSum) (string, []any) {
	same := map[int64][]any{}
	for _, s := range sums {
		same[s.quantity] = append(same[s.quantity], s.id)
	}
	expression, args := "CASE", make([]any, 0, len(sums)+len(same))
	for _, quantity := range slices.Sorted(maps.Keys(same)) {
		expression += " WHEN id IN (" + marks(len(same[quantity])) + ") THEN ?"
		args = append(append(args, same[quantity]...), quantity)
	}
	return expression + " END", args
}

func idsOf(sums []skuSum) []any {
	ids := make([]any, len(sums))
	for i, s := range sums {
		ids[i] = s.id
	}
	return ids
}

func marks(n int) string { return strings.Repeat(", ?", n)[2:] }
