package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/inventory"
	"github.com/tidemall/tidemall/service/store"
)

// SKUs has the operations of stock.
type SKUs struct {
	Service interface {
		ChangeStock(ctx context.Context, merchantID int64, actor, key string, change catalog.StockChange) (int64, error)
		Ledger(ctx context.Context, merchantID, skuID int64, page store.Page) ([]inventory.Entry, int64, error)
		LedgerAfter(ctx context.Context, merchantID, skuID int64, after store.Cursor, limit int) ([]inventory.Entry, *store.Cursor, error)
	}
}

// StockBody is a change of stock.
type StockBody struct {
	Delta  int64  `json:"delta" minimum:"-999999999" maximum:"999999999" doc:"How many pieces more, or less where negative; not 0"`
	Reason string `json:"reason" minLength:"1" maxLength:"100"`
}

// StockInput changes the stock of a SKU.
type StockInput struct {
	api.IDPath
	api.IdempotencyKey

	Body StockBody
}

// Stock is what is left of a SKU.
type Stock struct {
	ID    int64 `json:"id" doc:"Of the SKU"`
	Stock int64 `json:"stock"`
}

// ChangeStock changes the stock of a SKU.
func (s *SKUs) ChangeStock(ctx context.Context, in *StockInput) (*api.Reply[Stock], error) {
	key, err := in.Optional()
	if err != nil {
		return nil, err
	}
	change := catalog.StockChange{SKUID: in.ID, Delta: in.Body.Delta, Reason: in.Body.Reason}
	stock, err := s.Service.ChangeStock(ctx, api.Admin(ctx).MerchantID, api.Caller(ctx), key, change)
	if err != nil {
		return nil, err
	}
	return api.Body(Stock{ID: in.ID, Stock: stock}), nil
}

// LedgerEntry is one change of a SKU's stock.
type LedgerEntry struct {
	ID        int64            `json:"id"`
	Kind      model.LedgerKind `json:"kind" enum:"initial,adjust,reserve,release,return"`
	Delta     int64            `json:"delta"`
	OrderID   int64            `json:"order_id,omitempty" doc:"The order behind it"`
	OrderNo   string           `json:"order_no,omitempty" doc:"Its number"`
	Reason    string           `json:"reason,omitempty"`
	Actor     string           `json:"actor" doc:"Who did it" example:"admin:3"`
	CreatedAt model.Time       `json:"created_at" format:"date-time"`
}

// LedgerInput asks for a page of a SKU's ledger.
type LedgerInput struct {
	api.IDPath
	api.DeepInput
}

// Ledger lists the changes of a SKU's stock, the newest first.
func (s *SKUs) Ledger(ctx context.Context, in *LedgerInput) (*api.Reply[api.Deep[LedgerEntry]], error) {
	merchantID := api.Admin(ctx).MerchantID
	rows, next, total, err := api.DeepRows(ctx, in.DeepInput,
		func(ctx context.Context, after store.Cursor, limit int) ([]inventory.Entry, *store.Cursor, error) {
			return s.Service.LedgerAfter(ctx, merchantID, in.ID, after, limit)
		},
		func(ctx context.Context, p store.Page) ([]inventory.Entry, int64, error) {
			return s.Service.Ledger(ctx, merchantID, in.ID, p)
		},
		func(e inventory.Entry) store.Cursor { return store.Cursor{At: e.CreatedAt, ID: e.ID} })
	if err != nil {
		return nil, err
	}
	entries := make([]LedgerEntry, len(rows))
	for i, e := range rows {
		entries[i] = LedgerEntry{
			ID: e.ID, Kind: e.Kind, Delta: e.Delta, OrderID: e.OrderID, OrderNo: e.OrderNo, Reason: e.Reason, Actor: e.Actor, CreatedAt: e.CreatedAt,
		}
	}
	return api.NewDeep(entries, next, total, in.DeepInput), nil
}
