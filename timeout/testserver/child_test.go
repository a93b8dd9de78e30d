package testserver

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

// childForGuard is what the test binary does when it runs itself: it starts a server,
// tells where, and waits to be killed.
func childForGuard(t *testing.T) {
	s := StartRedis(t)
	fmt.Fprintf(os.Stdout, "server %d %s\n", s.Pid(), s.p.dir)
	select {}
}

// startChild runs this test binary again as a child that holds a Redis server, and
// returns the server's process id and directory.
func startChild(t *testing.T) (child *exec.Cmd, pid int, dir string) {
	t.Helper()
	child = exec.Command(os.Args[0], "-test.run=^TestGuard_RemovesDirectoryAndServerWhenTheProcessIsKilled$")
	child.Env = append(os.Environ(), "TESTSERVER_CHILD=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, err := fmt.Sscanf(lines.Text(), "server %d %s", &pid, &dir); err == nil {
			return child, pid, dir
		}
	}
	t.Fatal("the child ended without starting a server")
	return nil, 0, ""
}
