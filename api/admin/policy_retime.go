package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
)

// RetimeJob is the work of giving the orders that wait the deadlines of a policy.
type RetimeJob struct {
	ID        int64             `json:"id"`
	PolicyID  int64             `json:"policy_id"`
	Version   int64             `json:"version" doc:"Of the policy"`
	State     model.RetimeState `json:"state" enum:"running,done,failed,cancelled"`
	Seen      int64             `json:"seen" doc:"Orders that were looked at so far"`
	Changed   int64             `json:"changed" doc:"Orders that got another deadline"`
	Skipped   int64             `json:"skipped" doc:"Orders that were to get one and could not: somebody was at work on them, they turned out paid, or WeChat did not answer"`
	Actor     string            `json:"actor" doc:"Who asked for it" example:"admin:3"`
	Error     string            `json:"error,omitempty" doc:"Why it ended, if not at the end"`
	CreatedAt model.Time        `json:"created_at" format:"date-time"`
	UpdatedAt model.Time        `json:"updated_at" format:"date-time"`
	EndedAt   model.Time        `json:"ended_at,omitempty" format:"date-time"`
}

func retimeJobOf(j model.RetimeJob) RetimeJob {
	return RetimeJob{
		ID: j.ID, PolicyID: j.PolicyID, Version: j.Version, State: j.State, Seen: j.Seen, Changed: j.Changed, Skipped: j.Skipped,
		Actor: j.Actor, Error: j.Error, CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt, EndedAt: j.EndedAt,
	}
}

// Retime starts a job that gives the orders that wait the deadlines of the policy as it is now.
func (p *Policies) Retime(ctx context.Context, in *PolicyInput) (*api.Reply[RetimeJob], error) {
	job, err := p.Service.Retime(ctx, changing(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return api.Body(retimeJobOf(job)), nil
}

// RetimeJobs returns the policy's newest jobs with their progress, newest first.
func (p *Policies) RetimeJobs(ctx context.Context, in *PolicyInput) (*api.Reply[api.All[RetimeJob]], error) {
	rows, err := p.Service.RetimeJobs(ctx, seeing(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	out := make([]RetimeJob, len(rows))
	for i, r := range rows {
		out[i] = retimeJobOf(r)
	}
	return api.NewAll(out), nil
}

// CancelRetime ends the policy's running job; what it changed stays.
func (p *Policies) CancelRetime(ctx context.Context, in *PolicyInput) (*api.Empty, error) {
	return nil, p.Service.CancelRetime(ctx, changing(ctx), in.ID)
}
