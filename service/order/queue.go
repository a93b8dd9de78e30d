package order

import (
	"context"
	"sync"
	"time"

	"github.com/tidemall/tidemall/service/fault"
)

// maxQueued is how many submits of one shopper may be in work or waiting in this process. They would queue on the shopper's
// row lock anyway, each holding a connection.
const maxQueued = 4

// queues lets submits of one shopper run one after the other.
type queues struct {
	mu sync.Mutex
	of map[int64]*queue
}

type queue struct {
	n    int           // in work and waiting
	turn chan struct{} // holds one token while a submit is in work
}

// enter waits for the shopper's turn and returns what must be called at its end. rate_limited if too many wait already.
func (q *queues) enter(ctx context.Context, shopperID int64) (leave func(), err error) {
	q.mu.Lock()
	if q.of == nil {
		q.of = map[int64]*queue{}
	}
	mine := q.of[shopperID]
	if mine == nil {
		mine = &queue{turn: make(chan struct{}, 1)}
		q.of[shopperID] = mine
	}
	if mine.n == maxQueued {
		q.mu.Unlock()
		return nil, fault.New(fault.RateLimited).After(time.Second)
	}
	mine.n++
	q.mu.Unlock()

	select {
	case mine.turn <- struct{}{}:
		return func() { <-mine.turn; q.gone(shopperID, mine) }, nil
	case <-ctx.Done():
		q.gone(shopperID, mine)
		return nil, ctx.Err()
	}
}

func (q *queues) gone(shopperID int64, mine *queue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if mine.n--; mine.n == 0 {
		delete(q.of, shopperID)
	}
}
