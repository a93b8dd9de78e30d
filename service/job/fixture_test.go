package job

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/file"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
	"github.com/tidemall/tidemall/timeout"
)

const merchantID = 1

// shop is the service over a real database, with a clock that tests move.
type shop struct {
	*Service
	*testing.T

	clock    atomic.Int64
	category int64
	policies *policy.Policies // the built-in ones, until it is started
}

func eachShop(t *testing.T, test func(sh *shop)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store) { test(newShop(t, s)) })
}

// urls are the pictures' addresses.
type urls struct{}

func (urls) URL(key string) string {
	if key == "" {
		return ""
	}
	return "http://shop.test/files/" + key
}

// stored says that every picture is there.
type stored struct{}

func (stored) Exists(context.Context, string) (bool, error) { return true, nil }

// nobody schedules nothing.
type nobody struct{}

func (nobody) Schedule(context.Context, ...timeout.Task) error { return nil }
func (sh *shop) now() model.Time                               { return model.Time(sh.clock.Load()) }

func (sh *shop) by(permissions ...account.Permission) Caller {
	return Caller{MerchantID: merchantID, Actor: "admin:1", Can: func(p account.Permission) bool { return slices.Contains(permissions, p) }}
}

func (sh *shop) boss() Caller {
	return sh.by(account.OrderRead, account.OrderWrite, account.CatalogRead, account.CatalogWrite, account.TimeoutWrite)
}

func newShop(t *testing.T, s *store.Store) *shop {
	t.Helper()
	sh := &shop{T: t}
	sh.clock.Store(time.Now().UnixMilli())
	log := slog.New(slog.DiscardHandler)
	bucket, err := file.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bucket.Close() })
	for id := int64(1); id <= 2; id++ {
		sh.insert(s, &model.Merchant{ID: id, Name: fmt.Sprint(id), Version: 1, CreatedAt: sh.now(), UpdatedAt: sh.now()})
	}
	shelf, err := catalog.New(s, sh.now, log, stored{})
	if err != nil {
		t.Fatal(err)
	}
	parent, err := shelf.CreateCategory(t.Context(), merchantID, catalog.CategoryDraft{Name: "女装"})
	if err != nil {
		t.Fatal(err)
	}
	child, err := shelf.CreateCategory(t.Context(), merchantID, catalog.CategoryDraft{Name: "上衣", ParentID: parent.ID})
	if err != nil {
		t.Fatal(err)
	}
	sh.category = child.ID
	sh.policies = policy.New(s, sh.now, log)
	orders := order.New(order.Deps{
		Store: s, Now: sh.now, Log: log, Catalog: nil, Policies: sh.policies, Tasks: nobody{}, Relayed: func() {}, Zone: time.UTC,
	})
	sh.Service = New(Deps{
		Store: s, Now: sh.now, Log: log, Files: file.NewPrivate(bucket), Orders: orders, Products: shelf, Policies: sh.policies, Pictures: urls{},
		Zone: time.FixedZone("", 8*60*60),
	})
	return sh
}

func (sh *shop) insert(s *store.Store, row any) {
	sh.Helper()
	if err := s.Read(sh.Context()).Create(row).Error; err != nil {
		sh.Fatal(err)
	}
}

// hand returns a runner whose turns the test takes itself.
func (sh *shop) hand() *Runner {
	r := NewRunner(sh.Service)
	r.loop, r.steps = sh.Context(), sh.Context()
	return r
}

// finish takes turns until the runner has nothing to do.
func (sh *shop) finish(r *Runner) {
	sh.Helper()
	for first := true; first || len(r.active) > 0; first = false {
		if err := r.turn(true); err != nil {
			sh.Fatal(err)
		}
	}
}

// add makes a job of a file; err is what the service says.
func (sh *shop) add(kind model.JobKind, dry bool, text string) model.Job {
	sh.Helper()
	up := Upload{Name: "file.csv", Body: strings.NewReader(text)}
	var j model.Job
	var err error
	if kind == model.JobShipBatch {
		j, err = sh.ShipBatch(sh.Context(), sh.boss(), up)
	} else {
		j, err = sh.ImportProducts(sh.Context(), sh.boss(), up, dry)
	}
	if err != nil {
		sh.Fatal(err)
	}
	return j
}

