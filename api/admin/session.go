package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
)

// Sessions has the operations on where the caller is logged in.
type Sessions struct {
	Service interface {
		Sessions(ctx context.Context, by account.AdminIdentity) ([]model.AdminSession, error)
		EndSession(ctx context.Context, by account.AdminIdentity, id int64) error
		EndOtherSessions(ctx context.Context, by account.AdminIdentity) error
		EndAllSessions(ctx context.Context, by account.AdminIdentity) error
	}
}

// Session is one login that goes on.
type Session struct {
	ID         int64      `json:"id"`
	Current    bool       `json:"current" doc:"The one that asks"`
	IP         string     `json:"ip,omitempty" doc:"Where it began"`
	UserAgent  string     `json:"user_agent,omitempty" doc:"Shortened"`
	CreatedAt  model.Time `json:"created_at" format:"date-time"`
	LastSeenAt model.Time `json:"last_seen_at" format:"date-time" doc:"To about a minute"`
	ExpiresAt  model.Time `json:"expires_at" format:"date-time"`
}

// List returns the caller's sessions.
func (s *Sessions) List(ctx context.Context, _ *struct{}) (*api.Reply[api.All[Session]], error) {
	by := api.Admin(ctx)
	rows, err := s.Service.Sessions(ctx, by)
	if err != nil {
		return nil, err
	}
	out := make([]Session, len(rows))
	for i, r := range rows {
		out[i] = Session{
			ID: r.ID, Current: r.JTI == by.Token.JTI, IP: r.IP, UserAgent: r.Agent,
			CreatedAt: r.CreatedAt, LastSeenAt: r.LastSeenAt, ExpiresAt: r.ExpiresAt,
		}
	}
	return api.NewAll(out), nil
}

// End ends one of the caller's sessions.
func (s *Sessions) End(ctx context.Context, in *api.IDPath) (*api.Empty, error) {
	return nil, s.Service.EndSession(ctx, api.Admin(ctx), in.ID)
}

// EndOthers ends all of the caller's sessions but this one.
func (s *Sessions) EndOthers(ctx context.Context, _ *struct{}) (*api.Empty, error) {
	return nil, s.Service.EndOtherSessions(ctx, api.Admin(ctx))
}

// EndAll ends all of the caller's sessions.
func (s *Sessions) EndAll(ctx context.Context, _ *struct{}) (*api.Empty, error) {
	return nil, s.Service.EndAllSessions(ctx, api.Admin(ctx))
}
