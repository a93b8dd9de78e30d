package job

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

func TestShipBatch(t *testing.T) {
	eachShop(t, func(sh *shop) {
		paid, unpaid := sh.orders(2, model.OrderPaid), sh.orders(1, model.OrderPending)
		j := sh.add(model.JobShipBatch, false, bom+"订单号,买家,快递公司,运单号\r\n"+
			paid[0]+",甲,SF,SF1001\r\n"+
			unpaid[0]+",乙,顺丰速运,SF1002\r\n"+
			"T20990101AAAAAAAAAAAA,丙,ZTO,Z1\r\n"+
			paid[1]+",丁,飞毛腿,1\r\n"+
			paid[1]+",丁,中通快递,7.5E+14\r\n"+
			"\r\n"+
			strings.ToLower(paid[1])+",丁,zto express,Z2\r\n"+
			paid[0]+",甲,SF,SF1001\r\n")
		sh.finish(sh.hand())
		sh.want(j.ID, model.JobDone, 7, 7, 5)
		want := map[string]int{"shipped": 2, "order_not_paid": 1, "not_found": 1, "validation_failed": 2, "order_state": 1}
		if got := sh.outcomes(j.ID); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("outcomes %v, want %v", got, want)
		}
		if n := sh.number("SELECT COUNT(*) FROM parcels WHERE carrier IN ('SF', 'ZTO')"); n != 2 {
			t.Errorf("%d parcels, want 2", n)
		}
		if n := sh.number("SELECT COUNT(*) FROM order_events WHERE actor = 'admin:1'"); n != 2 {
			t.Errorf("%d events, want 2", n)
		}
		if n := sh.number("SELECT COUNT(*) FROM admin_changes WHERE kind = 'order' AND action = 'admin-post-jobs-ship-batch' AND ref IN ?", paid); n != 2 {
			t.Errorf("%d entries in the change log, want one for each order shipped", n)
		}
		failed, n, err := sh.Rows(t.Context(), sh.boss(), j.ID, model.JobRowFailed, store.Page{Number: 1, Limit: 2})
		if err != nil || n != 5 || len(failed) != 2 || failed[0].Line != 3 || failed[1].Line != 4 || failed[1].Subject != "T20990101AAAAAAAAAAAA" {
			t.Errorf("failed rows: %+v of %d (%v)", failed, n, err)
		}
		lines := sh.download(sh.boss(), j.ID)
		if len(lines) != 8 || lines[1][0] != "3" || lines[1][2] != "失败" || lines[1][3] != "order_not_paid" || lines[6][2] != "成功" || lines[7][0] != "8" {
			t.Errorf("the result is %v", lines)
		}
	})
}

// products is a file of n products; those whose numbers are in bad have a price that is none.
func products(n int, bad ...int) string {
	var b strings.Builder
	b.WriteString("code,name,category,option1,value1,price,stock\n")
	for i := range n {
		price := "59.90"
		if slices.Contains(bad, i) {
			price = "gratis"
		}
		fmt.Fprintf(&b, "P%03d,商品 %d,女装>上衣,尺码,M,%s,10\nP%03d,,,尺码,L,69,5\n", i, i, price, i)
	}
	return b.String()
}

