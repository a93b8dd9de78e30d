package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/tidemall/tidemall/config"
	"github.com/tidemall/tidemall/service/bench"
)

const benchUsage = `tidemall bench timeout: how late, how fast, at what cost does this installation act on deadlines?

It runs on the configured servers and never touches the shop: for the run it makes a database of its own, tidemall_bench_…
(embedded: a folder bench-… in data_dir), with the shop's schema, and uses keys of its own in Redis, bench-…:*. Both are removed
at the end, after an error and after Ctrl-C, too; after kill -9 drop them by hand. The user of mysql.dsn needs the right to make
that database. The load is real: on servers that a shop is using, the shop feels it. WeChat is never called.

Exit 1 if a deadline fired early or was missed, or if the filled shop is not sound afterwards.

`

// runBench runs a load test on the configured servers.
func runBench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	var o bench.Options
	file := fs.String("config", "", "YAML file")
	fs.IntVar(&o.Count, "count", 0, "how many deadlines (default 20000; with --close 5000)")
	fs.DurationVar(&o.Over, "over", 5*time.Second, "the time over which they are due, evenly")
	fs.IntVar(&o.Callers, "callers", 16, "how many schedule (with --close: place orders) at a time")
	burst := fs.Bool("burst", false, "all are due at one instant, whatever --over says")
	handler := fs.Int("handler-ms", 0, "how long the handler takes for a batch of up to 250, beside its one update")
	fs.BoolVar(&o.Close, "close", false, "fill a shop with unpaid orders and measure their closing: stock, ledger, events and messages included")
	asJSON := fs.Bool("json", false, "write the figures as one JSON object and nothing else to standard output")
	fs.Usage = func() {
		_, _ = io.WriteString(stderr, benchUsage)
		fs.PrintDefaults()
	}
	words, err := parse(fs, args, 1, stderr)
	if err != nil {
		return err
	}
	o.HandlerTime = time.Duration(*handler) * time.Millisecond
	if *burst {
		o.Over = 0
	}
	if err := o.Check(); err != nil || words[0] != "timeout" {
		if err == nil {
			err = fmt.Errorf("there is no bench %q; there is: timeout", words[0])
		}
		_, _ = fmt.Fprintln(stderr, "tidemall:", err)
		return errUsage
	}
	cfg, _, err := load(config.Load, *file, stderr)
	if err != nil {
		return err
	}
	o.Config = cfg
	o.Log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: max(cfg.Level(), slog.LevelWarn)}))
	o.Progress = func(text string) { _, _ = fmt.Fprintln(stderr, text) }
	report, err := bench.Run(ctx, o)
	if err != nil {
		return err
	}
	write := report.WriteText
	if *asJSON {
		write = report.WriteJSON
	}
	if err := write(stdout); err != nil {
		return err
	}
	if !report.OK() {
		return errBroken
	}
	return nil
}
