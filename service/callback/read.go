package callback

import (
	"context"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// Filter narrows the list; empty fields are all.
type Filter struct {
	MerchantID int64
	Unowned    bool // adds those that are about no order of ours, which concern the platform
	Kind       model.CallbackKind
	Verdict    model.CallbackVerdict
	OutTradeNo string
}

// Listed is a callback with the number of its order.
type Listed struct {
	model.Callback
	OrderNo string
}

// List returns up to limit callbacks that follow the cursor, newest first, and the cursor of the next page; nil at the end.
func (r *Recorder) List(ctx context.Context, f Filter, after store.Cursor, limit int) ([]Listed, *store.Cursor, error) {
	query, args := r.query(f, after, limit+1)
	var rows []Listed
	err := r.Store.Read(ctx).Raw("SELECT c.*, (SELECT no FROM orders WHERE id = c.order_id) AS order_no FROM ("+query+
		") c ORDER BY c.created_at DESC, c.id DESC LIMIT ?", append(args, limit+1)...).Scan(&rows).Error
	if err != nil {
		return nil, nil, store.Classify(err)
	}
	rows, next := store.Cut(rows, limit, func(c Listed) store.Cursor { return store.Cursor{At: c.CreatedAt, ID: c.ID} })
	return rows, next, nil
}

// query reads the head of the index for every combination that the filter leaves open: as many short looks as there are combinations,
// where one look would read all that the filter then drops.
func (r *Recorder) query(f Filter, after store.Cursor, limit int) (query string, args []any) {
	merchants := []int64{f.MerchantID}
	if f.Unowned {
		merchants = append(merchants, 0)
	}
	kinds, verdicts := model.CallbackKinds, model.CallbackVerdicts
	if f.Kind != "" {
		kinds = []model.CallbackKind{f.Kind}
	}
	if f.Verdict != "" {
		verdicts = []model.CallbackVerdict{f.Verdict}
	}
	further, more := "", []any{}
	if after != (store.Cursor{}) {
		further, more = " AND created_at <= ? AND (created_at < ? OR id < ?)", []any{after.At, after.At, after.ID}
	}
	if f.OutTradeNo != "" { // has few, by an index of its own
		return "SELECT * FROM wechat_callbacks WHERE out_trade_no = ? AND merchant_id IN ? AND kind IN ? AND verdict IN ?" + further,
			append([]any{f.OutTradeNo, merchants, kinds, verdicts}, more...)
	}
	force := ""
	if r.Store.Dialect() == store.MySQL {
		force = " FORCE INDEX (ix_wechat_callbacks_list)"
	}
	var parts []string
	for _, m := range merchants {
		for _, k := range kinds {
			for _, v := range verdicts {
				parts = append(parts, "SELECT * FROM (SELECT * FROM wechat_callbacks"+force+" WHERE merchant_id = ? AND kind = ? AND verdict = ?"+further+
					" ORDER BY created_at DESC, id DESC LIMIT ?) x")
				args = append(append(append(args, m, k, v), more...), limit)
			}
		}
	}
	return strings.Join(parts, " UNION ALL "), args
}

// Refused returns what was not verifiably WeChat's, by hour from since on, the oldest first.
func (r *Recorder) Refused(ctx context.Context, since model.Time) ([]model.CallbackRefusals, error) {
	var rows []model.CallbackRefusals
	err := r.Store.Read(ctx).Where("hour >= ?", hourOf(since)).Order("hour, kind, reason").Find(&rows).Error
	return rows, store.Classify(err)
}
