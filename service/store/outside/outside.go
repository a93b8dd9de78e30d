// Package outside keeps calls to other machines out of database transactions: a transaction that waits for somebody else's
// network holds its locks as long. It is a check for tests. Every test that opens a database through storetest makes it, and so
// does a program built with the tag failpoint; elsewhere it does nothing.
package outside

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
)

var watching atomic.Bool

// Watch makes the check for the rest of the process.
func Watch() { watching.Store(true) }

// Call says that the goroutine is about to call another machine. If it is inside a transaction, or a snapshot, the process ends
// with its stack: an error or a panic would find somebody on its way who takes it for one of the call's.
func Call(what string) {
	if watching.Load() && inTransaction() {
		end(what)
	}
}

// transactions are the functions that run what they are given in a transaction.
var transactions = []string{"/service/store.(*Store).once", "/service/store.(*Store).Snapshot"}

func inTransaction() bool {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		frame, more := frames.Next()
		for _, name := range transactions {
			if strings.HasSuffix(frame.Function, name) {
				return true
			}
		}
		if !more {
			return false
		}
	}
}

// end ends the process as a panic does that nobody recovers from: only on a goroutine of its own is that sure.
func end(what string) {
	buf := make([]byte, 64<<10)
	message := fmt.Sprintf("%s is called inside a database transaction\n%s", what, buf[:runtime.Stack(buf, false)])
	go panic(message)
	select {}
}
