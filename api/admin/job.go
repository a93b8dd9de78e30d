package admin

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/job"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/store"
)

// Jobs has the operations of long work.
type Jobs struct {
	Service interface {
		ShipBatch(ctx context.Context, by job.Caller, up job.Upload) (model.Job, error)
		ImportProducts(ctx context.Context, by job.Caller, up job.Upload, dryRun bool) (model.Job, error)
		ExportProducts(ctx context.Context, by job.Caller, f catalog.AdminFilter) (model.Job, error)
		ExportOrders(ctx context.Context, by job.Caller, f order.Filter) (model.Job, error)
		List(ctx context.Context, by job.Caller, f job.Filter, p store.Page) ([]model.Job, int64, error)
		Get(ctx context.Context, by job.Caller, id int64) (model.Job, error)
		Rows(ctx context.Context, by job.Caller, id int64, state model.JobRowState, p store.Page) ([]model.JobRow, int64, error)
		Result(ctx context.Context, by job.Caller, id int64) (*job.Result, error)
		Cancel(ctx context.Context, by job.Caller, id int64) (model.Job, error)
	}
}

// Job is long work with its progress.
type Job struct {
	ID        int64          `json:"id"`
	Kind      model.JobKind  `json:"kind" enum:"ship_batch,product_import,product_export,order_export,retime"`
	Status    model.JobState `json:"status" enum:"waiting,running,done,failed,cancelled" doc:"done: every row has its result, though some may have failed"`
	DryRun    bool           `json:"dry_run,omitempty" doc:"It says what it would do and changes nothing"`
	FileName  string         `json:"file_name,omitempty" doc:"The file that it reads"`
	PolicyID  int64          `json:"policy_id,omitempty" doc:"The timeout policy by which it re-times orders"`
	Total     int64          `json:"total" doc:"Rows; of a job without a file, counted when it starts"`
	Done      int64          `json:"done" doc:"Rows that have their result, or were written"`
	Failed    int64          `json:"failed" doc:"Of the done ones, those that failed"`
	Actor     string         `json:"actor" doc:"Who asked for it" example:"admin:3"`
	ActorName string         `json:"actor_name,omitempty" doc:"Their username, when they asked"`
	Error     string         `json:"error,omitempty" doc:"The code of what ended a failed job"`
	CreatedAt model.Time     `json:"created_at" format:"date-time"`
	UpdatedAt model.Time     `json:"updated_at" format:"date-time"`
	StartedAt model.Time     `json:"started_at,omitempty" format:"date-time"`
	EndedAt   model.Time     `json:"ended_at,omitempty" format:"date-time"`
}

func jobOf(j model.Job) Job {
	return Job{
		ID: j.ID, Kind: j.Kind, Status: j.State, DryRun: j.DryRun, FileName: j.FileName, PolicyID: j.PolicyID, Total: j.Total, Done: j.Done, Failed: j.Failed,
		Actor: j.Actor, ActorName: j.ActorName, Error: j.Error, CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt, StartedAt: j.StartedAt, EndedAt: j.EndedAt,
	}
}

// JobRow is the result of one row of a job.
type JobRow struct {
	Row     int64             `json:"row" doc:"From 1"`
	Line    int64             `json:"line" doc:"Of the file, where the row begins; the row of a job without a file"`
	Subject string            `json:"subject" doc:"What it is about: an order's number, a product's code and name"`
	Status  model.JobRowState `json:"status" enum:"ok,failed"`
	Outcome string            `json:"outcome" doc:"shipped; created, updated, unchanged; retimed; or the code of what failed"`
	Message string            `json:"message" doc:"For people"`
}

// caller is the admin who asks.
func caller(ctx context.Context) job.Caller {
	a := api.Admin(ctx)
	return job.Caller{
		MerchantID: a.MerchantID, Platform: a.Platform, Named: a.Named, Actor: api.Caller(ctx), Name: a.Username, Can: a.Can,
		English: api.LanguageOf(ctx) == api.English,
	}
}

func jobReply(j model.Job, err error) (*api.Reply[Job], error) {
	if err != nil {
		return nil, err
	}
	return api.Body(jobOf(j)), nil
}

// JobFileInput is a CSV file in a multipart form.
type JobFileInput struct {
	RawBody huma.MultipartFormFiles[struct {
		File huma.FormFile `form:"file" required:"false" doc:"CSV in UTF-8, at most 8 MiB and 20,000 lines"`
	}]
}

// read calls fn with the form's only file.
func (in *JobFileInput) read(fn func(up job.Upload) (model.Job, error)) (*api.Reply[Job], error) {
	files := in.RawBody.Form.File["file"]
	if len(files) != 1 {
		return nil, fault.New(fault.ValidationFailed).With("file", fault.FieldRequired, "请在 file 字段上传一个 CSV 文件", "must be one CSV file")
	}
	r, err := files[0].Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // was only read
	return jobReply(fn(job.Upload{Name: files[0].Filename, Body: r}))
}

