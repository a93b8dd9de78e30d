package router

import (
	"context"
	"net/http"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/service/changelog"
)

// changes reports whether the calls of a route are to leave an entry in the change log: those of admins that write.
func changes(prefix, method string, d doc) bool {
	return prefix == adminPrefix && method != http.MethodGet && d.Unrecorded == ""
}

// merchantIn returns whose things a call changes that do not say so themselves: 0 is the platform.
func merchantIn(who access, a api.AdminIdentity) int64 {
	switch {
	case who.kind == Platform:
		return 0
	case who.kind == Admin && a.Platform:
		return a.Named
	}
	return a.MerchantID
}

// recorded lets an operation's changes be recorded under the call, and warns where one was answered with success but recorded nothing:
// a service has forgotten it.
func recorded[I, O any](r *Router, who access, operation string, fn func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) {
		a := api.Admin(ctx)
		call := &changelog.Call{
			Action: operation, AdminID: a.ID, AdminName: a.Username, MerchantID: merchantIn(who, a), RequestID: api.RequestID(ctx), IP: api.From(ctx).IP, Now: r.deps.Now,
		}
		out, err := fn(changelog.Begin(ctx, call), in)
		if err == nil && !call.Recorded() {
			r.deps.Log.Warn("a change is missing in the change log", "operation", operation, "request_id", call.RequestID)
		}
		return out, err
	}
}
