package testserver

import (
	"os"
	"os/exec"
	"syscall"
)

// guardedPid is the file, in the guarded directory, that holds the process id to kill.
const guardedPid = "pid"

// guardScript waits until its standard input ends, then kills the process that
// $1/pid names and removes $1. A process that was killed a moment ago may still write,
// so removing is tried for a while.
const guardScript = `
trap '' HUP INT QUIT TERM
read -r _
if [ -s "$1/pid" ]; then kill -9 "$(cat "$1/pid")"; fi
n=0
until rm -rf "$1" || [ $n -ge 100 ]; do n=$((n+1)); sleep 0.1; done
`

// guard is a shell beside the test process that cleans up one directory when the test
// process ends, in whichever way. It is told by the pipe on its standard input: the
// kernel closes the writing end with the process. Linux's parent-death signal would
// only end the server and leave its files, and it follows the thread that forked, not
// the process.
type guard struct {
	cmd  *exec.Cmd
	hold *os.File
}

func startGuard(dir string) (*guard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", guardScript, "guard", dir)
	cmd.Dir, cmd.Stdin = "/", r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, err
	}
	return &guard{cmd: cmd, hold: w}, nil
}

// release makes the guard clean up now and waits for it.
func (g *guard) release() {
	g.hold.Close()
	_ = g.cmd.Wait()
}
