// Package bench runs load tests on an installation's own servers without touching the shop: in a database of its own, made
// for the run and dropped after it, under a key prefix of its own in Redis.
package bench

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/config"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/model/migration"
	"github.com/tidemall/tidemall/service/app"
	"github.com/tidemall/tidemall/timeout/load"
)

// removeTime bounds the removal of what a run has made.
const removeTime = time.Minute

// scratch is an empty shop beside the configured one.
type scratch struct {
	cfg    *config.Config // of the scratch shop
	log    *slog.Logger
	name   string // of the database, or of the folder
	prefix string // of the keys in Redis
	server string // DSN of the server without a database; empty when embedded
}

// newScratch names the scratch shop; make makes it.
func newScratch(cfg *config.Config, log *slog.Logger) (*scratch, error) {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails, see crypto/rand
	id := hex.EncodeToString(random[:])
	own := *cfg
	s := &scratch{cfg: &own, log: log, prefix: "bench-" + id, name: filepath.Join(cfg.DataDir, "bench-"+id)}
	// The simulator answers in WeChat's place, whatever is configured: nothing here may reach the real one.
	own.Env, own.Demo, own.Secret, own.Admin.Password = config.Development, false, "", ""
	own.WeChat = config.WeChat{Sandbox: config.Sandbox{Addr: "127.0.0.1:0"}, NotifyBaseURL: "http://127.0.0.1"}
	own.Files.URL, own.DataDir = "", s.name
	own.MySQL.Migrate = true
	own.Order.MaxUnpaid = 1 << 30
	if cfg.Embedded() {
		return s, nil
	}
	dsn, err := mysqldriver.ParseDSN(cfg.MySQL.DSN)
	if err != nil {
		return nil, errors.New("mysql.dsn: not a DSN such as user:password@tcp(host:3306)/database")
	}
	s.name = "tidemall_bench_" + id
	dsn.DBName = s.name
	own.MySQL.DSN = dsn.FormatDSN()
	dsn.DBName = ""
	s.server = dsn.FormatDSN()
	return s, nil
}

// make makes the database and its schema. What it made before an error is left to remove.
func (s *scratch) make(ctx context.Context) error {
	if err := os.MkdirAll(s.cfg.DataDir, 0o750); err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	if s.server != "" {
		err := s.onServer(ctx, "CREATE DATABASE `"+s.name+"` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci")
		if err != nil {
			return fmt.Errorf("making the database %s: %w (the user of mysql.dsn needs all rights on `tidemall\\_bench\\_%%`.*)", s.name, err)
		}
	}
	db, err := app.OpenStore(ctx, s.cfg, s.log, 0)
	if err != nil {
		return err
	}
	if _, err = migration.Up(ctx, db.SQL(), string(db.Dialect())); err == nil {
		row := model.Setting{Name: "installation_id", Value: s.prefix, UpdatedAt: model.At(time.Now())}
		err = db.Read(ctx).Create(&row).Error
	}
	return errors.Join(err, db.Close())
}

// remove removes everything, also when ctx has ended, and says what it could not.
func (s *scratch) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	var errs []error
	if s.server != "" {
		if err := s.onServer(ctx, "DROP DATABASE IF EXISTS `"+s.name+"`"); err != nil {
			errs = append(errs, fmt.Errorf("the database %s is still there: %w", s.name, err))
		}
	}
	if !s.cfg.RedisOff() && !s.cfg.RedisEmbedded() {
		client := redis.NewUniversalClient(app.RedisOptions(s.cfg))
		if _, err := load.Clean(ctx, client, s.prefix); err != nil {
			errs = append(errs, fmt.Errorf("keys that start with %s: may still be in Redis: %w", s.prefix, err))
		}
		errs = append(errs, client.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(s.cfg.DataDir))...)
}

func (s *scratch) onServer(ctx context.Context, query string) error {
	db, err := sql.Open("mysql", s.server)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, query)
	return errors.Join(err, db.Close())
}

// says tells a person what is made and what becomes of it.
func (s *scratch) says() string {
	where := "the folder " + s.name
	if s.server != "" {
		where = "the database " + s.name
	}
	if s.cfg.RedisOff() || s.cfg.RedisEmbedded() {
		return where + " is made for this run and removed at its end; the shop's own data is not touched"
	}
	return where + " and keys " + s.prefix + ":* in Redis are made for this run and removed at its end; the shop's own data is not touched"
}

// parts names what the run runs on.
func (s *scratch) parts() (database, schedule string) {
	database, schedule = "MySQL", "Redis"
	if s.server == "" {
		database = "embedded SQLite"
	}
	switch {
	case s.cfg.RedisOff():
		schedule = "no Redis"
	case s.cfg.RedisEmbedded():
		schedule = "embedded Redis"
	case len(s.cfg.Redis.Addrs) > 1:
		schedule = "Redis Cluster"
	}
	return database, schedule
}
