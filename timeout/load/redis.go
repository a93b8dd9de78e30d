package load

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Commands counts the commands that the Redis server executes, those inside scripts included and those of everybody else, too.
type Commands struct {
	client redis.UniversalClient
	before int64
	known  bool
}

// CountCommands begins to count. A nil client, and a server that keeps no statistics of commands, give a count that is unknown.
func CountCommands(ctx context.Context, client redis.UniversalClient) Commands {
	c := Commands{client: client}
	c.before, c.known = commandsOf(ctx, client)
	return c
}

// Since returns the commands so far, less this question itself.
func (c Commands) Since(ctx context.Context) (n int64, known bool) {
	if !c.known {
		return 0, false
	}
	now, known := commandsOf(ctx, c.client)
	return now - c.before - 1, known
}

// Per returns the commands so far for each of n tasks; nil if unknown.
func (c Commands) Per(ctx context.Context, n int) *float64 {
	all, known := c.Since(ctx)
	if !known || n == 0 {
		return nil
	}
	per := float64(all) / float64(n)
	return &per
}

func commandsOf(ctx context.Context, client redis.UniversalClient) (total int64, known bool) {
	var mu sync.Mutex
	err := eachNode(ctx, client, func(ctx context.Context, node redis.Cmdable) error {
		text, err := node.Info(ctx, "commandstats").Result()
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		n, ok := sumCalls(text)
		total, known = total+n, known || ok
		return nil
	})
	return total, known && err == nil
}

// sumCalls adds up lines such as "cmdstat_zadd:calls=3,usec=9,…".
func sumCalls(text string) (total int64, known bool) {
	for line := range strings.Lines(text) {
		_, rest, ok := strings.Cut(line, ":calls=")
		if !ok || !strings.HasPrefix(line, "cmdstat_") {
			continue
		}
		digits, _, _ := strings.Cut(rest, ",")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return 0, false
		}
		total, known = total+n, true
	}
	return total, known
}

// eachNode runs f on the server, or on every master of the cluster.
func eachNode(ctx context.Context, client redis.UniversalClient, f func(context.Context, redis.Cmdable) error) error {
	switch c := client.(type) {
	case nil:
		return nil
	case *redis.ClusterClient:
		return c.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return f(ctx, node) })
	default:
		return f(ctx, c)
	}
}

// Clean removes every key that starts with the prefix and a colon, on all masters, and returns how many there were.
func Clean(ctx context.Context, client redis.UniversalClient, prefix string) (removed int64, err error) {
	if prefix == "" || strings.ContainsAny(prefix, `*?[]\`) {
		return 0, fmt.Errorf("load: %q is no prefix to remove keys by", prefix)
	}
	var mu sync.Mutex
	err = eachNode(ctx, client, func(ctx context.Context, node redis.Cmdable) error {
		for cursor := uint64(0); ; {
			keys, next, err := node.Scan(ctx, cursor, prefix+":*", 1000).Result()
			if err != nil {
				return err
			}
			for _, key := range keys { // one by one: keys of a cluster lie in different slots
				n, err := remove(ctx, node, key)
				if err != nil {
					return err
				}
				mu.Lock()
				removed += n
				mu.Unlock()
			}
			if cursor = next; cursor == 0 {
				return nil
			}
		}
	})
	return removed, err
}

// remove asks once more with more time: freeing a large key may outlast the client's short limit.
func remove(ctx context.Context, node redis.Cmdable, key string) (int64, error) {
	n, err := node.Unlink(ctx, key).Result()
	if err == nil {
		return n, nil
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(100 * time.Millisecond):
	}
	return node.Del(ctx, key).Result()
}
