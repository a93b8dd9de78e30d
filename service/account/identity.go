package account

import (
	"slices"

	"github.com/tidemall/tidemall/model"
)

// AdminIdentity is the admin that a valid token names, and the merchant they act for.
type AdminIdentity struct {
	ID       int64
	Username string
	// Platform is true for admins of the platform, who may act for any merchant.
	Platform bool
	// MerchantID is the merchant acted for: a merchant's admin's own; for the platform the one that the request names, else the
	// first. It is 0 only for the platform while there is no merchant.
	MerchantID int64
	// Named is the merchant that the request named, 0 where it named none. Lists that show the platform everything unless a
	// merchant is named look at it.
	Named       int64
	Permissions []Permission
	// Token is what Logout and the like need to know of the token.
	Token TokenRef
}

// Can reports whether the admin has the permission.
func (a AdminIdentity) Can(p Permission) bool { return slices.Contains(a.Permissions, p) }

// ShopperIdentity is the shopper that a valid token names.
type ShopperIdentity struct {
	ID    int64
	Token TokenRef
}

// TokenRef names one issued token.
type TokenRef struct {
	JTI       string
	ExpiresAt model.Time
}
