// Package storetest gives tests a migrated, empty database of every dialect: SQLite in a temporary file, MySQL or MariaDB on a
// real server. A test that calls WeChat inside a transaction of it ends there, see package outside.
package storetest

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/tidemall/tidemall/model/migration"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/outside"
	"github.com/tidemall/tidemall/timeout/testserver"
)

// Each runs the test on every dialect as a subtest. The MySQL one is skipped, saying so, where no server program is installed.
func Each(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("mysql", func(t *testing.T) { test(t, MySQL(t)) })
}

// SQLite returns a migrated, empty SQLite database, closed when the test ends.
func SQLite(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.OpenSQLite(filepath.Join(t.TempDir(), "shop.db"), slog.New(slog.DiscardHandler))
	return ready(t, s, err, func(ctx context.Context, db *sql.DB) error {
		_, err := migration.Up(ctx, db, string(store.SQLite))
		return err
	})
}

// MySQL returns a migrated, empty database on a real server, closed when the test ends.
func MySQL(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.OpenMySQL(t.Context(), testserver.MySQL(t), slog.New(slog.DiscardHandler))
	return ready(t, s, err, makeTables)
}

func ready(t testing.TB, s *store.Store, err error, migrate func(context.Context, *sql.DB) error) *store.Store {
	t.Helper()
	outside.Watch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := migrate(t.Context(), s.SQL()); err != nil {
		t.Fatal(err)
	}
	return s
}
