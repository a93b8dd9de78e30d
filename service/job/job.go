// Package job does long work that admins ask for: shipping by a file, importing products, exporting products and orders, re-timing
// orders that wait. A job goes on in steps, one for each row or part. The effect of a step, its result and the job's progress commit in
// one transaction, so that a kill at any instant repeats nothing and loses nothing.
package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
)

// Limits of jobs.
const (
	MaxBytes = 8 << 20 // of a file
	MaxLines = 20_000  // of a file, without its head
	MaxOpen  = 10      // jobs of one merchant that have not ended
	KeepDays = 30      // after its end a job is removed with its files
)

// Files is what jobs need of the store of private files.
type Files interface {
	Put(ctx context.Context, key string, data []byte) error
	// Open fails with not_found.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	Remove(ctx context.Context, prefix string) error
}

// Orders is what jobs do with orders.
type Orders interface {
	ParcelIDs(ctx context.Context, n int64) (int64, error)
	ShipIn(tx *store.Tx, merchantID int64, no, actor string, firstID int64, sh order.Shipment) error
	Count(ctx context.Context, f order.Filter) (int64, error)
	ListAfter(ctx context.Context, f order.Filter, after store.Cursor, limit int) ([]order.View, *store.Cursor, error)
	RetimePage(ctx context.Context, r order.Retiming, after store.Cursor, limit int) ([]*model.Order, *store.Cursor, error)
	Retime(ctx context.Context, id int64, r order.Retiming, then func(tx *store.Tx, from, to model.Time) error) error
}

// Products is what jobs do with products.
type Products interface {
	CheckEntry(ctx context.Context, e catalog.Entry) error
	PlanEntry(tx *store.Tx, merchantID int64, e catalog.Entry) (catalog.Imported, error)
	ImportIn(tx *store.Tx, merchantID int64, actor string, e catalog.Entry) (catalog.Imported, error)
	CategoryPaths(ctx context.Context, merchantID int64) (map[int64]string, error)
	AdminCount(ctx context.Context, merchantID int64, f catalog.AdminFilter) (int64, error)
	AdminAfter(ctx context.Context, merchantID int64, f catalog.AdminFilter, afterID int64, limit int) ([]catalog.Product, error)
}

// Policies is what jobs need of timeout policies.
type Policies interface {
	Lock(tx *store.Tx, by policy.By, id int64) (model.TimeoutPolicy, error)
	Visible(ctx context.Context, merchantID, id int64) error
	Present(ctx context.Context, id int64) (model.TimeoutPolicy, error)
	Refresh(ctx context.Context) error
}

// Pictures turns a key of the file store into an absolute URL; "" for the empty key.
type Pictures interface{ URL(key string) string }

// Deps is what the service is made of.
type Deps struct {
	Store    *store.Store
	Now      func() model.Time
	Log      *slog.Logger
	Files    Files
	Orders   Orders
	Products Products
	Policies Policies
	Pictures Pictures
	Zone     *time.Location // in which exports write times
}

// Service takes jobs in and tells of them; a Runner does them.
type Service struct {
	Deps

	wake chan struct{}
}

// New makes the service.
func New(d Deps) *Service { return &Service{Deps: d, wake: make(chan struct{}, 1)} }

// Caller is the admin who asks.
type Caller struct {
	MerchantID int64 // whose jobs they start and see
	Platform   bool  // an admin of the platform, who sees the jobs of no merchant too
	Named      int64 // the merchant that the platform has named; while it names none it may look at everybody's jobs
	Actor      string
	Name       string
	Can        func(account.Permission) bool
	English    bool // the language in which an export is written
}

// PermissionOf is what an admin needs to start jobs of a kind and to see them.
func PermissionOf(kind model.JobKind) account.Permission {
	switch kind {
	case model.JobShipBatch:
		return account.OrderWrite
	case model.JobProductImport:
		return account.CatalogWrite
	case model.JobProductExport:
		return account.CatalogRead
	case model.JobRetime:
		return account.TimeoutWrite
	case model.JobOrderExport:
	}
	return account.OrderRead
}

func (c Caller) allowed(kind model.JobKind) error {
	if p := PermissionOf(kind); !c.Can(p) {
		return fault.New(fault.PermissionDenied).Say("缺少权限 "+string(p), "The permission "+string(p)+" is missing")
	}
	return nil
}

// Upload is a file that a job reads.
type Upload struct {
	Name string
	Body io.Reader
}

