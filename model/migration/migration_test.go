package migration_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/glebarez/sqlite"
	"github.com/google/go-cmp/cmp"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/model/migration"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// column is what must agree between the rows in Go and every database.
type column struct {
	Kind     string // integer, text
	Nullable bool
	Primary  bool
}

// table has the columns by name, and the indexes by name as "unique (a, b)" or "(a, b)".
type table struct {
	Columns map[string]column
	Indexes map[string]string
}

// The migrated MySQL, the migrated SQLite and the gorm models (as gorm itself would create them) have the same tables, column
// by column and index by index. The timeout module has no gorm models; its tables must agree between the two databases.
func TestSchemasAgree(t *testing.T) {
	my, lite := openMySQL(t), openSQLite(t, "migrated.db")
	up(t, my, "mysql")
	up(t, lite, "sqlite")
	migratedMy, migratedLite := mysqlTables(t, my), sqliteTables(t, lite)
	if diff := cmp.Diff(migratedMy, migratedLite); diff != "" {
		t.Errorf("migrated MySQL (-) and SQLite (+) differ:\n%s", diff)
	}

	modelMy, modelLite := openMySQL(t), openSQLite(t, "models.db")
	create(t, mysql.New(mysql.Config{Conn: modelMy, DisableWithReturning: true}))
	create(t, sqlite.Dialector{Conn: modelLite})
	for _, m := range []struct {
		name             string
		models, migrated map[string]table
	}{{"MySQL", mysqlTables(t, modelMy), migratedMy}, {"SQLite", sqliteTables(t, modelLite), migratedLite}} {
		if len(m.models) != len(model.All()) {
			t.Errorf("%s: %d tables of %d models", m.name, len(m.models), len(model.All()))
		}
		for name, tab := range m.models {
			if diff := cmp.Diff(tab, m.migrated[name]); diff != "" {
				t.Errorf("%s: table %s in the models (-) and migrated (+):\n%s", m.name, name, diff)
			}
		}
		for name := range m.migrated {
			if _, ok := m.models[name]; !ok && !slices.Contains([]string{"task_failures", "timeout_meta", "timeout_members", "timeout_shards", "timeout_lateness", "timeout_replicas"}, name) {
				t.Errorf("%s: table %s has no model", m.name, name)
			}
		}
	}
}

// The timeout module carries its tables with it; the migrations hold the same statements.
func TestTimeoutTablesAreTheModules(t *testing.T) {
	for dialect, files := range map[string][]string{
		"mysql":  {"mysql/00035_task_failures.sql", "mysql/00036_timeout_meta.sql", "mysql/00037_timeout_members.sql", "mysql/00038_timeout_shards.sql", "mysql/00092_timeout_lateness.sql", "mysql/00093_timeout_replicas.sql"},
		"sqlite": {"sqlite/00002_timeout.sql", "sqlite/00003_timeout_shards.sql", "sqlite/00020_timeout_records.sql"},
	} {
		want := statements(t, filepath.Join("..", "..", "timeout", "schema", dialect+".sql"))
		var got []string
		for _, f := range files {
			got = append(got, statements(t, f)...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the module's schema (-) and the migrations (+) differ:\n%s", dialect, diff)
		}
	}
}

// MySQL commits every DDL statement by itself, so a file that holds two could fail half-way and never be repeated.
func TestOneStatementAFileOnMySQL(t *testing.T) {
	files, err := filepath.Glob("mysql/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no files")
	}
	for _, f := range files {
		if n := len(statements(t, f)); n != 1 {
			t.Errorf("%s holds %d statements", f, n)
		}
	}
}

// Replicas that start together take turns: each step is taken once.
func TestReplicasMigrateTogether(t *testing.T) {
	dsn := testserver.MySQL(t)
	var wg sync.WaitGroup
	taken := make([]int, 3)
	errs := make([]error, 3)
	for i := range taken {
		wg.Go(func() {
			db, err := sql.Open("mysql", dsn+"&parseTime=true")
			if err != nil {
				errs[i] = err
				return
			}
			taken[i], errs[i] = migration.Up(t.Context(), db, "mysql")
			errs[i] = errors.Join(errs[i], db.Close())
		})
	}
	wg.Wait()
	files, _ := filepath.Glob("mysql/*.sql")
	if err := errors.Join(errs...); err != nil || taken[0]+taken[1]+taken[2] != len(files) {
		t.Errorf("taken %v of %d steps, %v", taken, len(files), err)
	}
}

