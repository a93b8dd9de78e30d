package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
)

// RetimeJob is the job of giving the orders that wait the deadlines of a policy.
type RetimeJob struct {
	ID        int64          `json:"id" doc:"Of the job, as in /jobs"`
	PolicyID  int64          `json:"policy_id"`
	Version   int64          `json:"version" doc:"Of the policy"`
	Status    model.JobState `json:"status" enum:"waiting,running,done,failed,cancelled"`
	Total     int64          `json:"total" doc:"Orders that it moves, counted when it starts"`
	Seen      int64          `json:"seen" doc:"Those of them that have their result"`
	Changed   int64          `json:"changed" doc:"Orders that got another deadline"`
	Skipped   int64          `json:"skipped" doc:"Orders that were to get one and could not: somebody was at work on them, they turned out paid, or WeChat did not answer"`
	Actor     string         `json:"actor" doc:"Who asked for it" example:"admin:3"`
	Error     string         `json:"error,omitempty" doc:"The code of what ended a failed one: stale_version where the policy was changed meanwhile"`
	CreatedAt model.Time     `json:"created_at" format:"date-time"`
	UpdatedAt model.Time     `json:"updated_at" format:"date-time"`
	EndedAt   model.Time     `json:"ended_at,omitempty" format:"date-time"`
}

func retimeJobOf(j model.Job) RetimeJob {
	return RetimeJob{
		ID: j.ID, PolicyID: j.PolicyID, Version: j.PolicyVersion, Status: j.State, Total: j.Total, Seen: j.Done, Changed: j.Done - j.Failed, Skipped: j.Failed,
		Actor: j.Actor, Error: j.Error, CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt, EndedAt: j.EndedAt,
	}
}

// Retime starts a job that gives the orders that wait the deadlines of the policy as it is now.
func (p *Policies) Retime(ctx context.Context, in *PolicyInput) (*api.Reply[RetimeJob], error) {
	j, err := p.Jobs.Retime(ctx, caller(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return api.Body(retimeJobOf(j)), nil
}

// Retimings returns the policy's newest re-timings with their progress, newest first.
func (p *Policies) Retimings(ctx context.Context, in *PolicyInput) (*api.Reply[api.All[RetimeJob]], error) {
	rows, err := p.Jobs.Retimings(ctx, caller(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	out := make([]RetimeJob, len(rows))
	for i, r := range rows {
		out[i] = retimeJobOf(r)
	}
	return api.NewAll(out), nil
}

// CancelRetime ends the policy's re-timing that has not ended; what it changed stays.
func (p *Policies) CancelRetime(ctx context.Context, in *PolicyInput) (*api.Empty, error) {
	return nil, p.Jobs.CancelRetime(ctx, caller(ctx), in.ID)
}
