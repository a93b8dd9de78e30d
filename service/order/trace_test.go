package order

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/timeout"
)

// recorder records the spans of a till that ended.
type recorder struct {
	t     *testing.T
	spans *tracetest.InMemoryExporter
	trace.Tracer
}

// record makes the till's spans visible; sampler decides about new traces.
func (tl *till) record(t *testing.T, sampler sdktrace.Sampler) *recorder {
	r := &recorder{t: t, spans: tracetest.NewInMemoryExporter()}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans), sdktrace.WithSampler(sdktrace.ParentBased(sampler)))
	r.Tracer = provider.Tracer("test")
	tl.Service.Tracer = r.Tracer
	return r
}

// within runs fn in a trace of its own, as a request or a batch of deadlines has one, and returns its span.
func (r *recorder) within(name string, fn func(ctx context.Context)) trace.SpanContext {
	ctx, span := r.Start(context.Background(), name)
	fn(ctx)
	span.End()
	return span.SpanContext()
}

// about returns the ended spans of an order by name.
func (r *recorder) about(o *model.Order) map[string]tracetest.SpanStub {
	found := map[string]tracetest.SpanStub{}
	for _, s := range r.spans.GetSpans() {
		for _, a := range s.Attributes {
			if a == attribute.Int64("order.id", o.ID) {
				found[s.Name] = s
			}
		}
	}
	return found
}

func (r *recorder) named(name string) tracetest.SpanStub {
	r.t.Helper()
	for _, s := range r.spans.GetSpans() {
		if s.Name == name {
			return s
		}
	}
	r.t.Fatalf("no span %s", name)
	return tracetest.SpanStub{}
}

func linked(s tracetest.SpanStub, to trace.SpanContext) bool {
	for _, l := range s.Links {
		if l.SpanContext.TraceID() == to.TraceID() && l.SpanContext.SpanID() == to.SpanID() {
			return true
		}
	}
	return false
}

// rows returns the trace ids of the order's events and the traceparents of its messages, by version from 1.
func (tl *till) rows(o *model.Order) (ids, parents []string) {
	tl.t.Helper()
	db := tl.Store.Read(tl.t.Context())
	if err := db.Raw("SELECT trace_id FROM order_events WHERE order_id = ? ORDER BY version", o.ID).Scan(&ids).Error; err != nil {
		tl.t.Fatal(err)
	}
	if err := db.Raw("SELECT trace FROM messages WHERE msg_key = ? ORDER BY seq", fmt.Sprintf("order:%d", o.ID)).Scan(&parents).Error; err != nil {
		tl.t.Fatal(err)
	}
	return ids, parents
}

func parentOf(s tracetest.SpanStub) string {
	return fmt.Sprintf("00-%s-%s-01", s.SpanContext.TraceID(), s.SpanContext.SpanID())
}