// want checks where a job stands.
func (sh *shop) want(id int64, state model.JobState, total, done, failed int64) {
	sh.Helper()
	j, err := sh.Get(sh.Context(), sh.boss(), id)
	if err != nil || j.State != state || j.Total != total || j.Done != done || j.Failed != failed {
		sh.Errorf("job is %s with %d of %d done and %d failed (%v), want %s with %d of %d and %d", j.State, j.Done, j.Total, j.Failed, err, state, done, total, failed)
	}
	var rows []int64
	if err := sh.Store.Read(sh.Context()).Raw("SELECT row_no FROM job_rows WHERE job_id = ? ORDER BY row_no", id).Scan(&rows).Error; err != nil {
		sh.Fatal(err)
	}
	if !j.Kind.Exports() && int64(len(rows)) != done {
		sh.Errorf("%d results of %d rows", len(rows), done)
	}
}

// outcomes counts the results of a job by outcome.
func (sh *shop) outcomes(id int64) map[string]int {
	sh.Helper()
	var rows []model.JobRow
	if err := sh.Store.Read(sh.Context()).Where("job_id = ?", id).Find(&rows).Error; err != nil {
		sh.Fatal(err)
	}
	n := map[string]int{}
	for _, r := range rows {
		n[r.Outcome]++
	}
	return n
}

func (sh *shop) number(query string, args ...any) (n int64) {
	sh.Helper()
	if err := sh.Store.Read(sh.Context()).Raw(query, args...).Scan(&n).Error; err != nil {
		sh.Fatal(err)
	}
	return n
}

// download returns the lines of a job's result, without the mark of UTF-8.
func (sh *shop) download(by Caller, id int64) [][]string {
	sh.Helper()
	result, err := sh.Result(sh.Context(), by, id)
	if err != nil {
		sh.Fatal(err)
	}
	var b bytes.Buffer
	if err := result.Write(sh.Context(), &b); err != nil {
		sh.Fatal(err)
	}
	if result.Size >= 0 && result.Size != int64(b.Len()) {
		sh.Errorf("a result of %d bytes was announced with %d", b.Len(), result.Size)
	}
	if n := strings.Count(b.String(), bom); n != 1 || !strings.HasPrefix(b.String(), bom) {
		sh.Errorf("%d marks of UTF-8, want one in front", n)
	}
	lines, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(b.String(), bom))).ReadAll()
	if err != nil {
		sh.Fatal(err)
	}
	return lines
}

// orders makes n orders of one line in a state, oldest first, and returns their numbers.
func (sh *shop) orders(n int, state model.OrderState) []string {
	sh.Helper()
	first := sh.number("SELECT COUNT(*) FROM orders")
	nos := make([]string, n)
	var orders []model.Order
	var lines []model.OrderLine
	for i := range nos {
		id := first + int64(i) + 1
		nos[i] = fmt.Sprintf("T20260131%012d", id)
		at := sh.now() + model.Time(id)
		orders = append(orders, model.Order{
			ID: id, No: nos[i], MerchantID: merchantID, ShopperID: id, State: state, OrderType: model.OrderTypeGoods, GoodsFen: 1990, IdemKey: nos[i],
			Address: &model.OrderAddress{Name: "=cmd()", Phone: "13812345678", Province: "浙江省", City: "杭州市", Detail: "文三路 1 号"}, Version: 1,
			CreatedAt: at, UpdatedAt: at, PaidAt: at,
		})
		lines = append(lines, model.OrderLine{ID: id, OrderID: id, LineNo: 1, MerchantID: merchantID, Name: "连衣裙", Specs: map[string]string{"颜色": "白"}, Quantity: 2, PriceFen: 995})
	}
	db := sh.Store.Read(sh.Context())
	if err := db.CreateInBatches(orders, 200).Error; err != nil {
		sh.Fatal(err)
	}
	if err := db.CreateInBatches(lines, 200).Error; err != nil {
		sh.Fatal(err)
	}
	return nos
}
