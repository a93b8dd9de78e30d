package api

import (
	"context"
	"sync"
	"time"

	"github.com/tidemall/tidemall/service/account"
)

// Call is what one request carries in its context. Middleware makes it with Begin; operations read it with the functions below.
type Call struct {
	RequestID string
	Language  Language
	// Zone is shop.timezone: days in filters and reports are counted in it.
	Zone *time.Location
	// From is where the request comes from, as far as the proxies in between are trusted.
	From account.Client

	mu      sync.Mutex
	err     error
	caller  string
	shopper *account.ShopperIdentity
	admin   *account.AdminIdentity
}

type callKey struct{}

// Begin puts a call into the context.
func Begin(ctx context.Context, c *Call) context.Context { return context.WithValue(ctx, callKey{}, c) }

func callOf(ctx context.Context) *Call {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c
	}
	return &Call{Zone: time.UTC}
}

// RequestID returns the id under which the request is logged, "" outside of one.
func RequestID(ctx context.Context) string { return callOf(ctx).RequestID }

// LanguageOf returns the language in which the caller wants texts.
func LanguageOf(ctx context.Context) Language { return callOf(ctx).Language }

// Zone returns the time zone in which the shop counts days.
func Zone(ctx context.Context) *time.Location { return callOf(ctx).Zone }

// From returns where the request comes from.
func From(ctx context.Context) account.Client { return callOf(ctx).From }

// Note keeps the error of a request for its line in the log.
func Note(ctx context.Context, err error) {
	c := callOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// Noted returns the error that the request ended with, or nil.
func Noted(ctx context.Context) error {
	c := callOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Caller returns who calls, such as "shopper:12" or "admin:3"; "" for nobody known. It is what order events name as actor.
func Caller(ctx context.Context) string {
	c := callOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.caller
}