// Whoever ends an order, and in whatever trace: the end is in the trace that began with the placing, in its spans, its event and
// its message, and linked with the trace of whoever ended it.
func TestOneTraceFromPlacingToTheEnd(t *testing.T) {
	for _, end := range []struct {
		name string
		span string // of the change
		run  func(ctx context.Context, tl *till, o *model.Order)
	}{
		{"deadline", TopicClosed, func(ctx context.Context, tl *till, o *model.Order) {
			tl.toDeadline(o)
			tl.closeDue(ctx, []timeout.Task{{Kind: KindPay, Key: fmt.Sprint(o.ID), Due: int64(o.PayDeadline)}})
		}},
		{"closing task", TopicClosed, func(ctx context.Context, tl *till, o *model.Order) {
			tl.open(o)
			tl.toDeadline(o)
			tl.closeDue(ctx, []timeout.Task{{Kind: KindPay, Key: fmt.Sprint(o.ID), Due: int64(o.PayDeadline)}})
			tl.closingDue(ctx, o.ID, *tl.reload(o).ClosingNextAt)
		}},
		{"shopper", TopicClosed, func(ctx context.Context, tl *till, o *model.Order) {
			if _, err := tl.Cancel(ctx, o.ShopperID, o.No); err != nil {
				t.Fatal(err)
			}
		}},
		{"merchant", TopicClosed, func(ctx context.Context, tl *till, o *model.Order) {
			tl.open(o)
			if _, err := tl.Service.Close(ctx, merchantID, o.No, "admin:1"); err != nil {
				t.Fatal(err)
			}
		}},
		{"payment", TopicPaid, func(ctx context.Context, tl *till, o *model.Order) {
			tl.phone(tl.open(o))
			if _, err := tl.Settle(ctx, tl.word(o.No+"-1")); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(end.name, func(t *testing.T) {
			eachTill(t, func(t *testing.T, tl *till) {
				r := tl.record(t, sdktrace.AlwaysSample())
				me := tl.buyer()
				basket := tl.basket(me, 0, Item{SKUID: tl.sku, Quantity: 1})
				var o *model.Order
				request := r.within("POST /orders", func(ctx context.Context) {
					var err error
					if o, err = tl.Place(ctx, me, basket); err != nil {
						t.Fatal(err)
					}
				})
				other := r.within("other", func(ctx context.Context) { end.run(ctx, tl, o) })

				spans := r.about(o)
				place, change := spans["order.place"], spans[end.span]
				if place.Parent.SpanID() != request.SpanID() || tl.reload(o).TraceParent != parentOf(place) {
					t.Errorf("placing: parent %s, row %q, want %s, %q", place.Parent.SpanID(), tl.reload(o).TraceParent, request.SpanID(), parentOf(place))
				}
				top := change // through the close protocol the change is a part of the step
				if step, ok := spans["order.close"]; ok {
					if change.Parent.SpanID() != step.SpanContext.SpanID() {
						t.Error("the change is not a part of the closing step")
					}
					top = step
				}
				if change.SpanContext.TraceID() != request.TraceID() || top.Parent.SpanID() != place.SpanContext.SpanID() {
					t.Errorf("the end is in trace %s under %s, want %s under %s", change.SpanContext.TraceID(), top.Parent.SpanID(), request.TraceID(), place.SpanContext.SpanID())
				}
				if !linked(top, other) {
					t.Errorf("the end is not linked with who ended it: %v", top.Links)
				}
				if top.Name == change.Name && !linked(r.named("other"), change.SpanContext) {
					t.Error("who ended it is not linked with the end")
				}
				ids, parents := tl.rows(o)
				if want := request.TraceID().String(); len(ids) != 2 || ids[0] != want || ids[1] != want {
					t.Errorf("events in %v, want %s twice", ids, want)
				}
				if len(parents) != 2 || parents[0] != parentOf(spans[TopicCreated]) || parents[1] != parentOf(change) {
					t.Errorf("messages under %v, want %s, %s", parents, parentOf(spans[TopicCreated]), parentOf(change))
				}
			})
		})
	}
}

// Orders that close in one batch go each to its own trace; one that was placed outside any trace is in the batch's.
func TestABatchTellsTracesApart(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		r := tl.record(t, sdktrace.AlwaysSample())
		var tasks []timeout.Task
		var orders []*model.Order
		place := func(ctx context.Context) {
			me := tl.buyer()
			o, err := tl.Place(ctx, me, tl.basket(me, 0, Item{SKUID: tl.sku, Quantity: 1}))
			if err != nil {
				t.Fatal(err)
			}
			orders = append(orders, o)
			tasks = append(tasks, timeout.Task{Kind: KindPay, Key: fmt.Sprint(o.ID), Due: int64(o.PayDeadline)})
		}
		var want []string
		for range 3 {
			want = append(want, r.within("POST /orders", place).TraceID().String())
		}
		place(context.Background())
		tl.exec("UPDATE orders SET trace_parent = '' WHERE id = ?", orders[3].ID) // as before there was such a column
		tl.toDeadline(orders[3])
		batch := r.within("timeout.pay", func(ctx context.Context) { tl.closeDue(ctx, tasks) })
		want = append(want, batch.TraceID().String())
		for i, o := range orders {
			ids, parents := tl.rows(o)
			if ids[1] != want[i] || !strings.HasPrefix(parents[1], "00-"+want[i]) {
				t.Errorf("order %d: event in %s, message under %s, want %s", i, ids[1], parents[1], want[i])
			}
		}
		if n := len(r.named("timeout.pay").Links); n != 3 {
			t.Errorf("the batch is linked with %d orders, want 3", n)
		}
	})
}