func TestImportOf500ProductsWithThreeBadOnes(t *testing.T) {
	eachShop(t, func(sh *shop) {
		text := products(500, 7, 250, 499)
		dry := sh.add(model.JobProductImport, true, text)
		sh.finish(sh.hand())
		sh.want(dry.ID, model.JobDone, 500, 500, 3)
		if n := sh.number("SELECT COUNT(*) FROM products") + sh.number("SELECT COUNT(*) FROM skus"); n != 0 {
			t.Fatalf("a dry run wrote %d rows", n)
		}
		if got := sh.outcomes(dry.ID); got["created"] != 497 || got["validation_failed"] != 3 {
			t.Errorf("the dry run says %v", got)
		}
		for run, outcome := range []string{"created", "unchanged"} {
			j := sh.add(model.JobProductImport, false, text)
			sh.finish(sh.hand())
			sh.want(j.ID, model.JobDone, 500, 500, 3)
			if got := sh.outcomes(j.ID); got[outcome] != 497 || got["validation_failed"] != 3 {
				t.Errorf("run %d: %v", run+1, got)
			}
			for what, n := range map[string]int64{
				"SELECT COUNT(*) FROM products WHERE version = 1": 497, "SELECT COUNT(*) FROM products": 497, "SELECT COUNT(*) FROM skus": 994,
				"SELECT COUNT(*) FROM stock_ledger": 994, "SELECT SUM(stock) FROM skus": 497 * 15, "SELECT COUNT(*) FROM products WHERE min_price_fen = 5990": 497,
			} {
				if got := sh.number(what); got != n {
					t.Errorf("run %d: %s is %d, want %d", run+1, what, got, n)
				}
			}
		}
		failed, _, err := sh.Rows(t.Context(), sh.boss(), dry.ID, model.JobRowFailed, store.Page{Number: 1, Limit: 10})
		if err != nil || len(failed) != 3 || failed[0].Line != 16 || !strings.Contains(failed[0].TextZH, "第 16 行“价格”") {
			t.Errorf("what failed: %+v (%v)", failed, err)
		}
	})
}

func TestImportChangesWhatTheFileSays(t *testing.T) {
	eachShop(t, func(sh *shop) {
		run := func(text string) map[string]int {
			j := sh.add(model.JobProductImport, false, text)
			sh.finish(sh.hand())
			return sh.outcomes(j.ID)
		}
		run("code,name,subtitle,category,published,option1,value1,price,stock\nA,连衣裙,夏,女装 > 上衣,是,尺码,M,10,3\nA,,,,,尺码,L,10,3\nB,衬衫,,女装,,,,5,1\n")
		for _, c := range []struct{ text, outcome string }{
			{"code,subtitle,option1,value1,price\nA,秋,尺码,M,12\nA,,尺码,XL,12\n", "updated"},   // L goes, XL comes
			{"code,option1,value1,price,stock\nA,尺码,M,12,99\nA,尺码,XL,12,99\n", "unchanged"}, // stock of SKUs on sale stays
			{"code,id,price\nA,2,5\n", "name_taken"},
			{"id,price\n999,5\n", "not_found"},
			{"code,name,price\nC,新,5\n", "validation_failed"}, // no category
			{"code,name,category,price\nC,新,没有,5\n", "validation_failed"},
			{"code,price\nA,5\nA,6\n", "validation_failed"}, // twice the same specs
			{"code,name,price\nA,甲,5\nA,乙,6\n", "validation_failed"},
		} {
			if got := run(c.text); got[c.outcome] != 1 || len(got) != 1 {
				t.Errorf("%q: %v, want %s", c.text, got, c.outcome)
			}
		}
		var p model.Product
		if err := sh.Store.Read(t.Context()).Where("code = 'A'").Take(&p).Error; err != nil {
			t.Fatal(err)
		}
		if p.Name != "连衣裙" || p.Subtitle != "秋" || !p.Published || p.CategoryID != sh.category || p.MinPriceFen != 1200 || p.Version != 2 {
			t.Errorf("the product is %+v", p)
		}
		if n := sh.number("SELECT stock FROM skus WHERE product_id = ? AND specs LIKE '%M%'", p.ID); n != 3 {
			t.Errorf("stock is %d, want 3 as it was", n)
		}
		sh.wantChanges(p.ID)
	})
}

// wantChanges checks what an import that made a product, published, and one that changed it have left in the change log.
func (sh *shop) wantChanges(productID int64) {
	sh.Helper()
	var changes []model.AdminChange
	if err := sh.Store.Read(sh.Context()).Where("kind = 'product' AND ref = ?", productID).Order("id").Find(&changes).Error; err != nil {
		sh.Fatal(err)
	}
	if len(changes) != 2 {
		sh.Fatalf("%d entries, want that it was made and that it was changed: %+v", len(changes), changes)
	}
	made, changed := changes[0], changes[1]
	if made.Before != "" || !strings.Contains(made.After, `"published":true`) || !strings.Contains(made.After, `"subtitle":"夏"`) {
		sh.Errorf("what was made is %+v", made)
	}
	if !strings.Contains(changed.Before, `"subtitle":"夏"`) || !strings.Contains(changed.After, `"subtitle":"秋"`) || strings.Contains(changed.After, `"published"`) ||
		!strings.Contains(changed.Before, `"L"`) || !strings.Contains(changed.After, `"XL"`) {
		sh.Errorf("what changed is %+v", changed)
	}
	for _, c := range changes {
		if c.Action != "admin-post-jobs-product-import" || c.MerchantID != 1 {
			sh.Errorf("who did what is %+v", c)
		}
	}
}

