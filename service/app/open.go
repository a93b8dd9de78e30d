package app

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/config"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/model/migration"
	"github.com/tidemall/tidemall/service/file"
	"github.com/tidemall/tidemall/service/file/bucket"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/telemetry"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/service/wechat/sandbox"
	"github.com/tidemall/tidemall/timeout"
)

const (
	// databasePatience is how long a start waits for a database that does not answer yet.
	databasePatience = 60 * time.Second
	sandboxPatience  = 30 * time.Second
	// pushPath is where the router takes WeChat's message pushes.
	pushPath = "/notify/wechat/push"
)

// OpenStore opens the configured database: MySQL, or SQLite in data_dir. A MySQL that does not answer is asked again for up to
// patience, which is what a start beside it needs.
func OpenStore(ctx context.Context, cfg *config.Config, log *slog.Logger, patience time.Duration) (*store.Store, error) {
	if cfg.Embedded() {
		if err := os.MkdirAll(cfg.DataDir, 0o750); err != nil {
			return nil, fmt.Errorf("data_dir: %w", err)
		}
		return store.OpenSQLite(filepath.Join(cfg.DataDir, "shop.db"), log)
	}
	enough := time.After(patience)
	for {
		s, err := store.OpenMySQL(ctx, cfg.MySQL.DSN, log)
		if err == nil || !store.IsUnavailable(err) || patience == 0 {
			return s, err
		}
		log.Warn("waiting for the database", "error", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-enough:
			return nil, err
		case <-time.After(time.Second):
		}
	}
}

// openTraces is the first step, so that traces are sent until everything else has ended.
func (a *App) openTraces(ctx context.Context) (err error) {
	cfg := a.Config.OTel
	a.Traces, err = telemetry.Open(ctx, telemetry.Options{
		Endpoint: cfg.Endpoint, SampleRatio: cfg.SampleRatio, Version: a.Config.Version, Node: a.node, Log: a.Log, Metrics: a.Metrics,
	})
	if err != nil {
		return err
	}
	a.parts = append(a.parts, part{"traces", a.Traces.Stop})
	return nil
}

func (a *App) openDatabase(ctx context.Context) (err error) {
	if a.Store, err = OpenStore(ctx, a.Config, a.Log, databasePatience); err != nil {
		return err
	}
	a.opened("database", a.Store.Close)
	if a.Traces.Exporting() {
		a.Store.Trace(a.Traces.Tracer("service/store"))
	}
	dialect := string(a.Store.Dialect())
	if a.Config.MySQL.Migrate {
		n, err := migration.Up(ctx, a.Store.SQL(), dialect)
		if err != nil {
			return err
		}
		if n > 0 {
			a.Log.Info("database migrated", "steps", n)
		}
		return nil
	}
	pending, err := migration.Pending(ctx, a.Store.SQL(), dialect)
	if err == nil && pending {
		err = errors.New("the database lacks migrations and mysql.migrate is false: run tidemall migrate up first")
	}
	return err
}

