// Package app is the whole shop, wired: it opens the database, Redis and WeChat (or what stands in for them), makes every
// service and starts and stops the components in order. It knows no HTTP routes.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tidemall/tidemall/config"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/aftersale"
	"github.com/tidemall/tidemall/service/callback"
	"github.com/tidemall/tidemall/service/cart"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/content"
	"github.com/tidemall/tidemall/service/coupon"
	"github.com/tidemall/tidemall/service/deadline"
	"github.com/tidemall/tidemall/service/event"
	"github.com/tidemall/tidemall/service/file"
	"github.com/tidemall/tidemall/service/job"
	"github.com/tidemall/tidemall/service/notice"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/payment/reconcile"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/retention"
	"github.com/tidemall/tidemall/service/review"
	"github.com/tidemall/tidemall/service/shipping"
	"github.com/tidemall/tidemall/service/shop"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/telemetry"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout"
)

// App is the shop. Fields are there for the HTTP surface and for commands; nobody replaces them.
type App struct {
	Config  *config.Config
	Log     *slog.Logger
	Metrics *prometheus.Registry
	Traces  *telemetry.Telemetry

	Store    *store.Store
	Redis    redis.UniversalClient // nil without Redis
	Engine   *timeout.Engine
	WeChat   *wechat.Client
	Content  *content.Service
	Accounts *account.Accounts
	Catalog  *catalog.Catalog
	Files    *file.Files
	Carts    *cart.Service
	Coupons  *coupon.Service
	Shipping *shipping.Service
	Policies *policy.Policies
	Orders   *order.Service
	Reviews  *review.Service
	Relay    *event.Relay
	Centre   *order.Centre
	Tails    *order.TailFiller
	Notices  *notice.Service
	// Aftersales is what shoppers ask for after paying.
	Aftersales *aftersale.Service
	Bills      *reconcile.Service
	Callbacks  *callback.Recorder
	Jobs       *job.Service
	// Deadlines is the timeout module as the panel sees it.
	Deadlines *deadline.Board
	// Changes is the log of what admins changed.
	Changes *changelog.Service
	// Settings is what merchants say of their shops.
	Settings *shop.Service

	// SandboxURL is where the simulator answers that stands in for WeChat; empty with the real one.
	SandboxURL string
	// ShowPassword tells the person who starts the shop for the first time the platform administrator's generated password. Whoever
	// starts a shop for people sets it before Start; by itself it does nothing.
	ShowPassword func(password string) error
	// PasswordShown says that this start made the administrator of whom ShowPassword told.
	PasswordShown bool

	private *file.Private
	worker  *job.Runner
	cleaner *retention.Cleaner

	node  string // this process among the replicas
	parts []part // in the order of their start
}

// part is something that was started and is to be stopped.
type part struct {
	name string
	stop func(context.Context) error
}

// stopTime is how long one part may take to stop.
const stopTime = 5 * time.Second

// New opens what the shop stands on and wires the services. Only the database, Redis and the sandbox run when it returns; Start
// starts the rest. Whatever happens, Stop frees everything.
func New(ctx context.Context, cfg *config.Config, log *slog.Logger) (a *App, err error) {
	a = &App{Config: cfg, Log: log, Metrics: prometheus.NewRegistry(), node: nodeName(), ShowPassword: func(string) error { return nil }}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Stop(context.WithoutCancel(ctx)))
		}
	}()
	for _, step := range []func(context.Context) error{a.openTraces, a.openDatabase, a.openRedis, a.openEngine, a.openWeChat, a.wire} {
		if err := step(ctx); err != nil {
			return a, err
		}
	}
	return a, nil
}

// Now is the shop's one clock, in milliseconds.
func (a *App) Now() model.Time { return model.At(a.Engine.Now()) }

