package testserver

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// clusterNodes is how many masters a cluster has; none of them has a replica.
const clusterNodes = 3

// clusterSlots is how many slots Redis Cluster divides among its nodes.
const clusterSlots = 16384

// Cluster is a Redis Cluster that belongs to one test. What is left of it serves its
// own slots while a node is away.
type Cluster struct {
	// Nodes may be killed, paused and started again one by one. They keep nothing on
	// disk but their place in the cluster.
	Nodes []*Server
}

// Addrs are host:port of every node.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		addrs[i] = n.Addr()
	}
	return addrs
}

// StartRedisCluster starts a cluster of three redis-server for this test alone and waits
// until all its slots are served.
func StartRedisCluster(t testing.TB) *Cluster {
	t.Helper()
	nodes, err := launchCluster()
	skipOrFail(t, err)
	c := &Cluster{}
	for _, p := range nodes {
		t.Cleanup(p.close)
		c.Nodes = append(c.Nodes, &Server{t: t, p: p})
	}
	return c
}

// RedisCluster returns the addresses of an empty cluster of three nodes that all callers
// of one test binary share, under the rules of [Redis].
func RedisCluster(t testing.TB) (addrs []string) {
	t.Helper()
	shared.cluster.once.Do(func() { shared.cluster.nodes, shared.cluster.err = launchCluster() })
	skipOrFail(t, shared.cluster.err)
	for _, p := range shared.cluster.nodes {
		if _, err := redisDo(p.addr(), "FLUSHALL"); err != nil {
			t.Fatalf("testserver: empty the Redis at %s: %v", p.addr(), err)
		}
		addrs = append(addrs, p.addr())
	}
	return addrs
}

// AwaitWhole waits until every node says that all slots are served, which after
// [Server.Start] of one takes the others a moment to notice.
func (c *Cluster) AwaitWhole() {
	t := c.Nodes[0].t
	t.Helper()
	for _, n := range c.Nodes {
		if err := awaitWhole(n.p); err != nil {
			t.Fatalf("testserver: %v", err)
		}
	}
}

func launchCluster() (nodes []*process, err error) {
	defer func() {
		if err != nil {
			for _, p := range nodes {
				p.close()
			}
		}
	}()
	for range clusterNodes {
		p, err := launchRedis("--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
			"--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "no")
		if err != nil {
			return nodes, err
		}
		nodes = append(nodes, p)
	}
	for i, p := range nodes {
		slots := fmt.Sprintf("CLUSTER ADDSLOTSRANGE %d %d", i*clusterSlots/clusterNodes, (i+1)*clusterSlots/clusterNodes-1)
		if _, err := redisDo(p.addr(), slots); err != nil {
			return nodes, err
		}
		host, port, err := net.SplitHostPort(p.addr())
		if err != nil {
			return nodes, err
		}
		if _, err := redisDo(nodes[0].addr(), "CLUSTER MEET "+host+" "+port); err != nil {
			return nodes, err
		}
	}
	for _, p := range nodes {
		if err := awaitWhole(p); err != nil {
			return nodes, err
		}
	}
	return nodes, nil
}

// awaitWhole asks a node until it knows all the others and serves, or knows who serves,
// every slot.
func awaitWhole(p *process) error {
	for limit := time.Now().Add(startLimit); ; {
		info, err := redisDo(p.addr(), "CLUSTER INFO")
		if err == nil && strings.Contains(info, "cluster_state:ok\r\n") &&
			strings.Contains(info, fmt.Sprintf("cluster_slots_ok:%d\r\n", clusterSlots)) &&
			strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d\r\n", clusterNodes)) {
			return nil
		}
		if p.endedWithin(20 * time.Millisecond) {
			return fmt.Errorf("%s at %s has ended", p.name, p.addr())
		}
		if time.Now().After(limit) {
			return fmt.Errorf("the cluster is not whole after %v: %w\n%s", startLimit, err, info)
		}
	}
}
