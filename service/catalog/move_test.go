package catalog_test

import (
	"slices"
	"testing"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/fault"
)

// names returns the names of the categories at the top, or below the first one named parent, in display order.
func (sh *shop) names(t *testing.T, parent string) []string {
	t.Helper()
	nodes, err := sh.Categories(t.Context(), sh.merchant)
	if err != nil {
		t.Fatal(err)
	}
	if parent != "" {
		nodes = nodes[slices.IndexFunc(nodes, func(n catalog.Node) bool { return n.Name == parent })].Children
	}
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return names
}

func (sh *shop) readCategory(t *testing.T, id int64) model.Category {
	t.Helper()
	var row model.Category
	if err := sh.store.Read(t.Context()).Take(&row, id).Error; err != nil {
		t.Fatal(err)
	}
	return row
}

func TestMoveCategory(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		at := map[string]int64{"": 0, "分类": sh.category}
		for _, name := range []string{"甲", "乙", "丙"} { // all with the sorting number 0: no room between them
			at[name] = sh.addCategory(t, sh.merchant, name, 0)
		}
		at["子"] = sh.addCategory(t, sh.merchant, "子", at["甲"])
		foreign := sh.addCategory(t, sh.other, "别家", 0)
		move := func(name, parent, after string) error {
			row, err := sh.MoveCategory(t.Context(), sh.merchant, at[name], sh.readCategory(t, at[name]).Version, catalog.Move{ParentID: at[parent], AfterID: at[after]})
			if err == nil && (row != sh.readCategory(t, at[name]) || row.ParentID != at[parent]) {
				t.Errorf("%s: answered %+v, stored %+v", name, row, sh.readCategory(t, at[name]))
			}
			return err
		}
		for _, step := range []struct {
			name, parent, after string
			top, below          []string // below 甲
		}{
			{"丙", "", "", []string{"丙", "分类", "甲", "乙"}, []string{"子"}},
			{"分类", "", "乙", []string{"丙", "甲", "乙", "分类"}, []string{"子"}},
			{"分类", "", "丙", []string{"丙", "分类", "甲", "乙"}, []string{"子"}},
			{"乙", "甲", "子", []string{"丙", "分类", "甲"}, []string{"子", "乙"}},
			{"乙", "甲", "", []string{"丙", "分类", "甲"}, []string{"乙", "子"}},
			{"子", "", "分类", []string{"丙", "分类", "子", "甲"}, []string{"乙"}},
			{"子", "", "分类", []string{"丙", "分类", "子", "甲"}, []string{"乙"}}, // where it is already
		} {
			if err := move(step.name, step.parent, step.after); err != nil {
				t.Fatalf("%s behind %q below %q: %v", step.name, step.after, step.parent, err)
			}
			if top, below := sh.names(t, ""), sh.names(t, "甲"); !slices.Equal(top, step.top) || !slices.Equal(below, step.below) {
				t.Errorf("%s behind %q below %q: %v and %v, want %v and %v", step.name, step.after, step.parent, top, below, step.top, step.below)
			}
		}
		before := sh.names(t, "")
		for name, tc := range map[string]struct {
			id, version int64
			to          catalog.Move
			code        fault.Code
			field       string
		}{
			"below itself":         {at["甲"], sh.readCategory(t, at["甲"]).Version, catalog.Move{ParentID: at["乙"]}, fault.ValidationFailed, "parent_id"},
			"behind one elsewhere": {at["丙"], sh.readCategory(t, at["丙"]).Version, catalog.Move{AfterID: at["乙"]}, fault.ValidationFailed, "after_id"},
			"behind itself":        {at["丙"], sh.readCategory(t, at["丙"]).Version, catalog.Move{AfterID: at["丙"]}, fault.ValidationFailed, "after_id"},
			"another's parent":     {at["丙"], sh.readCategory(t, at["丙"]).Version, catalog.Move{ParentID: foreign}, fault.ValidationFailed, "parent_id"},
			"another's":            {foreign, 1, catalog.Move{}, fault.NotFoundError, ""},
			"stale":                {at["丙"], 999, catalog.Move{AfterID: at["甲"]}, fault.StaleVersion, ""},
		} {
			_, err := sh.MoveCategory(t.Context(), sh.merchant, tc.id, tc.version, tc.to)
			if _, ok := fields(err)[tc.field]; !fault.Is(err, tc.code) || tc.field != "" && !ok {
				t.Errorf("%s: got %v, want %s %s", name, err, tc.code, tc.field)
			}
		}
		if after := sh.names(t, ""); !slices.Equal(after, before) {
			t.Errorf("refused moves left %v, want %v", after, before)
		}
	})
}

// Where there is room between the neighbours, nobody else's version rises, so nobody else's open form becomes stale.
func TestMoveCategoryLeavesNeighboursWhereThereIsRoom(t *testing.T) {
	each(t, func(t *testing.T, sh *shop) {
		var made []model.Category
		for i, name := range []string{"一", "二", "三"} {
			c, err := sh.CreateCategory(t.Context(), sh.merchant, catalog.CategoryDraft{Name: name, Sort: 100 - 10*i})
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, c)
		}
		if _, err := sh.MoveCategory(t.Context(), sh.merchant, made[2].ID, 1, catalog.Move{AfterID: made[0].ID}); err != nil {
			t.Fatal(err)
		}
		if got := sh.names(t, ""); !slices.Equal(got, []string{"一", "三", "二", "分类"}) {
			t.Errorf("order is %v", got)
		}
		for _, c := range made[:2] {
			if got := sh.readCategory(t, c.ID); got != c {
				t.Errorf("%s became %+v, want it untouched", c.Name, got)
			}
		}
	})
}
