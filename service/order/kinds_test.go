package order

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/timeout"
)

// What is due is read from an index in the order in which it is due: however much there is, a page costs no more than itself.
func TestDeadlinesAreReadInKeyOrder(t *testing.T) {
	tl := newTill(t, storetest.SQLite(t))
	db, asked := tl.Store.Read(t.Context()), ""
	err := db.Callback().Row().After("gorm:row").Register("test:asked", func(db *gorm.DB) {
		asked = db.Explain(db.Statement.SQL.String(), db.Statement.Vars...)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range tl.Kinds() {
		if _, err := k.Source.Due(t.Context(), timeout.Cursor{}, int64(tl.Now()), 250); err != nil {
			t.Fatal(err)
		}
		query := asked
		var plan []struct{ Detail string }
		if err := db.Raw("EXPLAIN QUERY PLAN " + query).Scan(&plan).Error; err != nil {
			t.Fatal(err)
		}
		if len(plan) != 1 || !strings.Contains(plan[0].Detail, "INDEX ix_") {
			t.Errorf("%s: %s\nis read by %+v", k.Name, query, plan)
		}
	}
}
