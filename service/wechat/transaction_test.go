package wechat_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// envWhere says where a process of TestNoCallInsideATransaction calls WeChat.
const envWhere = "TIDEMALL_TEST_CALL_WHERE"

// callsAt calls WeChat inside transactions and around them. Each call goes through other parts of the libraries.
var callsAt = map[string]func(w *world, s *store.Store){
	"query inside": func(w *world, s *store.Store) {
		_ = s.Tx(w.Context(), func(*store.Tx) error {
			_, err := w.client.Query(w.Context(), "T00000001")
			return err
		})
	},
	"login inside": func(w *world, s *store.Store) {
		_ = s.Tx(w.Context(), func(*store.Tx) error {
			_, err := w.client.Login(w.Context(), "demo-ann")
			return err
		})
	},
	"phone inside": func(w *world, s *store.Store) {
		_ = s.Tx(w.Context(), func(*store.Tx) error {
			_, err := w.client.Phone(w.Context(), "demo-ann")
			return err
		})
	},
	"recovered inside": func(w *world, s *store.Store) {
		_ = s.Tx(w.Context(), func(*store.Tx) error {
			defer func() { _ = recover() }()
			_, err := w.client.Query(w.Context(), "T00000001")
			return err
		})
	},
	"inside a snapshot": func(w *world, s *store.Store) {
		_ = s.Snapshot(w.Context(), func(*gorm.DB) error {
			_, err := w.client.Query(w.Context(), "T00000001")
			return err
		})
	},
	"before and after": func(w *world, s *store.Store) {
		_, _ = w.client.Query(w.Context(), "T00000001")
		_ = s.Tx(w.Context(), func(tx *store.Tx) error {
			tx.AfterCommit(func() { _, _ = w.client.Query(w.Context(), "T00000001") })
			return nil
		})
		_, _ = w.client.Query(w.Context(), "T00000001")
	},
}

// TestNoCallInsideATransaction calls WeChat in processes of their own: one that does so inside a transaction does not survive it.
func TestNoCallInsideATransaction(t *testing.T) {
	if where := os.Getenv(envWhere); where != "" {
		w := newWorld(t)
		callsAt[where](w, storetest.SQLite(t))
		return
	}
	for where := range callsAt {
		t.Run(where, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestNoCallInsideATransaction$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), envWhere+"="+where)
			out, err := cmd.CombinedOutput()
			caught := err != nil && strings.Contains(string(out), "is called inside a database transaction")
			if want := strings.Contains(where, "inside"); caught != want || !want && err != nil {
				t.Errorf("caught is %v, want %v: %v\n%s", caught, want, err, out)
			}
		})
	}
}