// Where traces are not recorded the rows carry their ids all the same, and no span is made.
func TestUnrecordedTracesAreInTheRows(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		r := tl.record(t, sdktrace.NeverSample())
		var o *model.Order
		request := r.within("POST /orders", func(ctx context.Context) {
			me := tl.buyer()
			var err error
			if o, err = tl.Place(ctx, me, tl.basket(me, 0, Item{SKUID: tl.sku, Quantity: 1})); err != nil {
				t.Fatal(err)
			}
		})
		tl.toDeadline(o)
		r.within("timeout.pay", func(ctx context.Context) {
			tl.closeDue(ctx, []timeout.Task{{Kind: KindPay, Key: fmt.Sprint(o.ID), Due: int64(o.PayDeadline)}})
		})
		ids, parents := tl.rows(o)
		if want := request.TraceID().String(); ids[0] != want || ids[1] != want {
			t.Errorf("events in %v, want %s", ids, want)
		}
		if want := tl.reload(o).TraceParent; parents[1] != want || !strings.HasSuffix(want, "-00") {
			t.Errorf("the message is under %q, the order under %q", parents[1], want)
		}
		if spans := r.spans.GetSpans(); len(spans) != 0 {
			t.Errorf("%d spans", len(spans))
		}
	})
}

// A change that was rolled back is told by no span.
func TestRolledBackChangesLeaveNoSpan(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		r := tl.record(t, sdktrace.AlwaysSample())
		var o *model.Order
		r.within("POST /orders", func(ctx context.Context) {
			me := tl.buyer()
			var err error
			if o, err = tl.Place(ctx, me, tl.basket(me, 0, Item{SKUID: tl.sku, Quantity: 1})); err != nil {
				t.Fatal(err)
			}
		})
		broken := errors.New("broken")
		r.within("other", func(ctx context.Context) {
			err := tl.Store.Tx(ctx, func(tx *store.Tx) error {
				if ok, err := tl.transition(tx, change{to: model.OrderClosed, actor: ActorTimeout, at: tl.Now()}, tl.reload(o)); err != nil || !ok {
					t.Fatal(ok, err)
				}
				return broken
			})
			if !errors.Is(err, broken) {
				t.Fatal(err)
			}
		})
		if s, ok := r.about(o)[TopicClosed]; ok {
			t.Errorf("a span of the close that was not: %v", s)
		}
		if links := r.named("other").Links; len(links) != 0 {
			t.Errorf("links to it: %v", links)
		}
	})
}

// Messages about an order's refund, a late payment and an after-sale are in the order's trace.
func TestRefundsAreInTheOrdersTrace(t *testing.T) {
	for _, end := range []struct {
		name     string
		messages int
		spans    []string
		run      func(ctx context.Context, tl *till, o *model.Order) error
	}{
		{"refund", 2, []string{payment.TopicRefundCreated}, func(ctx context.Context, tl *till, o *model.Order) error {
			tl.phone(tl.open(o))
			if err := tl.callback(o.No + "-1"); err != nil {
				return err
			}
			l, err := lines(tl.Store.Read(ctx), o.ID)
			if err != nil {
				return err
			}
			_, err = tl.Refund(ctx, merchantID, o.No, "", RefundRequest{Lines: []RefundPart{{l[0].ID, 1}}, Reason: "缺货", Actor: "admin:1"})
			tl.refunded(o)
			return err
		}},
		{"late payment", 2, []string{payment.TopicLate}, func(ctx context.Context, tl *till, o *model.Order) error {
			tl.open(o)
			if _, err := tl.Cancel(ctx, o.ShopperID, o.No); err != nil {
				return err
			}
			tl.paidLate(o.No + "-1")
			_, err := tl.Settle(ctx, tl.word(o.No+"-1"))
			return err
		}},
		{"after-sale", 2, []string{TopicAnswerOverdue}, func(ctx context.Context, tl *till, o *model.Order) error {
			tl.phone(tl.open(o))
			if err := tl.callback(o.No + "-1"); err != nil {
				return err
			}
			a := tl.aftersale(o, 7)
			due := tl.Now()
			tl.exec("UPDATE aftersales SET answer_deadline = ? WHERE id = ?", due, a.ID)
			return tl.answersDue(ctx, []timeout.Task{{Kind: KindAftersale, Key: "7", Due: int64(due)}})[0].Err()
		}},
	} {
		t.Run(end.name, func(t *testing.T) {
			eachTill(t, func(t *testing.T, tl *till) {
				r := tl.record(t, sdktrace.AlwaysSample())
				var o *model.Order
				request := r.within("POST /orders", func(ctx context.Context) {
					me := tl.buyer()
					var err error
					if o, err = tl.Place(ctx, me, tl.basket(me, 0, Item{SKUID: tl.sku, Quantity: 1})); err != nil {
						t.Fatal(err)
					}
				})
				other := r.within("other", func(ctx context.Context) {
					if err := end.run(ctx, tl, o); err != nil {
						t.Fatal(err)
					}
				})
				var parents []string
				err := tl.Store.Read(t.Context()).Raw("SELECT trace FROM messages WHERE msg_key NOT LIKE 'order:%'").Scan(&parents).Error
				if err != nil || len(parents) != end.messages {
					t.Fatalf("%d messages, want %d (%v)", len(parents), end.messages, err)
				}
				for _, p := range parents {
					if id, _ := traceIDOf(p); id != request.TraceID().String() {
						t.Errorf("a message under %s, want trace %s", p, request.TraceID())
					}
				}
				for _, name := range end.spans {
					if s := r.about(o)[name]; s.SpanContext.TraceID() != request.TraceID() || !linked(s, other) {
						t.Errorf("span %s in trace %s with links %v", name, s.SpanContext.TraceID(), s.Links)
					}
				}
			})
		})
	}
}

