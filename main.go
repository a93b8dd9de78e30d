// Command tidemall is the shop: one binary that serves it, migrates its database, audits it and plays WeChat for trials.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
	_ "time/tzdata" // shop.timezone must be known on an image without a time zone database

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/api/notify"
	shopapi "github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/config"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/model/migration"
	"github.com/tidemall/tidemall/router"
	"github.com/tidemall/tidemall/service/app"
	"github.com/tidemall/tidemall/service/audit"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/report"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/telemetry"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
	"github.com/tidemall/tidemall/web"
)

// version is set when the binary is built.
var version = "dev"

const usage = `tidemall: a shop backend for WeChat mini-programs

  tidemall serve [--config FILE]            serve the shop; embedded when no MySQL is configured
  tidemall migrate up|status [--config FILE] bring the database's schema up to date, or say where it stands
  tidemall audit [--json] [--config FILE]   check the shop's invariants; exit 1 if any is broken
  tidemall bench timeout [flags]            measure the timeout module on the configured servers; --help says how
  tidemall sandbox [--addr ADDR] [--dir DIR] play WeChat
  tidemall openapi                          write the API's description, as /openapi.json has it
  tidemall version

Every key of the configuration is also a variable, TIDEMALL_ and the key: see docs/configuration.md.
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run carries out one command and returns the exit code: 0 done, 1 failed, 2 wrong use.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	commands := map[string]func(context.Context, []string, io.Writer, io.Writer) error{
		"serve": serve, "migrate": migrate, "audit": runAudit, "sandbox": runSandbox, "bench": runBench,
		"openapi": describe,
		"version": func(context.Context, []string, io.Writer, io.Writer) error { return printTo(stdout, version+"\n") },
	}
	if len(args) == 0 {
		_, _ = io.WriteString(stderr, usage)
		return 2
	}
	command, ok := commands[args[0]]
	if !ok {
		_, _ = io.WriteString(stderr, usage)
		if args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
			return 0
		}
		return 2
	}
	err := command(ctx, args[1:], stdout, stderr)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		return 2
	case errors.Is(err, errBroken): // the report said what
		return 1
	}
	_, _ = fmt.Fprintln(stderr, "tidemall:", err)
	return 1
}

var (
	errUsage  = errors.New("wrong use")
	errBroken = errors.New("an invariant is broken")
)

func printTo(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// parse reads a command's flags; rest are the words that are no flags, of which exactly want must be there.
func parse(fs *flag.FlagSet, args []string, want int, stderr io.Writer) ([]string, error) {
	fs.SetOutput(stderr)
	var words []string
	for len(args) > 0 { // flags may stand before and after words
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, errUsage
		}
		args = fs.Args()
		if len(args) > 0 {
			words, args = append(words, args[0]), args[1:]
		}
	}
	if len(words) != want {
		_, _ = io.WriteString(stderr, usage)
		return nil, errUsage
	}
	return words, nil
}

// describe writes the OpenAPI document, from which the front ends' types are made.
func describe(_ context.Context, args []string, stdout, stderr io.Writer) error {
	if _, err := parse(flag.NewFlagSet("openapi", flag.ContinueOnError), args, 0, stderr); err != nil {
		return err
	}
	doc, err := router.Describe(version)
	if err != nil {
		return err
	}
	return printTo(stdout, string(doc)+"\n")
}

// load reads the configuration that the flags name, by read, and makes the logger.
func load(
	read func(file string, environ []string) (*config.Config, []string, error), file string, stderr io.Writer,
) (*config.Config, *slog.Logger, error) {
	cfg, warnings, err := read(file, os.Environ())
	if err != nil {
		return nil, nil, err
	}
	var handler slog.Handler = slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: cfg.Level()})
	if cfg.Log.Format == "json" {
		handler = slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: cfg.Level()})
	}
	cfg.Version = version
	log := slog.New(telemetry.LogHandler(handler))
	redis.SetLogger(driverLog{log.With("component", "redis")})
	_ = mysql.SetLogger(driverLog{log.With("component", "mysql")}) // fails for nil only
	for _, w := range warnings {
		log.Warn(w)
	}
	return cfg, log, nil
}

// driverLog is where the clients of Redis and MySQL say that a connection broke, which whoever uses it hears anyhow.
type driverLog struct{ *slog.Logger }

// Printf is what the Redis client calls.
func (l driverLog) Printf(ctx context.Context, format string, v ...any) {
	l.DebugContext(ctx, fmt.Sprintf(format, v...))
}

// Print is what the MySQL driver calls.
func (l driverLog) Print(v ...any) { l.Debug(fmt.Sprint(v...)) }

// serve runs the shop until SIGTERM.
func serve(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	file := fs.String("config", "", "YAML file")
	if _, err := parse(fs, args, 0, stderr); err != nil {
		return err
	}
	cfg, log, err := load(config.Load, *file, stderr)
	if err != nil {
		return err
	}
	slog.SetDefault(log) // for libraries only; our own parts receive theirs

	listener, err := net.Listen("tcp", cfg.HTTP.Addr)
	if err != nil {
		return fmt.Errorf("http.addr: %w (is another shop running? choose another port with TIDEMALL_HTTP_ADDR)", err)
	}
	cfg.Listening(listener.Addr().String())
	door := openDoor(listener, router.Starting(), log)
	defer func() { err = errors.Join(err, door.server.Close()) }()
	shop, err := startShop(ctx, cfg, log, stdout)
	defer func() { err = errors.Join(err, shop.Stop(context.WithoutCancel(ctx))) }()
	if err != nil {
		if ctx.Err() == nil {
			return err
		}
		log.Info("stopping: told to before the shop had started", "error", err)
		return nil
	}
	return serveShop(ctx, shop, door, stdout, log)
}

// startShop makes the shop and starts it. Whatever happens, the shop's Stop frees everything.
func startShop(ctx context.Context, cfg *config.Config, log *slog.Logger, stdout io.Writer) (*app.App, error) {
	shop, err := app.New(ctx, cfg, log)
	if err != nil {
		return shop, err
	}
	shop.ShowPassword = func(password string) error { return showPassword(stdout, cfg.Admin.Username, password) }
	return shop, shop.Start(ctx)
}

// door is http.addr. It is bound before anything else, so that an address in use is noticed at once and the URLs made from it are
// known; so it must answer before the shop does, or whoever asks would hang until then.
type door struct {
	server *http.Server
	router atomic.Pointer[router.Router] // what answers now
	failed chan error                    // how the server ended
}

func openDoor(listener net.Listener, first *router.Router, log *slog.Logger) *door {
	d := &door{failed: make(chan error, 1)}
	d.router.Store(first)
	d.server = newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.router.Load().ServeHTTP(w, r) }), log)
	go func() { d.failed <- d.server.Serve(listener) }()
	return d
}

// newServer bounds what a client may keep the shop waiting for. The router gives bodies times of their own; ReadTimeout is for what
// net/http answers itself, such as OPTIONS *.
func newServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// serveShop answers requests until the context ends, then lets those in flight finish.
func serveShop(ctx context.Context, shop *app.App, d *door, stdout io.Writer, log *slog.Logger) error {
	shop.Metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	deps, err := surface(shop, log)
	if err != nil {
		return err
	}
	d.router.Store(router.New(deps))
	welcome(stdout, shop)
	select {
	case err := <-d.failed:
		return err
	case <-ctx.Done():
	}
	log.Info("stopping: finishing the requests in flight")
	finishing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(shop.Config.HTTP.ShutdownMS)*time.Millisecond)
	defer cancel()
	if err := d.server.Shutdown(finishing); err != nil {
		log.Warn("requests in flight were cut off", "error", err)
		return d.server.Close()
	}
	return nil
}

// showPassword prints what the administrator logs in with, alone and long before the welcome: until then much can go wrong.
func showPassword(w io.Writer, username, password string) error {
	return printTo(w, fmt.Sprintf("\nThis shop is new.\n  ADMIN      username %s, password %s (shown only this once)\n", username, password))
}

// welcome tells a person where to go.
func welcome(w io.Writer, shop *app.App) {
	cfg := shop.Config
	panel := cfg.HTTP.PublicURL + "/admin/"
	if !web.PanelBuilt {
		panel = "left out of this build, which had no Node.js (npm) to build it with"
	}
	_, _ = fmt.Fprintf(w, "\nTidemall %s serves at %s\n  Panel      %s\n  API docs   %s/docs\n", version, cfg.HTTP.PublicURL, panel, cfg.HTTP.PublicURL)
	if base := shop.SandboxURL; base != "" {
		_, _ = fmt.Fprintf(w, "  WeChat     simulated at %s (open it to pay as a shopper)\n", base)
	}
	if cfg.Embedded() {
		_, _ = fmt.Fprintf(w, "  EMBEDDED   SQLite in %s. Good for trying and for developing; for a real shop configure MySQL.\n", filepath.Clean(cfg.DataDir))
	}
	if shop.PasswordShown {
		_, _ = fmt.Fprintf(w, "  ADMIN      log in as %s, with the password shown above\n", cfg.Admin.Username)
	}
	_, _ = fmt.Fprintln(w)
}

// surface is what the HTTP surface is made of.
func surface(shop *app.App, log *slog.Logger) (router.Deps, error) {
	cfg := shop.Config
	pages, err := web.Handler(shop.SandboxURL)
	if err != nil {
		return router.Deps{}, err
	}
	return router.Deps{
		Log: log, Auth: shop.Accounts, Metrics: shop.Metrics, Traces: shop.Traces.Provider(), Now: shop.Now, Zone: cfg.Zone(), PublicURL: cfg.HTTP.PublicURL, Version: version,
		Limits: router.Limits{
			Enabled: cfg.RateLimit.Enabled, Shopper: float64(cfg.RateLimit.ShopperPerSecond),
			Admin: float64(cfg.RateLimit.AdminPerSecond), IP: float64(cfg.RateLimit.IPPerSecond),
		},
		TrustedProxies: cfg.HTTP.TrustedProxies,
		Checks:         checks(shop),
		Web:            pages,
		Operations:     operations(shop, log),
	}, nil
}

// checks are what /readyz asks.
func checks(shop *app.App) []router.Check {
	list := []router.Check{
		{Name: "database", Essential: true, Run: shop.Store.Ping},
		{Name: "schema", Essential: true, Run: func(ctx context.Context) error {
			pending, err := migration.Pending(ctx, shop.Store.SQL(), string(shop.Store.Dialect()))
			if err == nil && pending {
				err = errors.New("migrations are missing")
			}
			return err
		}},
	}
	if shop.Redis != nil {
		list = append(list, router.Check{Name: "redis", Run: func(ctx context.Context) error { return shop.Redis.Ping(ctx).Err() }})
	}
	return list
}

func migrate(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("migrate", flag.ContinueOnError)
	file := fs.String("config", "", "YAML file")
	words, err := parse(fs, args, 1, stderr)
	if err != nil {
		return err
	}
	return withStore(ctx, *file, stderr, func(_ *config.Config, s *store.Store) error {
		switch words[0] {
		case "up":
			n, err := migration.Up(ctx, s.SQL(), string(s.Dialect()))
			if err != nil {
				return err
			}
			return printTo(stdout, fmt.Sprintf("%d step(s) taken; the schema is up to date\n", n))
		case "status":
			steps, err := migration.Status(ctx, s.SQL(), string(s.Dialect()))
			for _, step := range steps {
				applied := "pending"
				if !step.Applied.IsZero() {
					applied = step.Applied.UTC().Format(time.RFC3339)
				}
				_, _ = fmt.Fprintf(stdout, "%-22s %s\n", applied, step.Name)
			}
			return err
		}
		_, _ = io.WriteString(stderr, usage)
		return errUsage
	})
}

// withStore opens the configured database for a command that needs nothing else.
func withStore(ctx context.Context, file string, stderr io.Writer, do func(*config.Config, *store.Store) error) (err error) {
	cfg, log, err := load(config.LoadDatabase, file, stderr)
	if err != nil {
		return err
	}
	s, err := app.OpenStore(ctx, cfg, log, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(cfg, s)
}

func runAudit(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("audit", flag.ContinueOnError)
	file := fs.String("config", "", "YAML file")
	asJSON := fs.Bool("json", false, "write one JSON object and nothing else")
	if _, err := parse(fs, args, 0, stderr); err != nil {
		return err
	}
	return withStore(ctx, *file, stderr, func(cfg *config.Config, s *store.Store) error {
		pending, err := migration.Pending(ctx, s.SQL(), string(s.Dialect()))
		if err != nil {
			return err
		}
		if pending {
			return errors.New("this database has no shop of this version: start serve once, or run tidemall migrate up")
		}
		report, err := audit.Run(ctx, s, audit.Options{
			Now: model.At(time.Now()), OverdueAlarm: time.Duration(cfg.Order.OverdueAlarmMS) * time.Millisecond,
		})
		if err != nil {
			return err
		}
		write := report.WriteText
		if *asJSON {
			write = report.WriteJSON
		}
		if err := write(stdout); err != nil {
			return err
		}
		if !report.OK {
			return errBroken
		}
		return nil
	})
}

func runSandbox(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("sandbox", flag.ContinueOnError)
	addr := fs.String("addr", "127.0.0.1:8081", "where to listen")
	dir := fs.String("dir", "./data/sandbox", "where keys and books are kept")
	if _, err := parse(fs, args, 0, stderr); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	server, err := sandbox.New(sandbox.Options{DataDir: *dir, Addr: *addr, Log: log})
	if err != nil {
		return err
	}
	server.Start()
	_, _ = fmt.Fprintf(stdout, "WeChat is simulated at %s\n", server.URL())
	<-ctx.Done()
	return server.Stop()
}

// operations gives every noun of the surface the services that it needs.
func operations(shop *app.App, log *slog.Logger) router.Operations {
	shared := notify.New(log, shop.Metrics, shop.Callbacks)
	adminOrders := &admin.Orders{Service: shop.Orders, Pictures: shop.Files, Notices: shop.Notices}
	return router.Operations{
		ShopAccounts:  &shopapi.Accounts{Service: shop.Accounts},
		ShopAddresses: &shopapi.Addresses{Service: shop.Accounts},
		AdminAuth:     &admin.Auth{Service: shop.Accounts},
		AdminSessions: &admin.Sessions{Service: shop.Accounts},
		AdminTOTP:     &admin.TOTP{Service: shop.Accounts},
		AdminPanel: &admin.Panel{
			Figures: report.Report{Store: shop.Store}, Tasks: shop.Deadlines, Zone: shop.Config.Zone(), Version: shop.Config.Version,
		},
		AdminAdmins:    &admin.Admins{Service: shop.Accounts},
		AdminRoles:     &admin.Roles{Service: shop.Accounts},
		AdminMerchants: &admin.Merchants{Service: shop.Accounts},

		Files:        &api.Files{Service: shop.Files},
		ShopCatalog:  &shopapi.Catalog{Service: shop.Catalog, Ratings: shop.Reviews, Pictures: shop.Files},
		ShopCart:     &shopapi.Carts{Service: shop.Carts, Pictures: shop.Files},
		ShopCoupons:  &shopapi.Coupons{Service: shop.Coupons},
		ShopOrders:   &shopapi.Orders{Service: shop.Orders, Pictures: shop.Files},
		ShopPayments: &shopapi.Payments{Service: shop.Orders, Pictures: shop.Files},
		ShopNotices:  &shopapi.Notices{Service: shop.Notices},
		ShopReviews:  &shopapi.Reviews{Service: shop.Reviews, Pictures: shop.Files},
		ShopShops:    &shopapi.Shops{Service: shop.Settings, Pictures: shop.Files},

		ShopAftersales: &shopapi.Aftersales{Service: shop.Aftersales, Pictures: shop.Files},

		AdminCategories:   &admin.Categories{Service: shop.Catalog},
		AdminProducts:     &admin.Products{Service: shop.Catalog, Pictures: shop.Files},
		AdminSKUs:         &admin.SKUs{Service: shop.Catalog},
		AdminCoupons:      &admin.Coupons{Service: shop.Coupons},
		AdminFreight:      &admin.Freight{Service: shop.Shipping},
		AdminCarriers:     &admin.Carriers{},
		AdminOrders:       adminOrders,
		AdminOrderChanges: &admin.OrderChanges{Service: shop.Orders, Orders: adminOrders},
		AdminUploads:      &admin.Uploads{Service: shop.Orders, Orders: adminOrders},
		AdminAftersales:   &admin.Aftersales{Service: shop.Aftersales, Pictures: shop.Files},
		AdminAnomalies:    &admin.Anomalies{List: payment.Anomalies{Store: shop.Store}, Resolver: shop.Orders},
		AdminLatePayments: &admin.LatePayments{Service: payment.LatePayments{Store: shop.Store}},
		AdminCallbacks:    &admin.Callbacks{Service: shop.Callbacks, Now: shop.Now},
		AdminReviews:      &admin.Reviews{Service: shop.Reviews, Pictures: shop.Files},
		AdminContentHolds: &admin.ContentHolds{Service: shop.Content, Pictures: shop.Files},
		AdminBills:        &admin.Bills{Bills: shop.Bills},
		AdminPolicies:     &admin.Policies{Service: shop.Policies, Previews: shop.Orders, Jobs: shop.Jobs},
		AdminMessages:     &admin.Messages{Relay: shop.Relay},
		AdminTimeouts:     &admin.Timeouts{Board: shop.Deadlines},
		AdminReports:      &admin.Reports{Service: report.Report{Store: shop.Store}, Now: shop.Now},
		AdminNotices:      &admin.Notices{Service: shop.Notices},
		AdminJobs:         &admin.Jobs{Service: shop.Jobs},
		AdminSettings:     &admin.ShopSettings{Service: shop.Settings, Pictures: shop.Files, Platform: platformSettings(shop)},
		AdminChanges:      &admin.Changes{Service: shop.Changes},

		Notify: &router.Notify{
			Pay:    &notify.Pay{Shared: shared, WeChat: shop.WeChat, Orders: shop.Orders},
			Refund: &notify.Refund{Shared: shared, WeChat: shop.WeChat, Orders: shop.Orders},
			Push:   &notify.Push{Shared: shared, WeChat: shop.WeChat, Inbox: payment.Inbox{Store: shop.Store, Now: shop.Now}, Effects: shop.Pushes()},
		},
	}
}

// platformSettings are those of the configuration that the panel shows.
func platformSettings(shop *app.App) admin.PlatformSettings {
	cfg := shop.Config
	return admin.PlatformSettings{
		Timezone: cfg.Shop.Timezone, PublicURL: cfg.HTTP.PublicURL, MaxUnpaid: cfg.Order.MaxUnpaid, ReviewDays: cfg.Order.ReviewDays,
		AftersaleDays: cfg.Order.AftersaleDays, ChangeLogDays: cfg.Admin.ChangeLogDays, Sandbox: shop.SandboxURL != "", Version: version,
	}
}
