package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// child is the sandbox of TestBooksSurviveKill9, in a process of its own.
func child(dir string) {
	s, err := New(Options{DataDir: dir, ResendScale: 1000})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Start()
	fmt.Fprintln(os.Stdout, s.URL())
	select {}
}

// Whatever was answered is there after kill -9: numbers, payments, refunds, tokens,
// used codes, settings, and the callbacks that were not taken yet.
func TestBooksSurviveKill9(t *testing.T) {
	r := newRig(t)
	keys, err := openKeyring(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	r.keys = keys
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SANDBOX_CHILD_DIR="+r.dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var url string
	if _, err := fmt.Fscanln(out, &url); err != nil {
		cmd.Process.Kill()
		t.Fatal(err)
	}
	r.url = url
	r.control("POST", "/sandbox/settings", object{"refund_delay_ms": 600000, "close_unknown": 204})
	id := r.prepay("T00000001")
	r.prepay("T00000002")
	r.close("T00000002")
	r.control("POST", "/sandbox/pay", object{"prepay_id": id, "notify": object{"delay_ms": 600000}})
	_, before := r.control("GET", "/sandbox/transactions/T00000001", nil)
	r.pay("POST", "/v3/refund/domestic/refunds", object{"out_trade_no": "T00000001", "out_refund_no": "R1", "amount": object{"refund": 30, "total": 100, "currency": "CNY"}})
	r.control("GET", "/sns/jscode2session?grant_type=authorization_code&js_code=once-a&appid="+keys.AppID+"&secret="+keys.AppSecret, nil)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	books := filepath.Join(r.dir, "books.jsonl")
	torn, err := os.OpenFile(books, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	torn.WriteString(`{"k":"order","id":"T0000`) // what a crash in the middle of a write leaves
	torn.Close()

	stop := r.start()
	if r.keys.MchPrivateKey != keys.MchPrivateKey {
		t.Error("other keys")
	}
	_, after := r.control("GET", "/sandbox/transactions/T00000001", nil)
	if after["trade_state"] != "REFUND" || after["transaction_id"] != before["transaction_id"] || after["refunded_fen"] != float64(30) || after["time_expire"] != before["time_expire"] {
		t.Errorf("before %v\nafter  %v", before, after)
	}
	if _, reply := r.query("T00000002"); reply["trade_state"] != "CLOSED" {
		t.Errorf("%v", reply)
	}
	status, reply := r.control("POST", "/sandbox/pay", object{"prepay_id": id})
	r.want("the prepay_id is known", status, reply, 409, "ORDER_PAID")
	_, reply = r.control("GET", "/sns/jscode2session?grant_type=authorization_code&js_code=once-a&appid="+keys.AppID+"&secret="+keys.AppSecret, nil)
	if reply["errcode"] != float64(40163) {
		t.Errorf("a used code is used: %v", reply)
	}
	if status, _ := r.close("T00000009"); status != 204 {
		t.Errorf("settings: %d", status)
	}
	_, notices := r.control("GET", "/sandbox/notices", nil)
	if list := notices["list"].([]any); len(list) != 1 || list[0].(object)["done_at"] != nil {
		t.Errorf("the callback is still open: %v", notices)
	}
	if status, reply := r.control("POST", "/sandbox/refunds/R1", object{"status": "SUCCESS"}); status != 200 {
		t.Errorf("%d %v", status, reply)
	}
	stop()
	for _, name := range []string{"keys.json", "books.jsonl"} {
		info, err := os.Stat(filepath.Join(r.dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

// A callback and a refund that are due while nothing runs come after the next start.
func TestOpenWorkIsTakenUpAtStart(t *testing.T) {
	r := newRig(t)
	stop := r.start()
	r.control("POST", "/sandbox/settings", object{"refund_delay_ms": 1500})
	r.control("POST", "/sandbox/pay", object{"prepay_id": r.prepay("T00000001"), "notify": object{"delay_ms": 1500}})
	r.pay("POST", "/v3/refund/domestic/refunds", object{
		"out_trade_no": "T00000001", "out_refund_no": "R1", "notify_url": r.shop.URL + "/r", "amount": object{"refund": 30, "total": 100, "currency": "CNY"},
	})
	stop()
	r.start()
	got := map[string]bool{}
	for range 2 {
		path, _, _ := strings.Cut(r.arrival(), " ")
		got[path] = true
	}
	if !got["/notify/wechat/pay"] || !got["/r"] {
		t.Errorf("%v", got)
	}
}

// Whatever the chaos has decided on for a refund outlives the sandbox: one that is ABNORMAL when it ends still succeeds.
func TestRefundsEndAfterARestart(t *testing.T) {
	r := newRig(t)
	stop := r.start()
	r.control("POST", "/sandbox/settings", object{"refund_delay_ms": 0})
	no := r.paid()
	r.arrival()
	r.begin(object{"refunds": object{"abnormal": 1}, "refund_ms": 1200, "seed": 7})
	var refund string
	for tries := 1; ; tries++ {
		refund = fmt.Sprint("R", tries)
		r.refund(no, refund)
		r.arrival()
		got := r.refundStatus(refund)
		if got == "ABNORMAL" {
			break
		}
		if got != "SUCCESS" || tries == 3 { // where the machine stood still it has ended already
			t.Fatalf("before: %v", got)
		}
		r.arrival() // the notice about its success
	}
	stop()
	r.start()
	for r.refundStatus(refund) != "SUCCESS" {
		r.arrival() // the notice about ABNORMAL may come once more
	}
}

// fullDisk takes a half of the next write, and then no more for so many writes; while stuck it cannot be truncated either.
type fullDisk struct {
	journalFile
	full  int
	stuck bool
}

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.full == 0 {
		return d.journalFile.Write(b)
	}
	d.full--
	n, _ := d.journalFile.Write(b[:len(b)/2])
	return n, syscall.ENOSPC
}

func (d *fullDisk) Truncate(size int64) error {
	if d.stuck {
		return syscall.EIO
	}
	return d.journalFile.Truncate(size)
}

// What could not be written did not happen: not now, and not after the next start, which can read what was written before and after.
func TestAFullDiskDamagesNoBooks(t *testing.T) {
	dir := t.TempDir()
	b, err := openBooks(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := &notice{ID: "N1"}
	write := func(no string) error {
		return b.change(func() {
			b.index(&order{OutTradeNo: no, Prepays: []prepayID{{ID: "wx" + no}}})
			b.save("order", no, b.orders[no])
			if n.Attempts++; b.notices[n.ID] == nil {
				b.addNotice(n)
			}
			b.save("notice", n.ID, n)
		})
	}
	holds := func(when string, want ...string) {
		t.Helper()
		var got []string
		for _, o := range b.orderList {
			got = append(got, o.OutTradeNo)
		}
		if !slices.Equal(got, want) || len(b.orders) != len(want) || len(b.prepays) != len(want) || b.notices[n.ID].Attempts != len(want) {
			t.Errorf("%s: %v and %d attempts, want %v", when, got, b.notices[n.ID].Attempts, want)
		}
	}
	if err := write("A"); err != nil {
		t.Fatal(err)
	}
	disk := &fullDisk{journalFile: b.journal.file, full: 1}
	b.journal.file = disk
	if err := write("B"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %v", err)
	}
	holds("after the refusal", "A")
	if b.notices["N1"] != n {
		t.Error("a delivery under way holds on to a notice that is no longer in the books")
	}
	if err := write("C"); err != nil {
		t.Fatal(err)
	}
	holds("with room again", "A", "C")
	disk.full, disk.stuck = 1, true
	for _, no := range []string{"D", "E"} {
		if err := write(no); !errors.Is(err, syscall.EIO) {
			t.Errorf("behind a torn line: %v", err)
		}
	}
	holds("behind a torn line", "A", "C")
	disk.stuck = false
	if err := write("F"); err != nil {
		t.Fatal(err)
	}
	b.close()
	if b, err = openBooks(dir); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	holds("after a restart", "A", "C", "F")
}

// A second sandbox on the same address must not touch the books of the first.
func TestASecondSandboxLeavesTheBooksAlone(t *testing.T) {
	r := started(t)
	if _, err := New(Options{DataDir: r.dir, Addr: strings.TrimPrefix(r.url, "http://")}); err == nil {
		t.Fatal("two sandboxes on one address")
	}
	r.prepay("T00000001")
	raw, err := os.ReadFile(filepath.Join(r.dir, "books.jsonl"))
	if err != nil || !bytes.Contains(raw, []byte("T00000001")) {
		t.Errorf("the books moved away: %v", err)
	}
}

func TestConcurrentCallsKeepTheBooksInOrder(t *testing.T) {
	r := newRig(t)
	stop := r.start()
	id := r.prepay("T00000001")
	var all sync.WaitGroup
	var mu sync.Mutex
	paid, closed := 0, 0
	for i := range 40 {
		all.Go(func() {
			if i%2 == 0 {
				if status, _ := r.control("POST", "/sandbox/pay", object{"prepay_id": id, "notify": object{"times": 0}}); status == 200 {
					mu.Lock()
					paid++
					mu.Unlock()
				}
				return
			}
			if status, _ := r.close("T00000001"); status == 204 {
				mu.Lock()
				closed++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if !(paid == 1 && closed == 0) && !(paid == 0 && closed == 20) {
		t.Errorf("paid %d times, closed %d times", paid, closed)
	}
	_, before := r.query("T00000001")
	stop()
	r.start()
	if _, after := r.query("T00000001"); string(encode(after)) != string(encode(before)) {
		t.Errorf("before %v\nafter %v", before, after)
	}
}