func TestTraceIDOf(t *testing.T) {
	const id = "0af7651916cd43dd8448eb211c80319c"
	for in, want := range map[string]struct {
		id      string
		sampled bool
	}{
		"":                                  {"", false},
		"00-" + id + "-b7ad6b7169203331":    {"", false},
		"00-" + id + "-b7ad6b7169203331-01": {id, true},
		"00-" + id + "-b7ad6b7169203331-03": {id, true},
		"00-" + id + "-b7ad6b7169203331-00": {id, false},
		"00-" + id + "-b7ad6b7169203331-0g": {id, false},
	} {
		if got, sampled := traceIDOf(in); got != want.id || sampled != want.sampled {
			t.Errorf("%q: %q, %v", in, got, sampled)
		}
	}
}

// In a batch of hundreds whose traces are not recorded, a step is two looks at a string.
func TestUnrecordedStepsAllocateNothing(t *testing.T) {
	tl := newTill(t, storetest.SQLite(t))
	o := &model.Order{ID: 1, TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}
	err := tl.Store.Tx(t.Context(), func(tx *store.Tx) error {
		if n := testing.AllocsPerRun(100, func() { tl.step(tx, TopicClosed, o) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Paying is a part of the order's trace, and calls to WeChat are spans of what made them; without a recorded trace there are none.
func TestCallsToWeChatAreSpans(t *testing.T) {
	eachTill(t, func(t *testing.T, tl *till) {
		silent := tl.unpaid()
		r := tl.record(t, sdktrace.AlwaysSample())
		tl.Service.WeChat = SpanWeChat(tl.line, r.Tracer)
		tl.Service.Tracer = noop.NewTracerProvider().Tracer("")
		tl.open(silent)
		if spans := r.spans.GetSpans(); len(spans) != 0 {
			t.Errorf("%d spans outside a trace", len(spans))
		}
		tl.Service.Tracer = r.Tracer
		o := tl.unpaid()
		other := r.within("other", func(ctx context.Context) {
			if _, err := tl.Pay(ctx, o.ShopperID, o.No); err != nil {
				t.Fatal(err)
			}
			tl.fault(m{"path": "/v3/pay/transactions/out-trade-no/" + o.No + "-1", "mode": "status", "count": 3})
			if _, err := tl.Cancel(ctx, o.ShopperID, o.No); err != nil {
				t.Fatal(err)
			}
		})
		spans := r.about(o)
		pay, step := spans["order.pay"], spans["order.close"]
		if !linked(pay, other) || pay.Parent.SpanID() != spans["order.place"].SpanContext.SpanID() {
			t.Errorf("paying is under %s with links %v", pay.Parent.SpanID(), pay.Links)
		}
		for name, want := range map[string]struct {
			parent tracetest.SpanStub
			status codes.Code
		}{"wechat prepay": {pay, codes.Unset}, "wechat query": {step, codes.Error}} {
			s := r.named(name)
			if s.Parent.SpanID() != want.parent.SpanContext.SpanID() || s.Status.Code != want.status {
				t.Errorf("%s is under %s, want %s; status %s", name, s.Parent.SpanID(), want.parent.SpanContext.SpanID(), s.Status.Code)
			}
		}
	})
}