// ShipBatch makes a job that ships the orders of a file. Fails with validation_failed for a file that cannot be read, naming its lines,
// body_too_large, state_conflict where MaxOpen jobs have not ended.
func (s *Service) ShipBatch(ctx context.Context, by Caller, up Upload) (model.Job, error) {
	return s.read(ctx, by, up, model.Job{Kind: model.JobShipBatch}, func(data []byte) (int, error) {
		rows, err := readSheet(data, shipColumns, false)
		if err != nil {
			return 0, err
		}
		return len(rows.lines), nil
	})
}

// ImportProducts makes a job that makes and changes products as a file says; a dry run says what that would do. It fails as ShipBatch.
func (s *Service) ImportProducts(ctx context.Context, by Caller, up Upload, dryRun bool) (model.Job, error) {
	return s.read(ctx, by, up, model.Job{Kind: model.JobProductImport, DryRun: dryRun}, func(data []byte) (int, error) {
		products, err := readProducts(data)
		return len(products), err
	})
}

// read stores a file that check finds in order, and makes the job that reads it.
func (s *Service) read(ctx context.Context, by Caller, up Upload, j model.Job, check func(data []byte) (rows int, err error)) (model.Job, error) {
	if err := by.allowed(j.Kind); err != nil {
		return j, err
	}
	data, err := io.ReadAll(io.LimitReader(up.Body, MaxBytes+1))
	if err != nil {
		return j, err
	}
	if len(data) > MaxBytes {
		return j, fault.New(fault.BodyTooLarge).Say("文件不能超过 8 MiB，请分成几个文件", "A file may have 8 MiB at most; split it")
	}
	rows, err := check(data)
	if err != nil {
		return j, err
	}
	if j.ID, err = s.Store.NextIDs(ctx, "jobs", 1); err != nil {
		return j, err
	}
	j.FileName, j.Total, j.Input = cleanName(up.Name), int64(rows), folder(j.ID)+"input.csv"
	if err := s.Files.Put(ctx, j.Input, data); err != nil {
		return j, err
	}
	if j, err = s.add(ctx, by, j); err != nil {
		return j, errors.Join(err, s.Files.Remove(context.WithoutCancel(ctx), folder(j.ID)))
	}
	return j, nil
}

// folder is where a job's files lie in the private store.
func folder(jobID int64) string { return fmt.Sprintf("jobs/%d/", jobID) }

// cleanName leaves of a file's name what can be shown.
func cleanName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	kept := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name))
	return string(kept[max(0, len(kept)-100):])
}

// export makes a job that writes a file of what params say.
func (s *Service) export(ctx context.Context, by Caller, kind model.JobKind, params any) (model.Job, error) {
	j := model.Job{Kind: kind}
	if err := by.allowed(kind); err != nil {
		return j, err
	}
	b, err := json.Marshal(params)
	if err != nil {
		return j, err
	}
	j.Params = string(b)
	if j.ID, err = s.Store.NextIDs(ctx, "jobs", 1); err != nil {
		return j, err
	}
	return s.add(ctx, by, j)
}

func (s *Service) add(ctx context.Context, by Caller, j model.Job) (model.Job, error) {
	j.MerchantID = by.MerchantID
	err := s.Store.Tx(ctx, func(tx *store.Tx) error { return s.addIn(tx, by, &j) })
	return j, err
}

// addIn stores a new job of the merchant that it names.
func (s *Service) addIn(tx *store.Tx, by Caller, j *model.Job) error {
	now := s.Now()
	j.Actor, j.ActorName, j.State, j.CreatedAt, j.UpdatedAt = by.Actor, by.Name, model.JobWaiting, now, now
	var open int64
	if err := tx.Raw("SELECT COUNT(*) FROM jobs WHERE state IN ? AND merchant_id = ?", model.JobsOpen, j.MerchantID).Scan(&open).Error; err != nil {
		return err
	}
	if open >= MaxOpen {
		return fault.New(fault.StateConflict).Say("未结束的任务已达 10 个，请等其中一些结束", "10 jobs have not ended yet; wait for some of them")
	}
	tx.AfterCommit(s.Wake)
	if err := tx.Create(j).Error; err != nil {
		return err
	}
	return record(tx, *j, nil, fields(*j))
}

// record keeps in the change log what an admin did about a job.
func record(tx *store.Tx, j model.Job, before, after map[string]any) error {
	if before == nil { // a nil map in an interface is not nil
		return changelog.Record(tx, changelog.Job, j.ID, nil, after)
	}
	return changelog.Record(tx, changelog.Job, j.ID, before, after)
}

// fields are what the change log keeps of a new job.
func fields(j model.Job) map[string]any {
	return map[string]any{
		"merchant_id": j.MerchantID, "kind": j.Kind, "state": j.State, "dry_run": j.DryRun, "file_name": j.FileName, "total": j.Total, "params": j.Params,
		"policy_id": j.PolicyID, "policy_version": j.PolicyVersion,
	}
}