// A kill before or after any commit repeats nothing and loses nothing.
func TestKilledBetweenStatements(t *testing.T) {
	eachShop(t, func(sh *shop) {
		const n = 6
		j := sh.add(model.JobProductImport, false, products(n, 2))
		for kills := 0; ; kills++ {
			r := sh.hand()
			steps := 0
			r.crash = func(*step) bool { steps++; return steps == 2 } // the second step of each life is lost with its effect
			if err := r.turn(true); err != nil {
				t.Fatal(err)
			}
			if got := sh.outcomes(j.ID); got["created"]+got["validation_failed"] != min(kills+1, n) {
				t.Fatalf("after %d kills: %v", kills+1, got)
			}
			idle := sh.hand()
			if err := idle.turn(true); err != nil || len(idle.active) > 0 {
				t.Fatalf("a job was taken while its lease runs (%v)", err)
			}
			sh.clock.Add(leaseFor.Milliseconds() + 1)
			if kills == n {
				break
			}
		}
		sh.finish(sh.hand())
		sh.want(j.ID, model.JobDone, n, n, 1)
		if sh.number("SELECT COUNT(*) FROM products") != n-1 || sh.number("SELECT COUNT(*) FROM stock_ledger") != 2*(n-1) {
			t.Error("a product was made twice or not at all")
		}
	})
}

// A runner that was too slow finds that another one has the job, and changes nothing.
func TestTwoRunnersOnOneJob(t *testing.T) {
	eachShop(t, func(sh *shop) {
		j := sh.add(model.JobProductImport, false, products(60))
		slow, quick := sh.hand(), sh.hand()
		turn := func(r *Runner) {
			t.Helper()
			if err := r.turn(true); err != nil {
				t.Fatal(err)
			}
		}
		turn(slow)
		sh.clock.Add(leaseFor.Milliseconds() + 1)
		turn(quick)
		sh.want(j.ID, model.JobRunning, 60, 2*turnSteps, 0)
		turn(slow)
		if len(slow.active) != 0 {
			t.Error("the slow runner still works on it")
		}
		sh.want(j.ID, model.JobRunning, 60, 2*turnSteps, 0)
		sh.finish(quick)
		sh.want(j.ID, model.JobDone, 60, 60, 0)
		if n := sh.number("SELECT COUNT(*) FROM products"); n != 60 {
			t.Errorf("%d products, want 60", n)
		}
	})
}

func TestCancelActsBetweenRows(t *testing.T) {
	eachShop(t, func(sh *shop) {
		j, waiting := sh.add(model.JobProductImport, false, products(50)), sh.add(model.JobProductImport, false, products(50))
		if _, err := sh.Cancel(t.Context(), sh.boss(), waiting.ID); err != nil {
			t.Fatal(err)
		}
		r := sh.hand()
		if err := r.turn(true); err != nil {
			t.Fatal(err)
		}
		if got, err := sh.Cancel(t.Context(), sh.boss(), j.ID); err != nil || got.State != model.JobCancelled || got.EndedAt == 0 {
			t.Errorf("cancelling: %+v (%v)", got, err)
		}
		sh.finish(r)
		sh.want(j.ID, model.JobCancelled, 50, turnSteps, 0)
		sh.want(waiting.ID, model.JobCancelled, 50, 0, 0)
		if n := sh.number("SELECT COUNT(*) FROM products"); n != turnSteps {
			t.Errorf("%d products, want %d", n, turnSteps)
		}
		if _, err := sh.Cancel(t.Context(), sh.boss(), j.ID); !fault.Is(err, fault.StateConflict) {
			t.Errorf("cancelling what has ended: %v", err)
		}
	})
}

