package testserver

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

const withServersUsage = `usage: withservers [-redis] -- command [argument …]

Starts a private MySQL server, runs the command with TIDEMALL_TEST_MYSQL_DSN naming it,
and stops the server. A variable that is set already is left alone.

  -redis  start a Redis as well and set TIDEMALL_TEST_REDIS_ADDR. For a command that is
          one process; go test runs several at a time, which would take turns at it,
          and starting a Redis for each is quicker.
`

// WithServers is the command withservers: it starts servers, runs a command with the
// variables that name them, passes signals on to it, and stops the servers. What could
// not be started is said on stderr and is no error, because tests that need it skip.
// It returns the exit code: the command's own, 128 + the signal that ended it, 125 if a
// server failed to start, 126 or 127 if the command did, 2 for a wrong call.
func WithServers(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("withservers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, withServersUsage) }
	withRedis := flags.Bool("redis", false, "")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return 2
	}

	// From here on an interrupt must not end this process before the servers.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	env, stop, err := startServers(*withRedis, stderr)
	defer stop()
	if err != nil {
		fmt.Fprintf(stderr, "withservers: %v\n", err)
		return 125
	}
	cmd := exec.Command(flags.Arg(0), flags.Args()[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	cmd.Env = append(os.Environ(), env...)
	return runPassingSignals(cmd, signals, stderr)
}

// startServers starts what no variable names yet and returns the variables to add.
func startServers(withRedis bool, stderr io.Writer) (env []string, stop func(), err error) {
	var running []*process
	stop = func() {
		for _, p := range running {
			p.close()
		}
	}
	start := func(variable string, launch func() (*process, error), value func(*process) string) error {
		if os.Getenv(variable) != "" {
			fmt.Fprintf(stderr, "withservers: using the server that %s names\n", variable)
			return nil
		}
		p, err := launch()
		if errors.Is(err, errMissing) {
			fmt.Fprintf(stderr, "withservers: skipped: %v; tests that need it skip too\n", err)
			return nil
		}
		if err != nil {
			return err
		}
		running = append(running, p)
		env = append(env, variable+"="+value(p))
		return nil
	}

	err = start(EnvMySQL, func() (*process, error) { return launchMySQL(fast) },
		func(p *process) string { return p.dsn("") })
	if template.dir != "" {
		env = append(env, envTemplate+"="+template.dir)
	}
	if err != nil {
		return env, stop, err
	}
	if withRedis {
		err = start(EnvRedis, func() (*process, error) { return launchRedis() }, (*process).addr)
	} else if _, missing := findProgram("redis-server"); missing != nil && os.Getenv(EnvRedis) == "" {
		fmt.Fprintf(stderr, "withservers: skipped: %v; tests that need it skip too\n", missing)
	}
	return env, stop, err
}

// runPassingSignals runs cmd to its end and returns its exit code as a shell would.
func runPassingSignals(cmd *exec.Cmd, signals <-chan os.Signal, stderr io.Writer) int {
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(stderr, "withservers: %v\n", err)
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return 127
		}
		return 126
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			// A terminal signals the whole group, so the command may get it twice, or be gone.
			_ = cmd.Process.Signal(s)
		case err := <-done:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				fmt.Fprintf(stderr, "withservers: %v\n", err)
				return 126
			}
			if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
				return 128 + int(ws.Signal())
			}
			return cmd.ProcessState.ExitCode()
		}
	}
}
