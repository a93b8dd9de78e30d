package testserver

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"
)

// envTemplate names an initialised data directory to copy. withservers sets it, so that
// the test binaries it runs need not each make one.
const envTemplate = "TIDEMALL_TEST_MYSQL_TEMPLATE"

// template is an initialised data directory. Making one takes seconds, copying it
// milliseconds.
var template struct {
	once sync.Once
	p    *process // never run; held because a collected guard would clean up
	dir  string
	err  error
}

// How much a server may lose when it is killed.
const (
	fast    = false // up to a second of commits, or the whole database
	durable = true  // nothing that was confirmed
)

// launchMySQL starts a mariadbd or mysqld with an empty data directory.
func launchMySQL(keep bool) (*process, error) {
	program, err := findProgram("mariadbd", "mysqld")
	if err != nil {
		return nil, err
	}
	from, err := templateDir(program)
	if err != nil {
		return nil, err
	}
	p, err := newProcess(filepath.Base(program), func(dir string) error {
		return os.CopyFS(filepath.Join(dir, "data"), os.DirFS(from))
	})
	if err != nil {
		return nil, err
	}
	p.command = func(p *process) []string { return mysqlCommand(program, p, keep) }
	p.ready = mysqlReady
	p.url = func(p *process, db string) string { return mysqlConfig(p.addr(), db).FormatDSN() }
	if err := p.start(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// mysqlCommand is made for many small databases on a small machine. Options marked
// loose are unknown to one of MariaDB and MySQL, or to some version of them.
func mysqlCommand(program string, p *process, keep bool) []string {
	args := append([]string{program, "--no-defaults"}, asRoot()...)
	args = append(args,
		"--datadir="+filepath.Join(p.dir, "data"),
		"--socket="+filepath.Join(p.dir, "sock"),
		"--pid-file="+filepath.Join(p.dir, "server.pid"),
		"--tmpdir="+p.dir,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--port=%d", p.port),
		"--loose-mysqlx=OFF",
		"--skip-name-resolve",
		"--skip-log-bin",
		"--max-connections=500",
		"--performance-schema=OFF",
		"--innodb-buffer-pool-size=96M",
		"--loose-innodb-log-file-size=32M",
		"--loose-innodb-redo-log-capacity=64M",
		"--loose-innodb-buffer-pool-dump-at-shutdown=OFF",
		// Nothing here has to survive the machine, so nothing waits for the disk.
		"--loose-innodb-flush-method=nosync",
		"--loose-aria-log-purge-type=immediate",
	)
	if keep {
		// 2 hands every commit to the kernel, which outlives the process. The doublewrite
		// buffer stays: a kill can tear a page of 16 KiB between two of its 4 KiB.
		return append(args, "--innodb-flush-log-at-trx-commit=2")
	}
	return append(args, "--innodb-flush-log-at-trx-commit=0", "--skip-innodb-doublewrite")
}

// templateDir returns an initialised data directory of a server that was shut down
// cleanly.
func templateDir(program string) (string, error) {
	if dir := os.Getenv(envTemplate); dir != "" {
		return dir, nil
	}
	template.once.Do(func() {
		template.p, template.err = newProcess("template", func(dir string) error {
			return initDataDir(program, filepath.Join(dir, "data"))
		})
		if template.err == nil {
			template.dir = filepath.Join(template.p.dir, "data")
		}
	})
	return template.dir, template.err
}

// initDataDir makes the system tables, with a user root without a password.
func initDataDir(program, dir string) error {
	var args []string
	version, err := exec.Command(program, "--no-defaults", "--version").Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w", program, err)
	}
	if strings.Contains(string(version), "MariaDB") {
		installer, err := findProgram("mariadb-install-db", "mysql_install_db")
		if err != nil {
			return err
		}
		args = []string{
			installer, "--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db",
			"--force",
		} // also where the name of the host cannot be looked up
	} else {
		args = []string{program, "--no-defaults", "--initialize-insecure"}
	}
	args = append(append(args, "--datadir="+dir), asRoot()...)
	// A temporary directory of its own: a server that starts clears away the temporary tables of others in a shared one.
	args = append(args, "--tmpdir="+filepath.Dir(dir), "--loose-innodb-flush-method=nosync", "--loose-innodb-log-file-size=32M")
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// asRoot is the option without which the server refuses to run as root.
func asRoot() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

// mysqlReady asks for the data directory, because another server may have been given
// the same port a moment before.
func mysqlReady(p *process) error {
	var dir string
	err := withDB(p.dsn(""), func(ctx context.Context, db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT @@datadir").Scan(&dir)
	})
	if err != nil {
		return err
	}
	want, err := filepath.EvalSymlinks(filepath.Join(p.dir, "data"))
	if err != nil {
		return err
	}
	if got, err := filepath.EvalSymlinks(dir); err != nil || got != want {
		return fmt.Errorf("another server (%s) listens on port %d", dir, p.port)
	}
	return nil
}

// createDatabase makes an empty database on the server of dsn and returns the DSN that
// names it and a function that drops it.
func createDatabase(dsn, name string) (string, func() error, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return "", nil, err
	}
	own := mysqlConfig(cfg.Addr, name)
	own.User, own.Passwd, own.Net, own.TLSConfig = cfg.User, cfg.Passwd, cfg.Net, cfg.TLSConfig
	cfg.DBName = ""
	server := cfg.FormatDSN()
	exec := func(query string) error {
		return withDB(server, func(ctx context.Context, db *sql.DB) error {
			_, err := db.ExecContext(ctx, query)
			return err
		})
	}
	// The collation that both MariaDB and MySQL have.
	if err := exec("CREATE DATABASE `" + name + "` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci"); err != nil {
		return "", nil, err
	}
	return own.FormatDSN(), func() error { return exec("DROP DATABASE IF EXISTS `" + name + "`") }, nil
}

func mysqlConfig(addr, db string) *mysql.Config {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr, cfg.DBName = "root", "tcp", addr, db
	cfg.InterpolateParams = true
	if err := cfg.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		panic(err) // a constant is wrong
	}
	return cfg
}

// withDB runs one statement or so over a connection of its own, which is closed before
// it returns.
func withDB(dsn string, do func(ctx context.Context, db *sql.DB) error) error {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return err
	}
	cfg.Logger = &mysql.NopLogger{} // a server that is still starting is no news
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	return do(ctx, db)
}
