package timeout

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// hintWindow is how near a deadline must be to be told to the replica that
	// has the shard: what is due later it reads in time.
	hintWindow = 2 * pollIdle
	// hintSilence is after how long a quiet subscription is tried.
	hintSilence = 5 * time.Second
)

// hint is what replicas tell each other through Redis. It saves time only:
// one that is lost costs a pollIdle, or a heartbeat.
type hint struct {
	// Tasks are near deadlines that somebody else has to fire.
	Tasks []hintTask `json:"tasks,omitempty"`
	// Members says that a replica came, left or gave shards back.
	Members bool `json:"members,omitempty"`
}

type hintTask struct {
	Kind string `json:"kind"`
	Key  string `json:"key"`
	Due  int64  `json:"due"`
}

// listen hears the hints of other replicas.
func (e *Engine) listen(ctx context.Context) {
	e.loop(ctx, "listen", nil, func(ctx context.Context) time.Duration {
		if e.feed() == feedRedis {
			e.hearAll(ctx)
		}
		return probeEvery
	})
}

// hearAll hears hints until the subscription breaks.
func (e *Engine) hearAll(ctx context.Context) {
	subscription := e.o.Redis.Subscribe(ctx, e.store.channel())
	defer context.AfterFunc(ctx, func() { _ = subscription.Close() })() // Receive does not mind the context
	defer subscription.Close()
	notify(e.pollKick) // for what was told before
	tried := false
	for {
		message, err := subscription.ReceiveTimeout(ctx, hintSilence)
		var network net.Error
		switch {
		case err == nil:
			tried = false
		case tried || !errors.As(err, &network) || !network.Timeout():
			return
		default:
			if tried = true; subscription.Ping(ctx) != nil {
				return
			}
		}
		if m, ok := message.(*redis.Message); ok {
			e.hear(m.Payload)
		}
	}
}

// hear acts on one hint.
func (e *Engine) hear(payload string) {
	var h hint
	if json.Unmarshal([]byte(payload), &h) != nil {
		return // of a newer version, perhaps
	}
	if h.Members {
		notify(e.members.kick)
	}
	for _, t := range h.Tasks {
		if l := e.lanes[t.Kind]; l != nil && e.members.owns(shardOf(t.Key, e.o.Shards)) {
			e.near.set(l, t.Key, t.Due)
		}
	}
}

// hintOf picks from writes what the replicas that have the shards must hear
// of at once; "" is nothing.
func (e *Engine) hintOf(writes []write) string {
	var h hint
	soon := float64(e.clock.Now().Add(hintWindow).UnixMilli())
	for _, w := range writes {
		if !w.remove && w.score <= soon && !e.members.owns(w.shard) {
			h.Tasks = append(h.Tasks, hintTask{w.kind, w.key, int64(w.score)})
		}
	}
	if len(h.Tasks) == 0 {
		return ""
	}
	text, _ := json.Marshal(h) // cannot fail
	return string(text)
}

// tellMembers has the other replicas look who lives. It is a hint: without it
// they do so within a heartbeat.
func (e *Engine) tellMembers(ctx context.Context) {
	if e.store == nil || e.feed() != feedRedis {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	text, _ := json.Marshal(hint{Members: true})
	_ = e.redis.do(func() error { return e.o.Redis.Publish(ctx, e.store.channel(), text).Err() })
}