// Two running runners of two replicas do what comes, woken or by looking.
func TestRunning(t *testing.T) {
	eachShop(t, func(sh *shop) {
		other := *sh.Service
		other.wake = make(chan struct{}, 1)
		a, b := NewRunner(sh.Service), NewRunner(&other)
		a.poll, b.poll = 50*time.Millisecond, 50*time.Millisecond
		for _, r := range []*Runner{a, b} {
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := r.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			}()
		}
		var ids []int64
		for range 6 {
			ids = append(ids, sh.add(model.JobProductImport, false, products(30)).ID)
		}
		for _, id := range ids {
			storetest.Await(t, 60*time.Second, "the end of a job", func() bool {
				j, err := sh.Get(t.Context(), sh.boss(), id)
				return err == nil && j.State == model.JobDone
			})
			sh.want(id, model.JobDone, 30, 30, sh.number("SELECT COUNT(*) FROM job_rows WHERE job_id = ? AND state = 'failed'", id))
		}
		if n := sh.number("SELECT COUNT(*) FROM products"); n != 30 {
			t.Errorf("%d products, want 30", n)
		}
	})
}

func TestPermissionsByKind(t *testing.T) {
	eachShop(t, func(sh *shop) {
		export, err := sh.ExportOrders(t.Context(), sh.boss(), order.Filter{MerchantID: 2}) // the caller's merchant it is, whatever the filter says
		if err != nil {
			t.Fatal(err)
		}
		imported := sh.add(model.JobProductImport, true, products(1))
		sh.finish(sh.hand())
		stranger := sh.boss()
		stranger.MerchantID = 2
		for _, c := range []struct {
			name string
			by   Caller
			id   int64
			want fault.Code
		}{
			{"a stranger", stranger, export.ID, fault.NotFoundError},
			{"another's kind", sh.by(account.OrderRead), imported.ID, fault.PermissionDenied},
			{"reading is not writing", sh.by(account.CatalogRead), imported.ID, fault.PermissionDenied},
			{"their own", sh.by(account.CatalogWrite), imported.ID, ""},
			{"their own export", sh.by(account.OrderRead), export.ID, ""},
		} {
			_, get := sh.Get(t.Context(), c.by, c.id)
			_, _, rows := sh.Rows(t.Context(), c.by, c.id, "", store.Page{Number: 1, Limit: 10})
			_, result := sh.Result(t.Context(), c.by, c.id)
			for what, err := range map[string]error{"get": get, "rows": rows, "result": result} {
				if got := fault.CodeOf(err); got != c.want {
					t.Errorf("%s: %s is %q, want %q", c.name, what, got, c.want)
				}
			}
			if _, err := sh.Cancel(t.Context(), c.by, c.id); c.want != "" && fault.CodeOf(err) != c.want {
				t.Errorf("%s: cancel is %v", c.name, err)
			}
		}
		if _, n, err := sh.List(t.Context(), sh.by(account.OrderRead), Filter{}, store.Page{Number: 1, Limit: 10}); n != 1 || err != nil {
			t.Errorf("%d jobs are shown (%v), want the export", n, err)
		}
		if _, err := sh.ShipBatch(t.Context(), sh.by(account.OrderRead), Upload{Body: strings.NewReader("x")}); !fault.Is(err, fault.PermissionDenied) {
			t.Errorf("shipping without the permission: %v", err)
		}
		for range MaxOpen {
			if _, err = sh.ExportOrders(t.Context(), sh.boss(), order.Filter{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err = sh.ExportOrders(t.Context(), sh.boss(), order.Filter{}); !fault.Is(err, fault.StateConflict) {
			t.Errorf("one job too many: %v", err)
		}
	})
}

func TestFilesThatCannotBeRead(t *testing.T) {
	sh := newShop(t, storetest.SQLite(t))
	const head = "订单号,快递公司,运单号\n"
	for name, c := range map[string]struct {
		text, field string
		code        fault.Code
	}{
		"empty":          {" \n", "file", fault.FieldRequired},
		"head only":      {head, "file", fault.FieldRequired},
		"GBK":            {"\xb6\xa9\xb5\xa5\xba\xc5,a\n", "file", fault.FieldFormat},
		"UTF-16":         {"\xff\xfe\x9b\x52", "file", fault.FieldFormat},
		"binary":         {"PK\x03\x04\x00", "file", fault.FieldFormat},
		"a column less":  {"订单号,快递公司\n1,2\n", "file", fault.FieldRequired},
		"a column twice": {"订单号,order_no,快递公司,运单号\n1,2,3,4\n", "file", fault.FieldDup},
		"a short line":   {head + "T1,SF,1\nT2,SF\n", "line 3", fault.FieldLength},
		"a bare quote":   {head + "T1,SF,1\nT2,S\"F,2\n", "line 3", fault.FieldFormat},
		"an open quote":  {head + "T1,SF,\"1\nT2,SF,2\n", "line 2", fault.FieldFormat},
		"too many lines": {head + strings.Repeat("T1,SF,1\n", MaxLines+1), "file", fault.FieldLength},
	} {
		_, err := sh.ShipBatch(t.Context(), sh.boss(), Upload{Body: strings.NewReader(c.text)})
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.ValidationFailed || len(f.Fields) == 0 || f.Fields[0].Field != c.field || f.Fields[0].Code != c.code {
			t.Errorf("%s: %v, want %s %s", name, err, c.field, c.code)
		}
	}
	if _, err := sh.ShipBatch(t.Context(), sh.boss(), Upload{Body: strings.NewReader(strings.Repeat("x", MaxBytes+1))}); !fault.Is(err, fault.BodyTooLarge) {
		t.Errorf("a large file: %v", err)
	}
	for name, text := range map[string]string{"an unknown column": "code,price,colour\nA,1,red\n", "neither code nor id": "name,price\nA,1\n", "a line without": "code,price\n,1\n"} {
		if _, err := sh.ImportProducts(t.Context(), sh.boss(), Upload{Body: strings.NewReader(text)}, true); !fault.Is(err, fault.ValidationFailed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := sh.number("SELECT COUNT(*) FROM jobs"); n != 0 {
		t.Errorf("%d jobs were made", n)
	}
}

// What is exported is what an import reads: nothing changes.
func TestProductsComeBackAsTheyWere(t *testing.T) {
	eachShop(t, func(sh *shop) {
		var skus []catalog.EntrySKU
		for _, v := range []string{"=1+1", "-5", "'x", "L\"大\", 红"} {
			skus = append(skus, catalog.EntrySKU{Specs: []catalog.Spec{{Option: "@尺码", Value: v}}, PriceFen: 5990, Stock: new(int64(3))})
		}
		entry := catalog.Entry{
			Code: "+86", Name: new("=HYPERLINK(1)"), CategoryID: &sh.category, Sort: new(-5), SKUs: skus, Published: new(true), DetailHTML: new("<p>一\n二</p>"),
			Images: &[]model.Image{{Key: strings.Repeat("a", 32) + "-30x20.jpg", ThumbKey: strings.Repeat("a", 32) + "-30x20-thumb.jpg", Width: 30, Height: 20}},
		}
		err := sh.Store.Tx(t.Context(), func(tx *store.Tx) error {
			_, err := sh.Products.ImportIn(tx, merchantID, "admin:1", entry)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		sh.finish(func() *Runner { sh.add(model.JobProductImport, false, products(250)); return sh.hand() }())
		for _, english := range []bool{false, true} {
			by := sh.boss()
			by.English = english
			export, err := sh.ExportProducts(t.Context(), by, catalog.AdminFilter{})
			if err != nil {
				t.Fatal(err)
			}
			sh.finish(sh.hand())
			sh.want(export.ID, model.JobDone, 251, 251, 0)
			lines := sh.download(by, export.ID)
			if len(lines) != 1+4+500 {
				t.Fatalf("%d lines", len(lines))
			}
			for _, cell := range slices.Concat(lines[1:5]...) {
				if strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "+") || strings.HasPrefix(cell, "@") || strings.HasPrefix(cell, "-") && cell != "-5" {
					t.Errorf("a spreadsheet would compute %q", cell)
				}
			}
			if lines[1][8] != "-5" || lines[2][11] != "'-5" || lines[1][2] != "'=HYPERLINK(1)" {
				t.Errorf("the lines are %q", lines[1:5])
			}
			var text strings.Builder
			result, err := sh.Result(t.Context(), by, export.ID)
			if err != nil {
				t.Fatal(err)
			}
			if err := result.Write(t.Context(), &text); err != nil {
				t.Fatal(err)
			}
			again := sh.add(model.JobProductImport, false, text.String())
			sh.finish(sh.hand())
			sh.want(again.ID, model.JobDone, 251, 251, 0)
			if got := sh.outcomes(again.ID); got["unchanged"] != 251 {
				t.Errorf("the file again: %v", got)
			}
		}
	})
}

// An export of many orders goes on after a kill where it was, and takes no more memory at its end than at its beginning.
func TestExportOf30000Orders(t *testing.T) {
	sh := newShop(t, storetest.SQLite(t))
	const n = 30_000
	sh.orders(n, model.OrderPaid)
	sh.insert(sh.Store, &model.Order{ID: n + 1, No: "T20260131ZZZZZZZZZZZZ", MerchantID: 2, ShopperID: 1, State: model.OrderPaid, IdemKey: "other", CreatedAt: sh.now()})
	j, err := sh.ExportOrders(t.Context(), sh.boss(), order.Filter{State: model.OrderPaid})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sh.Result(t.Context(), sh.boss(), j.ID); !fault.Is(err, fault.StateConflict) {
		t.Errorf("the file of an export that is not done: %v", err)
	}
	var heap []uint64
	measure := func(*step) bool {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap = append(heap, m.HeapAlloc)
		return len(heap) == 11
	}
	r := sh.hand()
	r.crash = measure
	sh.finish(r)
	sh.want(j.ID, model.JobRunning, n, 10*orderPart, 0)
	sh.clock.Add(leaseFor.Milliseconds() + 1)
	if other, err := sh.hand().take(t.Context()); err != nil || other != nil { // a part may take as long as a step may
		t.Errorf("another replica takes the export while a part is written: %+v, %v", other, err)
	}
	sh.clock.Add(stepLimit.Milliseconds())
	r = sh.hand()
	r.crash = measure
	sh.finish(r)
	sh.want(j.ID, model.JobDone, n, n, 0)
	t.Logf("heap after part 2: %d KiB, after part %d: %d KiB, at most %d KiB", heap[1]>>10, len(heap), heap[len(heap)-1]>>10, slices.Max(heap)>>10)
	if grown := int64(heap[len(heap)-1]) - int64(heap[1]); grown > 4<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
	lines := sh.download(sh.boss(), j.ID)
	if len(lines) != n+1 {
		t.Fatalf("%d lines, want %d", len(lines), n+1)
	}
	for i, l := range lines[1:] {
		if want := fmt.Sprintf("T20260131%012d", n-i); l[0] != want {
			t.Fatalf("line %d is of %s, want %s", i+2, l[0], want)
		}
	}
	if l := lines[1]; l[1] != "待发货" || l[8] != "19.90" || l[14] != "连衣裙 颜色:白 ×2" || l[16] != "'=cmd()" || l[17] != "138****5678" {
		t.Errorf("a line is %q", l)
	}
}

// What ended long ago is removed with its files; what has not, stays.
func TestOldJobsAreRemoved(t *testing.T) {
	eachShop(t, func(sh *shop) {
		old := sh.add(model.JobProductImport, true, products(3))
		sh.finish(sh.hand())
		sh.clock.Add((KeepDays*24*time.Hour + time.Hour).Milliseconds())
		kept := sh.add(model.JobProductImport, true, products(3))
		if err := sh.hand().clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := sh.number("SELECT COUNT(*) FROM jobs") + 10*sh.number("SELECT COUNT(*) FROM job_rows"); n != 1 {
			t.Errorf("jobs + 10 rows = %d, want 1", n)
		}
		if _, err := sh.Files.Open(t.Context(), old.Input); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("the file of the old job: %v", err)
		}
		if _, err := sh.input(t.Context(), &kept); err != nil {
			t.Errorf("the file of the other: %v", err)
		}
	})
}