// RedisOptions are those of a client of the configured Redis.
func RedisOptions(cfg *config.Config) *redis.UniversalOptions {
	options := timeout.RedisOptions(cfg.Redis.Addrs)
	options.Username, options.Password, options.DB = cfg.Redis.Username, cfg.Redis.Password, cfg.Redis.DB
	if cfg.Redis.TLS {
		options.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return options
}

// openRedis connects to Redis, starts one in the process, or does without. A Redis that does not answer is no reason not to
// start: deadlines are then fed from the database.
func (a *App) openRedis(ctx context.Context) error {
	cfg := a.Config
	if cfg.RedisOff() {
		a.Log.Info("running without Redis: deadlines are fed from the database")
		return nil
	}
	options := RedisOptions(cfg)
	if cfg.RedisEmbedded() {
		mini := miniredis.NewMiniRedis()
		mini.ClockTTL(true)
		if err := mini.Start(); err != nil {
			return fmt.Errorf("embedded Redis: %w", err)
		}
		a.opened("embedded Redis", func() error { mini.Close(); return nil })
		options.Addrs = []string{mini.Addr()}
	}
	a.Redis = redis.NewUniversalClient(options)
	a.opened("Redis", a.Redis.Close)
	if a.Traces.Exporting() {
		a.Redis.AddHook(telemetry.RedisHook(a.Traces.Tracer("service/telemetry")))
	}
	if err := a.Redis.Ping(ctx).Err(); err != nil {
		a.Log.Warn("Redis does not answer; deadlines are fed from the database until it does", "error", err)
	}
	return nil
}

// openWeChat makes the client; where the simulator stands in it is started, or asked for its credentials.
func (a *App) openWeChat(ctx context.Context) (err error) {
	cfg := a.Config.WeChat
	wc := wechat.Config{
		AppID: cfg.AppID, AppSecret: cfg.AppSecret, MchID: cfg.MchID, MchCertSerial: cfg.MchCertSerial, MchPrivateKey: cfg.MchPrivateKey,
		APIv3Key: cfg.APIv3Key, PayPublicKey: cfg.PayPublicKey, PayPublicKeyID: cfg.PayPublicKeyID, PushToken: cfg.PushToken, PushAESKey: cfg.PushAESKey,
	}
	if a.Config.SandboxStandsIn() {
		if a.SandboxURL, err = a.openSandbox(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, sandboxPatience)
		defer cancel()
		if wc, err = wechat.FromSandbox(ctx, a.SandboxURL); err != nil {
			return err
		}
	}
	wc.NotifyBaseURL, wc.PayMode = cfg.NotifyBaseURL, cfg.PayMode
	prefix, err := a.installationID(ctx)
	if err != nil {
		return err
	}
	a.WeChat, err = wechat.New(wc, wechat.Options{Redis: a.Redis, KeyPrefix: prefix + ":", Log: a.Log, Now: a.Engine.Now})
	return err
}

func (a *App) openSandbox() (base string, err error) {
	cfg := a.Config.WeChat.Sandbox
	if cfg.URL != "" {
		return cfg.URL, nil
	}
	server, err := sandbox.New(sandbox.Options{
		DataDir: filepath.Join(a.Config.DataDir, "sandbox"), Addr: cfg.Addr, Log: a.Log, PushURL: a.Config.WeChat.NotifyBaseURL + pushPath,
	})
	if err != nil {
		return "", fmt.Errorf("%w (another replica on this machine? then set wechat.sandbox.url to its simulator, or wechat.sandbox.addr to another port)", err)
	}
	server.Start()
	a.opened("WeChat sandbox", server.Stop)
	return server.URL(), nil
}

func (a *App) openFiles(ctx context.Context) error {
	pictures, err := bucket.Open(ctx, a.Config.Files.URL, filepath.Join(a.Config.DataDir, "files"))
	if err != nil {
		return err
	}
	a.opened("pictures", pictures.Close)
	a.Files, a.private = file.New(pictures, a.Config.HTTP.PublicURL), file.NewPrivate(pictures)
	return nil
}

// installationID returns the id kept in the database with which every Redis key starts, so that two shops can share one Redis.
func (a *App) installationID(ctx context.Context) (string, error) {
	const name = "installation_id"
	for range 2 {
		var values []string
		if err := a.Store.Read(ctx).Raw("SELECT value FROM settings WHERE name = ?", name).Scan(&values).Error; err != nil {
			return "", store.Classify(err)
		}
		if len(values) == 1 {
			return values[0], nil
		}
		var random [6]byte
		_, _ = rand.Read(random[:])                                                                                    // never fails, see crypto/rand
		row := model.Setting{Name: name, Value: "tm" + hex.EncodeToString(random[:]), UpdatedAt: model.At(time.Now())} //nolint:forbidigo // the clock is made with this id
		if err := a.Store.Read(ctx).Create(&row).Error; err != nil && !store.IsDuplicate(err) {
			return "", store.Classify(err)
		}
	}
	return "", errors.New("settings: installation_id cannot be kept")
}

// nodeName names this process among the replicas.
func nodeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails, see crypto/rand
	return fmt.Sprintf("%.40s-%d-%s", host, os.Getpid(), hex.EncodeToString(random[:]))
}
