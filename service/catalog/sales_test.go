package catalog_test

import (
	"fmt"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/event"
)

func TestSalesAreCountedOnce(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		mug, hat := sh.add(t, catalog.Draft{Name: "杯子"}), sh.add(t, catalog.Draft{Name: "帽子"})
		lines := []model.OrderLine{
			{ID: 1, OrderID: 7, LineNo: 1, ProductID: mug.ID, Quantity: 2},
			{ID: 2, OrderID: 7, LineNo: 2, ProductID: mug.ID, Quantity: 3},
			{ID: 3, OrderID: 7, LineNo: 3, ProductID: hat.ID, Quantity: 1},
			{ID: 4, OrderID: 8, LineNo: 1, ProductID: hat.ID, Quantity: 9},
		}
		for i := range lines {
			lines[i].Specs = map[string]string{}
		}
		if err := sh.store.Read(t.Context()).Create(&lines).Error; err != nil {
			t.Fatal(err)
		}
		counter := sh.SalesCounter()
		paid := event.Message{ID: 5, Topic: counter.Topic, Payload: fmt.Appendf(nil, `{"order_id":7}`)}
		for range 2 { // the relay delivers at least once
			if err := counter.Handle(t.Context(), paid); err != nil {
				t.Fatal(err)
			}
		}
		rows, _, err := sh.List(t.Context(), catalog.Filter{Sort: catalog.SortSales}, firstPage)
		if err != nil || rows[0].ID != mug.ID || rows[0].Sales != 5 || rows[1].Sales != 1 {
			t.Errorf("sales are %d and %d (%v), want 5 and 1, the best seller first", rows[0].Sales, rows[1].Sales, err)
		}
	})
}
