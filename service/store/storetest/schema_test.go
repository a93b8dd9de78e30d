package storetest

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemall/tidemall/model/migration"
	"github.com/tidemall/tidemall/service/store"
)

// when matches the time at which a step was taken.
var when = regexp.MustCompile(`'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d'`)

// What tests get is what the migrations make: tables, indexes, checks and rows, the numbers of the steps among them.
func TestTablesMadeAtOnceAreTheMigratedOnes(t *testing.T) {
	MySQL(t) // migrates if no test has, so that the next one does not
	made, migrated := MySQL(t), MySQL(t)
	tables, err := read(t.Context(), migrated.SQL(), "SHOW TABLES")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if _, err := migrated.SQL().ExecContext(t.Context(), "DROP TABLE `"+table[0]+"`"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := migration.Up(t.Context(), migrated.SQL(), "mysql"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contents(t, migrated), contents(t, made)); diff != "" {
		t.Errorf("migrated (-) and made at once (+):\n%s", diff)
	}
}

// contents are the statements that make the database, without times.
func contents(t *testing.T, s *store.Store) []string {
	t.Helper()
	statements, err := dump(t.Context(), s.SQL())
	if err != nil {
		t.Fatal(err)
	}
	for i, statement := range statements {
		statements[i] = when.ReplaceAllString(statement, "")
	}
	return statements
}