func up(t *testing.T, db *sql.DB, dialect string) {
	t.Helper()
	if pending, err := migration.Pending(t.Context(), db, dialect); err != nil || !pending {
		t.Errorf("%s: an empty database has nothing pending (%v)", dialect, err)
	}
	if _, err := migration.Up(t.Context(), db, dialect); err != nil {
		t.Fatal(err)
	}
	if pending, err := migration.Pending(t.Context(), db, dialect); err != nil || pending {
		t.Errorf("%s: something is pending after Up (%v)", dialect, err)
	}
	if n, err := migration.Up(t.Context(), db, dialect); err != nil || n != 0 {
		t.Errorf("%s: a second Up took %d steps (%v)", dialect, n, err)
	}
}

func create(t *testing.T, d gorm.Dialector) {
	t.Helper()
	db, err := gorm.Open(d, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.AutoMigrate(model.All()...); err != nil {
		t.Fatal(err)
	}
}

func openMySQL(t *testing.T) *sql.DB {
	t.Helper()
	return open(t, "mysql", testserver.MySQL(t)+"&parseTime=true")
}

func openSQLite(t *testing.T, name string) *sql.DB {
	t.Helper()
	return open(t, "sqlite", "file:"+filepath.Join(t.TempDir(), name))
}

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func mysqlTables(t *testing.T, db *sql.DB) map[string]table {
	t.Helper()
	tables := map[string]table{}
	each(t, db, `SELECT table_name, column_name, data_type, is_nullable, column_key FROM information_schema.columns
		WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position`, func(f []string) {
		add(tables, f[0], f[1], column{Kind: kind(f[2]), Nullable: f[3] == "YES", Primary: f[4] == "PRI"})
	})
	each(t, db, `SELECT table_name, index_name, MIN(non_unique), GROUP_CONCAT(column_name ORDER BY seq_in_index SEPARATOR ', ')
		FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name <> 'PRIMARY' GROUP BY table_name, index_name`, func(f []string) {
		if tab, ok := tables[f[0]]; ok {
			tab.Indexes[f[1]] = index(f[2] == "0", f[3])
		}
	})
	return tables
}

func sqliteTables(t *testing.T, db *sql.DB) map[string]table {
	t.Helper()
	tables := map[string]table{}
	each(t, db, `SELECT m.name, c.name, c.type, c."notnull", c.pk FROM sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'`, func(f []string) {
		// An INTEGER PRIMARY KEY is never null, whatever its declaration says.
		pk := f[4] != "0"
		add(tables, f[0], f[1], column{Kind: kind(f[2]), Nullable: f[3] == "0" && !pk, Primary: pk})
	})
	each(t, db, `SELECT m.name, i.name, i."unique", (SELECT GROUP_CONCAT(x.name, ', ') FROM pragma_index_info(i.name) x)
		FROM sqlite_master m, pragma_index_list(m.name) i WHERE m.type = 'table' AND i.origin = 'c'`, func(f []string) {
		if tab, ok := tables[f[0]]; ok {
			tab.Indexes[f[1]] = index(f[2] == "1", f[3])
		}
	})
	return tables
}

func add(tables map[string]table, name, col string, c column) {
	if name == "goose_db_version" {
		return
	}
	if _, ok := tables[name]; !ok {
		tables[name] = table{map[string]column{}, map[string]string{}}
	}
	tables[name].Columns[col] = c
}

func index(unique bool, columns string) string {
	if unique {
		return "unique (" + columns + ")"
	}
	return "(" + columns + ")"
}

// kind reduces a database's type to what a value of it is. A BOOLEAN is a number in both.
func kind(dbType string) string {
	switch t := strings.ToLower(dbType); {
	case strings.Contains(t, "int"), t == "numeric", t == "boolean":
		return "integer"
	case strings.Contains(t, "text"), strings.Contains(t, "char"):
		return "text"
	default:
		return "unexpected: " + dbType
	}
}

func each(t *testing.T, db *sql.DB, query string, row func([]string)) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		fields, into := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range fields {
			into[i] = &fields[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		text := make([]string, len(fields))
		for i, f := range fields {
			text[i] = f.String
		}
		row(text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

var comment = regexp.MustCompile(`(?m)^--.*$`)

// statements returns a file's SQL statements without comments, white space folded.
func statements(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for s := range bytes.SplitSeq(comment.ReplaceAll(b, nil), []byte(";")) {
		if s := strings.Join(strings.Fields(string(s)), " "); s != "" {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		t.Fatal(fmt.Errorf("%s holds no statement", file))
	}
	return out
}
