// Package store is the database as the services see it: one place that opens it, one runner of transactions, ids that are known
// before the insert, and the few differences between MySQL and SQLite.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/glebarez/sqlite"
	mysqldriver "github.com/go-sql-driver/mysql"
	"go.opentelemetry.io/otel/trace"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// Dialect is the kind of database.
type Dialect string

// The dialects; MySQL stands for MySQL, MariaDB and TiDB.
const (
	MySQL  Dialect = "mysql"
	SQLite Dialect = "sqlite"
)

// Store is a database with its pool. It is safe for concurrent use.
type Store struct {
	db      *gorm.DB
	sql     *sql.DB
	dialect Dialect
	log     *slog.Logger
	// noSkipLocked is true where the server does not know SKIP LOCKED (TiDB).
	noSkipLocked bool
	// writer lets one SQLite transaction write at a time: waiting here is fair, waiting on the file's lock is not.
	writer chan struct{}
	ids    ids
	tracer trace.Tracer // nil makes no spans
}

// poolSize is how many connections there are at most; as many stay open.
const poolSize = 64

// OpenMySQL opens a pool by a go-sql-driver DSN. What the shop depends on is forced, whatever the DSN says: UTC, READ
// COMMITTED, found rows off, parameters interpolated on the client (one round trip a statement), and a server that refuses writes
// is left.
func OpenMySQL(ctx context.Context, dsn string, log *slog.Logger) (*Store, error) {
	cfg, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		return nil, errors.New("mysql.dsn: not a DSN such as user:password@tcp(host:3306)/database")
	}
	cfg.ParseTime = true
	cfg.Loc = time.UTC
	cfg.ClientFoundRows = false
	cfg.InterpolateParams = true
	cfg.MultiStatements = true // for Batch; every statement of ours has its values in arguments, escaped by the driver
	// A connection whose server takes no writes is closed, and its statement fails with driver.ErrBadConn: after a switchover those in
	// the pool lead to what was the primary before, and would for as long as they live.
	cfg.RejectReadOnly = true
	cfg.Collation = "utf8mb4_unicode_520_ci"
	if cfg.Timeout == 0 {
		cfg.Timeout = 3 * time.Second
	}
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = 30 * time.Second
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = 30 * time.Second
	}
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	cfg.Params["time_zone"] = "'+00:00'"
	cfg.Params["innodb_lock_wait_timeout"] = "10"
	version, err := serverVersion(ctx, cfg)
	if err != nil {
		return nil, err
	}
	// Setting the isolation once a connection saves a round trip a transaction. MySQL 8 has only transaction_isolation, MariaDB 10
	// only tx_isolation.
	isolation := "transaction_isolation"
	if strings.Contains(version, "MariaDB") {
		isolation = "tx_isolation"
	}
	cfg.Params[isolation] = "'READ-COMMITTED'"
	connector, err := mysqldriver.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("mysql.dsn: %w", err)
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(poolSize)
	pool.SetMaxIdleConns(poolSize)
	pool.SetConnMaxLifetime(30 * time.Minute)
	db, err := gorm.Open(mysql.New(mysql.Config{Conn: pool, DisableWithReturning: true, SkipInitializeWithVersion: true}), gormConfig())
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return &Store{db: db, sql: pool, dialect: MySQL, log: log, noSkipLocked: strings.Contains(version, "TiDB")}, nil
}

// serverVersion asks what kind of server it is.
func serverVersion(ctx context.Context, cfg *mysqldriver.Config) (version string, err error) {
	connector, err := mysqldriver.NewConnector(cfg)
	if err != nil {
		return "", fmt.Errorf("mysql.dsn: %w", err)
	}
	pool := sql.OpenDB(connector)
	defer func() { _ = pool.Close() }()
	if err := pool.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return "", fmt.Errorf("mysql does not answer: %w", err)
	}
	return version, nil
}

// OpenSQLite opens, or makes, a database file. Commits are synced to the disk before they are answered.
func OpenSQLite(path string, log *slog.Logger) (*Store, error) {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"}}
	db, err := gorm.Open(sqlite.Open("file:"+path+"?"+q.Encode()), gormConfig())
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(8)
	pool.SetMaxIdleConns(8)
	return &Store{db: db, sql: pool, dialect: SQLite, log: log, noSkipLocked: true, writer: make(chan struct{}, 1)}, nil
}

func gormConfig() *gorm.Config {
	return &gorm.Config{
		SkipDefaultTransaction: true,
		Logger:                 logger.Discard, // errors are returned and logged once, with their request
		NowFunc:                func() time.Time { return time.Time{} },
	}
}

// Dialect returns the kind of database.
func (s *Store) Dialect() Dialect { return s.dialect }

// SQL returns the pool, for parts that speak database/sql.
func (s *Store) SQL() *sql.DB { return s.sql }

// Read returns a handle for reading outside a transaction.
func (s *Store) Read(ctx context.Context) *gorm.DB {
	db := s.db.WithContext(ctx)
	db.Statement.ConnPool = s.spanning(ctx, db.Statement.ConnPool)
	return db
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.sql.PingContext(ctx) }

// Close closes the pool.
func (s *Store) Close() error { return s.sql.Close() }
