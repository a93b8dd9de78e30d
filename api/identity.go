package api

import (
	"context"
	"fmt"

	"github.com/tidemall/tidemall/service/account"
)

// AdminIdentity is the admin who calls and the merchant they act for.
type AdminIdentity = account.AdminIdentity

// ShopperIdentity is the shopper who calls.
type ShopperIdentity = account.ShopperIdentity

// Authenticator knows whose a bearer token is. Errors have the codes token_invalid, merchant_disabled, not_found (the named
// merchant) and permission_denied (another's merchant).
type Authenticator interface {
	// AuthenticateShopper refuses an admin's token.
	AuthenticateShopper(ctx context.Context, token string) (ShopperIdentity, error)
	// AuthenticateAdmin refuses a shopper's token. merchantID is the merchant that the request names, 0 for none.
	AuthenticateAdmin(ctx context.Context, token string, merchantID int64) (AdminIdentity, error)
}

// SetShopper records who calls.
func SetShopper(ctx context.Context, s ShopperIdentity) {
	c := callOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shopper, c.caller = &s, fmt.Sprintf("shopper:%d", s.ID)
}

// SetAdmin records who calls.
func SetAdmin(ctx context.Context, a AdminIdentity) {
	c := callOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.admin, c.caller = &a, fmt.Sprintf("admin:%d", a.ID)
}

// Shopper returns the id of the shopper who calls; 0 where an operation is open to visitors and nobody is logged in.
func Shopper(ctx context.Context) int64 { return ShopperOf(ctx).ID }

// ShopperOf returns the shopper who calls, with the token; zero for a visitor.
func ShopperOf(ctx context.Context) ShopperIdentity {
	c := callOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shopper == nil {
		return ShopperIdentity{}
	}
	return *c.shopper
}

// Admin returns the admin who calls. Only operations that the route table gives to admins may ask.
func Admin(ctx context.Context) AdminIdentity {
	c := callOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.admin == nil {
		return AdminIdentity{}
	}
	return *c.admin
}
