// Package order is the shop's main road: quote, place, pay, settle, close, ship, confirm. It orchestrates; inventory, coupon,
// payment and event are called inside its transactions and never call it back.
package order

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/content"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/timeout"
)

// Scheduler hands deadlines to the timeout module. Its errors are only logged: the database is asked again.
type Scheduler interface {
	Schedule(ctx context.Context, tasks ...timeout.Task) error
}

// Catalog tells what is for sale.
type Catalog interface {
	Sellables(db *gorm.DB, skuIDs []int64) ([]catalog.Sellable, error)
	CategoryPath(merchantID, categoryID int64) []int64
}

// Content judges remarks before the merchant sees them.
type Content interface {
	// Judge asks WeChat about a text: content_refused, or whether it is to be held.
	Judge(ctx context.Context, q content.Question) (content.Judgement, error)
	Hold(tx *store.Tx, n content.Withheld) error
}

// Policies decide how long a stage may take.
type Policies interface {
	Resolve(stage string, q policy.Query) policy.Decision
}

// Deps is what the service is made of.
type Deps struct {
	Store    *store.Store
	Now      func() model.Time
	Log      *slog.Logger
	Catalog  Catalog
	Policies Policies
	Tasks    Scheduler
	WeChat   WeChat
	Content  Content
	// Relayed is told after a commit that wrote messages, so that they need not wait for the next poll.
	Relayed func()
	// Rows is told of every batch of due orders how many rows it was to change and how many it did; nil is told nothing.
	Rows func(kind string, expected, affected int64)
	// MaxUnpaid is how many unpaid orders a shopper may have.
	MaxUnpaid int64
	// ReviewFor is how long after an order was completed its lines can be reviewed; 0: not at all.
	ReviewFor time.Duration
	// AftersaleWindow is how long after an order's completion after-sales can be asked for; 0 for ever.
	AftersaleWindow time.Duration
	// Zone is the shop's time zone; order numbers carry its date.
	Zone *time.Location
	// Tracer makes the spans of what is done about orders; nil makes none.
	Tracer trace.Tracer
}

// Service is safe for concurrent use; many replicas may run over one database.
type Service struct {
	Deps
	queue queues
}

// New returns the service.
func New(d Deps) *Service {
	if d.Tracer == nil {
		d.Tracer = noop.NewTracerProvider().Tracer("")
	}
	return &Service{Deps: d}
}

// lock reads the order under its row lock. not_found if there is none.
func (s *Service) lock(tx *store.Tx, id int64) (*model.Order, error) {
	return one(tx.Raw("SELECT * FROM orders WHERE id = ?"+tx.ForUpdate(), id))
}

// byNo reads an order without a lock. merchantID and shopperID narrow the search unless 0; not_found if there is none.
func (s *Service) byNo(ctx context.Context, no string, merchantID, shopperID int64) (*model.Order, error) {
	q := s.Store.Read(ctx).Where("no = ?", no)
	if merchantID != 0 {
		q = q.Where("merchant_id = ?", merchantID)
	}
	if shopperID != 0 {
		q = q.Where("shopper_id = ?", shopperID)
	}
	return one(q.Limit(1))
}

func one(q *gorm.DB) (*model.Order, error) {
	var rows []model.Order
	if err := q.Find(&rows).Error; err != nil {
		return nil, store.Classify(err)
	}
	if len(rows) == 0 {
		return nil, fault.New(fault.NotFoundError)
	}
	return &rows[0], nil
}

// lines reads the lines of an order in their order.
func lines(db *gorm.DB, orderID int64) ([]model.OrderLine, error) {
	var rows []model.OrderLine
	err := db.Where("order_id = ?", orderID).Order("line_no").Find(&rows).Error
	return rows, store.Classify(err)
}

// schedule tells the timeout module of deadlines, after the commit that made them.
func (s *Service) schedule(ctx context.Context, tasks ...timeout.Task) {
	if err := s.Tasks.Schedule(ctx, tasks...); err != nil {
		s.Log.WarnContext(ctx, "a deadline could not be scheduled; the database will be asked for it", "error", err, "first", tasks[0].Kind+":"+tasks[0].Key)
	}
}

// relayed wakes the relay.
func (s *Service) relayed() {
	if s.Relayed != nil {
		s.Relayed()
	}
}