// ShipBatch makes a job that ships the orders of a file.
func (o *Jobs) ShipBatch(ctx context.Context, in *JobFileInput) (*api.Reply[Job], error) {
	return in.read(func(up job.Upload) (model.Job, error) { return o.Service.ShipBatch(ctx, caller(ctx), up) })
}

// ProductImportInput is a file of products.
type ProductImportInput struct {
	JobFileInput
	DryRun bool `query:"dry_run" doc:"Only say what would be done"`
}

// ImportProducts makes a job that makes and changes products as a file says.
func (o *Jobs) ImportProducts(ctx context.Context, in *ProductImportInput) (*api.Reply[Job], error) {
	return in.read(func(up job.Upload) (model.Job, error) {
		return o.Service.ImportProducts(ctx, caller(ctx), up, in.DryRun)
	})
}

// ProductExportInput says which products are exported.
type ProductExportInput struct{ ProductFilter }

// ExportProducts makes a job that writes products into a file.
func (o *Jobs) ExportProducts(ctx context.Context, in *ProductExportInput) (*api.Reply[Job], error) {
	return jobReply(o.Service.ExportProducts(ctx, caller(ctx), in.filter()))
}

// OrderExportInput says which orders are exported.
type OrderExportInput struct{ OrderFilter }

// ExportOrders makes a job that writes orders into a file.
func (o *Jobs) ExportOrders(ctx context.Context, in *OrderExportInput) (*api.Reply[Job], error) {
	f, err := in.filter(ctx)
	if err != nil {
		return nil, err
	}
	return jobReply(o.Service.ExportOrders(ctx, caller(ctx), f))
}

// JobListInput asks for a page of the merchant's jobs.
type JobListInput struct {
	api.PageInput
	Kind   model.JobKind  `query:"kind" enum:"ship_batch,product_import,product_export,order_export,retime" doc:"Only jobs of this kind"`
	Status model.JobState `query:"status" enum:"waiting,running,done,failed,cancelled" doc:"Only jobs that stand here"`
}

// List returns the merchant's jobs, for the platform with those of no merchant, of the kinds that the caller may start, newest first.
func (o *Jobs) List(ctx context.Context, in *JobListInput) (*api.Reply[api.List[Job]], error) {
	rows, n, err := o.Service.List(ctx, caller(ctx), job.Filter{Kind: in.Kind, State: in.Status}, in.Numbered())
	if err != nil {
		return nil, err
	}
	out := make([]Job, len(rows))
	for i, r := range rows {
		out[i] = jobOf(r)
	}
	return api.NewList(out, n, in.PageInput), nil
}

// JobInput names a job.
type JobInput struct{ api.IDPath }

// Get returns a job with its progress.
func (o *Jobs) Get(ctx context.Context, in *JobInput) (*api.Reply[Job], error) {
	return jobReply(o.Service.Get(ctx, caller(ctx), in.ID))
}

// Cancel ends a job between two of its rows.
func (o *Jobs) Cancel(ctx context.Context, in *JobInput) (*api.Reply[Job], error) {
	return jobReply(o.Service.Cancel(ctx, caller(ctx), in.ID))
}

// JobRowsInput asks for a page of a job's results.
type JobRowsInput struct {
	api.IDPath
	api.PageInput
	Status model.JobRowState `query:"status" enum:"ok,failed" doc:"Only rows that ended so"`
}

// Rows returns the results of a job's rows, in the order of the file.
func (o *Jobs) Rows(ctx context.Context, in *JobRowsInput) (*api.Reply[api.List[JobRow]], error) {
	rows, n, err := o.Service.Rows(ctx, caller(ctx), in.ID, in.Status, in.Numbered())
	if err != nil {
		return nil, err
	}
	out := make([]JobRow, len(rows))
	for i, r := range rows {
		out[i] = JobRow{
			Row: r.RowNo, Line: r.Line, Subject: r.Subject, Status: r.State, Outcome: r.Outcome,
			Message: api.LanguageOf(ctx).Pick(fault.Text{ZH: r.TextZH, EN: r.TextEN}),
		}
	}
	return api.NewList(out, n, in.PageInput), nil
}

// Result sends a job's results as CSV, or the file of an export.
func (o *Jobs) Result(ctx context.Context, in *JobInput) (*huma.StreamResponse, error) {
	result, err := o.Service.Result(ctx, caller(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		c := humagin.Unwrap(hc)
		h := c.Writer.Header()
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", result.Name))
		if result.Size >= 0 {
			h.Set("Content-Length", strconv.FormatInt(result.Size, 10))
		}
		if err := result.Write(hc.Context(), c.Writer); err != nil {
			api.Note(ctx, err)
			panic(http.ErrAbortHandler) // a file cut short must not look whole
		}
	}}, nil
}