// Wake makes the runner of this process look for jobs now; it never blocks.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Filter narrows the list of jobs; zero fields do not.
type Filter struct {
	Kind  model.JobKind
	State model.JobState
}

// List returns a page of the merchant's jobs, for the platform with those of no merchant, of the kinds that the caller may see, newest
// first, and how many there are.
func (s *Service) List(ctx context.Context, by Caller, f Filter, p store.Page) (jobs []model.Job, n int64, err error) {
	kinds := slices.DeleteFunc(slices.Clone(model.JobKinds), func(k model.JobKind) bool {
		return by.allowed(k) != nil || f.Kind != "" && k != f.Kind
	})
	if len(kinds) == 0 {
		return nil, 0, nil
	}
	merchants := []int64{by.MerchantID}
	if by.Platform {
		merchants = append(merchants, 0)
	}
	rows := func() *gorm.DB {
		q := s.Store.Read(ctx).Model(&model.Job{}).Where("merchant_id IN ? AND kind IN ?", merchants, kinds)
		if f.State != "" {
			q = q.Where("state = ?", f.State)
		}
		return q
	}
	if err := rows().Count(&n).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	err = rows().Order("id DESC").Offset(p.Offset()).Limit(p.Limit).Find(&jobs).Error
	return jobs, n, store.Classify(err)
}

// sees reports whether the caller may look at a merchant's jobs.
func (c Caller) sees(merchantID int64) bool {
	return merchantID == c.MerchantID || c.Platform && (merchantID == 0 || c.Named == 0)
}

// Get returns one of the jobs that the caller may look at, or fails with not_found or permission_denied.
func (s *Service) Get(ctx context.Context, by Caller, id int64) (model.Job, error) {
	var rows []model.Job
	if err := s.Store.Read(ctx).Where("id = ?", id).Find(&rows).Error; err != nil {
		return model.Job{}, store.Classify(err)
	}
	if len(rows) == 0 || !by.sees(rows[0].MerchantID) {
		return model.Job{}, fault.New(fault.NotFoundError)
	}
	return rows[0], by.allowed(rows[0].Kind)
}

// Rows returns a page of the results of a job's rows in the order of the file, and how many there are; state may be empty. An export
// has none. It fails as Get.
func (s *Service) Rows(ctx context.Context, by Caller, id int64, state model.JobRowState, p store.Page) (rows []model.JobRow, n int64, err error) {
	j, err := s.Get(ctx, by, id)
	if err != nil || j.Kind.Exports() {
		return nil, 0, err
	}
	q := func() *gorm.DB {
		q := s.Store.Read(ctx).Model(&model.JobRow{}).Where("job_id = ?", id)
		if state != "" {
			q = q.Where("state = ?", state)
		}
		return q
	}
	if err := q().Count(&n).Error; err != nil {
		return nil, 0, store.Classify(err)
	}
	err = q().Order("row_no").Offset(p.Offset()).Limit(p.Limit).Find(&rows).Error
	return rows, n, store.Classify(err)
}

// Cancel ends a job between two of its rows; what it did stays. It fails as Get, and with state_conflict where the job has ended.
func (s *Service) Cancel(ctx context.Context, by Caller, id int64) (model.Job, error) {
	j, err := s.Get(ctx, by, id)
	if err != nil {
		return model.Job{}, err
	}
	if err = s.Store.Tx(ctx, func(tx *store.Tx) error { return s.cancelIn(tx, j) }); err != nil {
		return model.Job{}, err
	}
	return s.Get(ctx, by, id)
}

func (s *Service) cancelIn(tx *store.Tx, j model.Job) error {
	ok, err := s.move(tx, j.ID, model.JobCancelled, "", "")
	if err == nil && !ok {
		err = fault.New(fault.StateConflict).Say("任务已结束", "The job has ended")
	}
	if err != nil {
		return err
	}
	return record(tx, j, map[string]any{"state": j.State}, map[string]any{"state": model.JobCancelled})
}

// move ends a job; ok is false where it may not come to that state any more, or is not the token's (empty: anybody's).
func (s *Service) move(tx *store.Tx, id int64, to model.JobState, token, why string) (ok bool, err error) {
	query, args := "UPDATE jobs SET state = ?, error = ?, lease_until = 0, updated_at = ?, ended_at = ? WHERE id = ? AND state IN ?",
		[]any{to, why, s.Now(), s.Now(), id, model.JobTransitions.From(to)}
	if token != "" {
		query, args = query+" AND lease_token = ?", append(args, token)
	}
	n, err := tx.Affected(query, args...)
	return n == 1, err
}