// openEngine makes the deadlines' engine and sets the clock, which everything behind it goes by: what is filled in, callbacks, the
// relay.
func (a *App) openEngine(ctx context.Context) error {
	prefix, err := a.installationID(ctx)
	if err != nil {
		return err
	}
	a.Engine, err = timeout.New(timeout.Options{
		DB: a.Store.SQL(), Redis: a.Redis, Prefix: prefix, Shards: a.Config.Timeout.Shards, Node: a.node, Log: a.Log,
		Metrics: a.Metrics, Tracer: a.Traces.Tracer("timeout"), IsOutage: func(err error) bool { return store.IsUnavailable(err) || store.IsConflict(err) },
	})
	if err != nil {
		return err
	}
	return a.Engine.Measure(ctx)
}

// wire makes the services. The order of construction is the order of the arrows between them.
func (a *App) wire(ctx context.Context) error {
	cfg, s, now, log := a.Config, a.Store, a.Now, a.Log
	if err := cfg.EnsureSecret(); err != nil {
		return err
	}
	if err := a.openFiles(ctx); err != nil {
		return err
	}
	a.Content = content.New(content.Deps{Store: s, Now: now, Log: log, WeChat: a.WeChat, Tasks: a.Engine, Pictures: a.Files})
	var err error
	a.Accounts, err = account.New(account.Options{
		Store: s, WeChat: a.WeChat, Content: a.Content, Secret: cfg.Secret, FormerSecrets: cfg.SecretPrevious, Now: now, Log: log,
	})
	if err != nil {
		return err
	}
	if a.Catalog, err = catalog.New(s, now, log, a.Files); err != nil {
		return err
	}
	a.Carts, a.Coupons, a.Shipping = cart.New(s, now), coupon.New(s, now), shipping.New(s, now)
	a.Policies = policy.New(s, now, log)
	a.Settings = &shop.Service{Store: s, Now: now, Pictures: a.Files}
	a.Changes = changelog.New(s)
	a.wireOrders()
	a.cleaner = retention.New(retention.Deps{Store: s, Now: now, Log: log, Rules: a.retention()})
	a.registerEffects()
	if err := a.registerKinds(); err != nil {
		return err
	}
	subscribers, topics := a.subscribers()
	a.Relay = event.NewRelay(s, now, log, topics, subscribers...)
	a.Relay.Trace(a.Traces.Tracer("service/event"))
	return errors.Join(a.Metrics.Register(a.Relay), a.Metrics.Register(a.Callbacks))
}

// wireOrders makes the order service and those that stand on it.
func (a *App) wireOrders() {
	cfg, s, now, log := a.Config, a.Store, a.Now, a.Log
	const day = 24 * time.Hour
	tracer := a.Traces.Tracer("service/order")
	a.Orders = order.New(order.Deps{
		Store: s, Now: now, Log: log, Catalog: a.Catalog, Policies: a.Policies, Tasks: a.Engine, WeChat: order.SpanWeChat(a.WeChat, tracer),
		Content: a.Content, Relayed: func() { a.Relay.Wake() }, Rows: a.countRows(), MaxUnpaid: int64(cfg.Order.MaxUnpaid),
		ReviewFor: time.Duration(cfg.Order.ReviewDays) * day, AftersaleWindow: time.Duration(cfg.Order.AftersaleDays) * day,
		Zone: cfg.Zone(), Tracer: tracer,
	})
	a.Tails = &order.TailFiller{Store: s, Log: log}
	a.Centre = order.NewCentre(order.CentreOptions{Store: s, Now: now, Log: log, WeChat: a.WeChat, Path: cfg.WeChat.OrderPath})
	a.Aftersales = aftersale.New(s, now, a.Orders)
	a.Reviews = review.New(review.Deps{Store: s, Now: now, Orders: a.Orders, Content: a.Content, Shelf: a.Catalog, Pictures: a.Files})
	a.Notices = notice.New(notice.Deps{Store: s, Now: now, Log: log, WeChat: a.WeChat, Tasks: a.Engine, Zone: cfg.Zone()})
	a.Callbacks = callback.New(callback.Deps{Store: s, Now: now, Log: log})
	a.Jobs = job.New(job.Deps{
		Store: s, Now: now, Log: log, Files: a.private, Orders: a.Orders, Products: a.Catalog, Policies: a.Policies, Pictures: a.Files, Zone: cfg.Zone(),
	})
	a.worker = job.NewRunner(a.Jobs)
	a.Bills = reconcile.New(reconcile.Deps{Store: s, Now: now, Log: log, WeChat: a.WeChat, Orders: settler{a.Orders}, Tasks: a.Engine})
}

