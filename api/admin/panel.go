package admin

import (
	"context"
	"slices"
	"time"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/deadline"
	"github.com/tidemall/tidemall/service/report"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

// Panel has the operations about the panel itself: what it needs to begin, and what its menu counts.
type Panel struct {
	Figures interface {
		Waiting(ctx context.Context, merchantID int64, unowned bool) (report.Waiting, error)
	}
	Tasks interface {
		Failures(ctx context.Context, f deadline.Filter, page store.Page) ([]timeout.Failure, int64, error)
	}
	// Zone is shop.timezone.
	Zone    *time.Location
	Version string
}

// PanelStart is what the panel needs to begin.
type PanelStart struct {
	Timezone string `json:"timezone" doc:"In which days begin and times are shown" example:"Asia/Shanghai"`
	Version  string `json:"version" doc:"Of the program"`
	Admin    Self   `json:"admin"`
}

// Start returns who is logged in and what the panel needs to know besides.
func (p *Panel) Start(ctx context.Context, _ *struct{}) (*api.Reply[PanelStart], error) {
	return api.Body(PanelStart{Timezone: p.Zone.String(), Version: p.Version, Admin: selfOf(api.Admin(ctx))}), nil
}

// A Todo counts what waits for a person, up to a thousand each. What the caller's role does not allow to see is absent.
type Todo struct {
	ToShip       int64 `json:"to_ship,omitempty" doc:"Paid orders"`
	Aftersales   int64 `json:"aftersales,omitempty" doc:"To be answered, or sent back and to be received"`
	ContentHolds int64 `json:"content_holds,omitempty"`
	Anomalies    int64 `json:"anomalies,omitempty"`
	DeadTasks    int64 `json:"dead_tasks,omitempty"`
	DeadMessages int64 `json:"dead_messages,omitempty"`
}

// Waiting counts what waits for a person of the merchant, and for the platform also what is no merchant's.
func (p *Panel) Waiting(ctx context.Context, _ *struct{}) (*api.Reply[Todo], error) {
	who := api.Admin(ctx)
	t, err := p.Figures.Waiting(ctx, who.MerchantID, who.Platform)
	if err != nil {
		return nil, err
	}
	_, dead, err := p.Tasks.Failures(ctx, deadline.Filter{MerchantID: seeing(ctx), Dead: true}, store.Page{Number: 1, Limit: 1})
	if err != nil {
		return nil, err
	}
	ifAllowed := func(permission account.Permission, n int64) int64 {
		if !slices.Contains(who.Permissions, permission) {
			return 0
		}
		return n
	}
	return api.Body(Todo{
		ToShip:       ifAllowed(account.OrderRead, t.ToShip),
		Aftersales:   ifAllowed(account.OrderRead, t.Aftersales),
		ContentHolds: ifAllowed(account.ReviewRead, t.ContentHolds),
		Anomalies:    ifAllowed(account.AnomalyRead, t.Anomalies),
		DeadTasks:    ifAllowed(account.TimeoutRead, dead),
		DeadMessages: ifAllowed(account.MessageRead, t.DeadMessages),
	}), nil
}
