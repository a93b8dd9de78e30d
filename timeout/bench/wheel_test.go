package bench

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/wheel"
)

// delay is how far ahead an order's deadline is: 10 to 40 minutes.
func delay() time.Duration { return 10*time.Minute + rand.N(30*time.Minute) }

// BenchmarkReplace cancels a random one of n waiting timers and adds another
// for it: what an order that is paid and one that is placed cost together.
func BenchmarkReplace(b *testing.B) {
	for _, n := range []int{1e3, 1e5, 1e6} {
		b.Run(fmt.Sprintf("%d/wheel", n), func(b *testing.B) {
			w, err := wheel.New(func([]uint32) {}, wheel.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Stop()
			handles := make([]wheel.Handle, n)
			for i := range handles {
				handles[i], _ = w.Add(w.Now()+delay(), uint32(i))
			}
			b.ReportAllocs()
			for b.Loop() {
				i := rand.IntN(n)
				w.Cancel(handles[i])
				handles[i], _ = w.Add(w.Now()+delay(), uint32(i))
			}
		})
		b.Run(fmt.Sprintf("%d/runtime", n), func(b *testing.B) {
			timers := make([]*time.Timer, n)
			fire := func() {}
			for i := range timers {
				timers[i] = time.AfterFunc(delay(), fire)
			}
			b.ReportAllocs()
			for b.Loop() {
				i := rand.IntN(n)
				timers[i].Stop()
				timers[i] = time.AfterFunc(delay(), fire)
			}
			for _, t := range timers {
				t.Stop()
			}
		})
	}
}
