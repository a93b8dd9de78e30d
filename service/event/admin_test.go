package event

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// The panel's list of a merchant reads that one's messages and counts them by an index, newest first as they are in it, however
// many others have.
func TestMessagesOfAMerchantAreReadByTheirIndex(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		c := newClock()
		r := idle(t, s, c)
		put(t, s, c, "order:1", 1)
		others := make([]New, 2000)
		for i := range others {
			others[i] = New{Topic: "order.paid", Key: "order:2", Seq: int64(i + 1), MerchantID: merchant + 1, At: c.now()}
		}
		if err := s.Tx(t.Context(), func(tx *store.Tx) error { return Append(tx, others...) }); err != nil {
			t.Fatal(err)
		}
		put(t, s, c, "order:1", 2, 3)
		explain := "EXPLAIN QUERY PLAN "
		if s.Dialect() == store.MySQL {
			explain = "EXPLAIN "
			var ignored []map[string]any
			if err := s.Read(t.Context()).Raw("ANALYZE TABLE messages").Scan(&ignored).Error; err != nil {
				t.Fatal(err)
			}
		}
		var asked []string
		db := s.Read(t.Context())
		err := db.Callback().Query().After("gorm:query").Register("test:asked", func(db *gorm.DB) {
			asked = append(asked, db.Explain(db.Statement.SQL.String(), db.Statement.Vars...))
		})
		if err != nil {
			t.Fatal(err)
		}
		rows, total, err := r.List(t.Context(), Filter{MerchantID: merchant}, store.Page{Number: 1, Limit: 20})
		if err != nil || len(rows) != 3 || total != 3 {
			t.Fatalf("%d of %d rows, %v", len(rows), total, err)
		}
		after := rows[0].Cursor()
		if rows, _, err = r.ListAfter(t.Context(), Filter{MerchantID: merchant}, after, 20); err != nil || len(rows) != 2 {
			t.Fatalf("%d rows behind the first, %v", len(rows), err)
		}
		if len(asked) != 3 { // the count and two pages
			t.Fatalf("asked %q", asked)
		}
		for _, query := range asked {
			var plan []struct{ Detail, Type, Key, Extra string }
			if err := db.Raw(explain + query).Scan(&plan).Error; err != nil {
				t.Fatal(err)
			}
			if len(plan) != 1 || !strings.Contains(plan[0].Detail+plan[0].Key, "ix_messages_merchant") || strings.Contains(plan[0].Extra, "filesort") {
				t.Errorf("%s\nis read by %+v", query, plan)
			}
		}
	})
}
