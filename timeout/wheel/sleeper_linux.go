package wheel

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// timerfdSleeper sleeps on a timerfd read through Go's network poller. Go's
// own timers wait in epoll, which counts whole milliseconds.
//
// Its calls to the kernel are raw ones. They never block, and announcing each
// to Go's scheduler wakes up the scheduler's monitor, which costs more than all
// the rest of a wake-up.
type timerfdSleeper struct {
	fd   uintptr
	file *os.File
	conn syscall.RawConn
}

// newSleepers returns a timerfd and, for the times when every processor is
// busy, a timer. Then Go asks its network poller once in 10 ms only and puts
// whoever waited there behind all others, but looks at its timers each time a
// goroutine is taken off.
func newSleepers() ([]Sleeper, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("wheel: timerfd: %w", err)
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("wheel: timerfd: %w", err)
	}
	return []Sleeper{&timerfdSleeper{uintptr(fd), file, conn}, &helper{Sleeper: NewTimerSleeper(), start: time.Now()}}, nil
}

// Arm clamps to 1 ns, because a zero value disarms a timerfd.
func (s *timerfdSleeper) Arm(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(d, 1)))}
	// It can fail only for a bad descriptor or value: the wheel neither arms
	// after Close nor passes a value out of range.
	_, _, errno := unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, s.fd, 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	_ = errno
}

func (s *timerfdSleeper) Sleep() { _ = s.conn.Read(expired) }

// expired takes the expirations of a timerfd and reports whether there were
// any, or never will be.
func expired(fd uintptr) bool {
	var expirations uint64
	_, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&expirations)), unsafe.Sizeof(expirations))
	return errno != unix.EAGAIN
}

func (s *timerfdSleeper) Close() error { return s.file.Close() }

// helper wakes up soon after what was armed: setting a timer can make Go start
// a thread, so the timer is left as it is while it will do, which is nearly
// always when there is a wake-up each few ticks. What is armed for well ahead
// is kept exactly.
type helper struct {
	Sleeper

	start time.Time
	set   atomic.Int64 // what the timer is set to, in nanoseconds since start
}

// soon is how late the helper may be for what was armed shortly before.
const soon = 2 * time.Millisecond

func (h *helper) Arm(d time.Duration) {
	now := time.Since(h.start)
	if set := time.Duration(h.set.Load()) - now; set >= max(d, 0) && set-soon <= d {
		return
	}
	if d > 0 && d < soon {
		d += soon
	}
	h.set.Store(int64(now + d))
	h.Sleeper.Arm(d)
}
