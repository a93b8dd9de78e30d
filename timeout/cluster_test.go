package timeout

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// A node of the cluster is killed while deadlines come, stays away, and comes
// back empty. All fire, late by the bounds and no more, and once.
func TestClusterLosesANode(t *testing.T) {
	cluster := testserver.StartRedisCluster(t)
	s := newThings(mariaDB(t))
	client := redisClient(t, strings.Join(cluster.Addrs(), ","))
	a := start(t, node(t, s, client, "a"))
	start(t, node(t, s, client, "b"))
	const n = 600
	schedule(t, a, s, ids(n, func(i int) int64 { return in(500*time.Millisecond + time.Duration(i)*20*time.Millisecond) }))
	s.await(t, 20*time.Second, "some done", func() bool { return s.waitingNow(t) < n-100 })
	cluster.Nodes[1].Kill()
	awaitShards(t, 5*time.Second, "fed by the database", func() bool { return a.feed() == feedSQL })
	s.await(t, 20*time.Second, "more done without the node", func() bool {
		if a.feed() != feedSQL {
			t.Error("fed by a cluster that is not whole")
		}
		return s.waitingNow(t) < n-300
	})
	cluster.Nodes[1].Start()
	cluster.AwaitWhole()
	s.awaitAllDone(t, 40*time.Second)

	late := s.lateness()
	t.Logf("lateness p50 %v, p99 %v, max %v", late[n/2], late[n*99/100], late[n-1])
	if most := leaseTime + memberTime + 5*time.Second; late[n-1] > most {
		t.Errorf("the latest fired %v after its deadline, want at most %v", late[n-1], most)
	}
}

// lateness is how late each thing was first handed over, sorted, but for the time that the machine stood still.
func (s *things) lateness() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var late []time.Duration
	for _, calls := range s.calls {
		late = append(late, calls[0].late())
	}
	slices.Sort(late)
	return late
}
