package timeout

import "testing"

// A batch is of few shards, and a shard to which more and more comes takes no
// other's turn.
func TestReadyTasksTakeTurns(t *testing.T) {
	r := readyTasks{shards: make([]queue, 4)}
	for i := range uint32(8) {
		r.push(int(i%4), i)
	}
	var order []uint32
	for range 4 {
		order = append(order, r.pop()%4)
	}
	if order[0] != order[1] || order[2] != order[3] || r.len() != 4 {
		t.Errorf("shards %v", order)
	}
	for popped := 0; ; popped++ {
		r.push(2, 2)
		r.push(2, 2)
		if r.pop()%4 == 3 {
			break
		}
		if popped > 2*MaxBatch {
			t.Fatal("a shard waits for ever")
		}
	}
}
