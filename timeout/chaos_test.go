package timeout

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// Three replicas, owners that schedule, renew and cancel all the time, and
// one accident after another: every deadline is acted on once and none early.
// Cases T03, T15.
func TestT03_T15_Chaos(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of accidents")
	}
	server := testserver.StartRedis(t)
	s := newThings(mariaDB(t))
	client := redisClient(t, server.Addr())
	replicas := make([]*Engine, 3)
	for i := range replicas {
		replicas[i] = start(t, node(t, s, client, fmt.Sprintf("r%d", i)))
	}
	var mu sync.Mutex // guards replicas
	pick := func() *Engine {
		mu.Lock()
		defer mu.Unlock()
		return replicas[rand.IntN(len(replicas))]
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)

	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Second)
	defer cancel()
	var owners sync.WaitGroup
	for o := range 4 {
		owners.Go(func() { own(ctx, t, s, pick, o, rand.New(rand.NewPCG(seed, uint64(o)))) })
	}
	dice := rand.New(rand.NewPCG(seed, 99))
	for n := 0; sleep(ctx, time.Duration(200+dice.IntN(600))*time.Millisecond); n++ {
		switch dice.IntN(5) {
		case 0:
			_ = client.FlushAll(ctx)
		case 1:
			server.Kill()
			sleep(ctx, time.Duration(dice.IntN(2000))*time.Millisecond)
			server.Start()
		case 2:
			server.Pause()
			sleep(ctx, time.Duration(dice.IntN(1000))*time.Millisecond)
			server.Resume()
		case 3:
			i := dice.IntN(len(replicas))
			fresh := start(t, node(t, s, client, fmt.Sprintf("r%d-%d", i, n)))
			mu.Lock()
			old := replicas[i]
			replicas[i] = fresh
			mu.Unlock()
			stop(t, old)
		case 4:
			pick().sweepAll(ctx)
		}
	}
	owners.Wait()
	server.Start()
	s.awaitAllDone(t, 30*time.Second)
}

// own is the owner of things that come, move and go.
func own(ctx context.Context, t *testing.T, s *things, pick func() *Engine, owner int, dice *rand.Rand) {
	for n := 0; sleep(ctx, time.Duration(dice.IntN(20))*time.Millisecond); n++ {
		id := fmt.Sprintf("o%d-%d", owner, n)
		due := in(time.Duration(dice.IntN(4000)) * time.Millisecond)
		s.add(t, map[string]int64{id: due})
		// Errors are outages: the look will find it.
		_ = pick().Schedule(ctx, Task{s.kind, id, due})
		switch dice.IntN(6) {
		case 0:
			moved := in(time.Duration(dice.IntN(4000)) * time.Millisecond)
			s.exec(t, "UPDATE things SET deadline = ? WHERE id = ? AND state = 'waiting'", moved, id)
			_ = pick().Renew(ctx, Task{s.kind, id, moved})
		case 1:
			s.exec(t, "UPDATE things SET state = 'gone', effects = effects + 1 WHERE id = ? AND state = 'waiting'", id)
			_ = pick().Cancel(ctx, s.kind, id)
		}
	}
}
