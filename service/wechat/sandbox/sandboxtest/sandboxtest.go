// Package sandboxtest gives tests a simulated WeChat: one that a package shares, or folders for their own.
package sandboxtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tidemall/tidemall/service/wechat/sandbox"
)

// T is what a test and a property have in common.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// shared runs in a temporary folder, which Run removes.
var shared = sync.OnceValues(func() (*sandbox.Server, error) {
	dir, err := os.MkdirTemp("", "sandboxtest")
	if err != nil {
		return nil, err
	}
	s, err := sandbox.New(sandbox.Options{DataDir: dir})
	if err != nil {
		return nil, err
	}
	s.Start()
	folder = dir
	return s, nil
})

var folder string

// Shared returns the simulated WeChat of all tests of the package, which runs it in its TestMain by Run. Numbers are random and
// shoppers are named by the test, so tests do not meet in its books; its settings and faults they share.
func Shared(t testing.TB) *sandbox.Server {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Run runs the tests of a package, then stops what Shared has started, and returns the exit code.
func Run(m *testing.M) int {
	code := m.Run()
	if s, err := shared(); err == nil {
		_ = s.Stop()
		_ = os.RemoveAll(folder)
	}
	return code
}

// keys are made once a process: RSA keys take longer than most tests.
var keys = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sandboxtest-keys")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := sandbox.New(sandbox.Options{DataDir: dir})
	if err != nil {
		return nil, err
	}
	if err := s.Stop(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "keys.json"))
})

// DataDir returns a folder for a simulated WeChat of the test's own, with keys in it.
func DataDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	raw, err := keys()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "keys.json"), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Control calls a control of the simulated WeChat at base, decodes the reply unless into is nil, and returns the status.
func Control(t T, base, method, path string, body, into any) int {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatalf("%v", err)
	}
	req, err := http.NewRequest(method, base+path, bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%v", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if into != nil {
		if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
			t.Fatalf("%s %s: %d, %v", method, path, resp.StatusCode, err)
		}
	}
	return resp.StatusCode
}