// registerEffects says what becomes of things whose text or picture was held.
func (a *App) registerEffects() {
	a.Content.Register(model.HoldNickname, a.Accounts.NicknameEffect())
	a.Content.Register(model.HoldAvatar, a.Accounts.AvatarEffect())
	a.Content.Register(model.HoldRemark, a.Orders.RemarkEffect())
	a.Content.Register(model.HoldReview, a.Reviews.Effect())
	a.Content.Register(model.HoldPicture, a.Reviews.Effect())
}

// registerKinds gives the timeout module everybody's deadlines.
func (a *App) registerKinds() error {
	kinds := slices.Concat(a.Orders.Kinds(), a.Content.Kinds(), a.Bills.Kinds(), []timeout.Kind{a.Notices.TimeoutKind()})
	for _, k := range kinds {
		if err := a.Engine.Register(k); err != nil {
			return err
		}
	}
	a.Deadlines = deadline.New(a.Store, a.Engine, map[string]string{
		order.KindPay: "orders", order.KindClosing: "orders", order.KindQuery: "payment_attempts", order.KindRefund: "refunds",
		order.KindRemind: "orders", order.KindShip: "orders", order.KindConfirm: "orders", order.KindAftersale: "aftersales",
		order.KindUpload: "orders", content.Kind: "content_holds", notice.Kind: "subscribe_messages",
	})
	return nil
}

// Start fills an empty shop and starts the components, each once those that it needs run: what follows the database (so that the
// first request already finds what was filled in), then the relay's subscribers and the relay, then the deadlines.
func (a *App) Start(ctx context.Context) error {
	for _, step := range []struct {
		name  string
		start func(context.Context) error
		stop  func(context.Context) error
	}{
		{"first things", a.fill, nil},
		{"callbacks", a.Callbacks.Start, a.Callbacks.Stop},
		{"revoked tokens", a.Accounts.Start, func(context.Context) error { a.Accounts.Stop(); return nil }},
		{"timeout policies", a.Policies.Start, func(context.Context) error { a.Policies.Stop(); return nil }},
		{"catalogue and search", a.Catalog.Start, func(context.Context) error { return a.Catalog.Stop() }},
		{"relay", a.Relay.Start, a.Relay.Stop},
		{"deadlines", a.Engine.Start, a.Engine.Stop},
		{"bills", a.Bills.Start, nil},
		{"jobs", a.worker.Start, a.worker.Stop},
		{"order centre", a.Centre.Start, a.Centre.Stop},
		{"tails of phone numbers", a.Tails.Start, a.Tails.Stop},
		{"removal of old rows", a.cleaner.Start, a.cleaner.Stop},
	} {
		if err := step.start(ctx); err != nil {
			return fmt.Errorf("starting %s: %w", step.name, err)
		}
		if step.stop != nil {
			a.parts = append(a.parts, part{step.name, step.stop})
		}
	}
	return nil
}

// Stop stops what runs, in the reverse order of its start, and returns when nothing of the shop is left. Work that is under way
// is finished, or left to other replicas.
func (a *App) Stop(ctx context.Context) error {
	var errs []error
	for _, p := range slices.Backward(a.parts) {
		a.Log.Debug("stopping", "part", p.name)
		stopping, cancel := context.WithTimeout(ctx, stopTime)
		if err := p.stop(stopping); err != nil {
			errs = append(errs, fmt.Errorf("stopping %s: %w", p.name, err))
		}
		cancel()
	}
	a.parts = nil
	return errors.Join(errs...)
}

func (a *App) opened(name string, stop func() error) {
	a.parts = append(a.parts, part{name, func(context.Context) error { return stop() }})
}
