package wheel

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timerfdSleeper sleeps on a timerfd read through Go's network poller. Go's
// own timers wait in epoll, which counts whole milliseconds.
type timerfdSleeper struct {
	fd   int
	file *os.File
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
	return []Sleeper{&timerfdSleeper{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}, NewTimerSleeper()}, nil
}

// Arm clamps to 1 ns, because a zero value disarms a timerfd.
func (s *timerfdSleeper) Arm(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(d, 1)))}
	// It can fail only for a bad descriptor or value: the wheel neither arms
	// after Close nor passes a value out of range.
	_ = unix.TimerfdSettime(s.fd, 0, &spec, nil)
}

func (s *timerfdSleeper) Sleep() {
	var expirations [8]byte
	_, _ = s.file.Read(expirations[:])
}

func (s *timerfdSleeper) Close() error { return s.file.Close() }
