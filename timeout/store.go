package timeout

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisTimeout bounds one round trip, its repetition included.
const redisTimeout = 300 * time.Millisecond

// RedisOptions returns options under which a Redis that refuses costs 15 ms
// and one that hangs 300 ms. go-redis' defaults cost 1.75 s and 5 s, the
// latter even under a shorter context. Credentials, TLS and the master's name
// are the caller's to add.
func RedisOptions(addrs []string) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs:                 addrs,
		ContextTimeoutEnabled: true,
		DialerRetries:         1,
		MaxRetries:            1,
		DialTimeout:           redisTimeout,
		ReadTimeout:           redisTimeout,
		WriteTimeout:          redisTimeout,
		PoolTimeout:           redisTimeout,
	}
}

// shardOf is the shard of a key. Stored entries depend on it.
func shardOf(key string, shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % uint32(shards))
}

// store is the schedule in Redis: per shard and kind one sorted set, member =
// task key, score = see score.go. Kinds have sets of their own, so that the
// backlog of one never hides the tasks of another.
type store struct {
	client  redis.UniversalClient
	breaker *breaker
	prefix  string
	shards  int
}

func (s *store) setKey(kind string, shard int) string {
	return s.prefix + ":timeout:{" + s.prefix + "." + strconv.Itoa(shard) + "}:" + kind
}

// call is one run of a script, answer what came back.
type call struct {
	script *script
	keys   []string
	args   []any
}

type answer struct {
	value any
	err   error
}

// run sends the calls in one pipeline. A node that does not know a script
// (restarted, or new in the cluster) gets its text in a second one: pipelines
// have no fallback of their own. The error is the first of the answers'.
func (s *store) run(ctx context.Context, calls []call) ([]answer, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	var answers []answer
	err := s.breaker.do(func() error {
		answers = make([]answer, len(calls))
		all := make([]int, len(calls))
		for i := range all {
			all[i] = i
		}
		unknown := s.pipe(ctx, calls, all, answers, false)
		s.pipe(ctx, calls, unknown, answers, true)
		for _, a := range answers {
			if a.err != nil {
				return a.err
			}
		}
		return nil
	})
	if answers == nil { // the breaker did not let it through
		answers = make([]answer, len(calls))
		for i := range answers {
			answers[i].err = err
		}
	}
	return answers, err
}

// pipe runs the calls at the given places, by their text or by its hash, and
// returns those whose script the server did not know.
func (s *store) pipe(ctx context.Context, calls []call, places []int, answers []answer, byText bool) (unknown []int) {
	if len(places) == 0 {
		return nil
	}
	pipeline := s.client.Pipeline()
	cmds := make([]*redis.Cmd, len(places))
	for i, place := range places {
		c := calls[place]
		if byText {
			cmds[i] = pipeline.Eval(ctx, c.script.text, c.keys, c.args...)
		} else {
			cmds[i] = pipeline.EvalSha(ctx, c.script.hash, c.keys, c.args...)
		}
	}
	_, _ = pipeline.Exec(ctx) // every command carries its own error
	for i, place := range places {
		value, err := cmds[i].Result()
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			unknown = append(unknown, place)
		}
		answers[place] = answer{value, err}
	}
	return unknown
}

// errAnswer is an answer that does not have the script's shape.
var errAnswer = errors.New("timeout: unexpected answer of a script")

// list is an answer that is a list of at least n values.
func (a answer) list(n int) ([]any, error) {
	if a.err != nil {
		return nil, a.err
	}
	values, ok := a.value.([]any)
	if !ok || len(values) < n {
		return nil, fmt.Errorf("%w: %.100v", errAnswer, a.value)
	}
	return values, nil
}

// byShard groups the places of keys by their shard.
func (s *store) byShard(n int, key func(int) string) map[int][]int {
	groups := map[int][]int{}
	for i := range n {
		shard := shardOf(key(i), s.shards)
		groups[shard] = append(groups[shard], i)
	}
	return groups
}

// claim is what scriptClaim said about one task.
type claim struct {
	verdict string // claimed, rescued, early, gone, or error
	lease   float64
	before  float64 // the score before, 0 if unknown
	ahead   int64   // ms, of an early one
}

// claim claims the tasks of one kind, each with its token. A claim whose
// answer was lost is repeated with the token it had, and finds its own lease.
// force > 0 also claims what is missing or further ahead than that many ms.
func (s *store) claim(ctx context.Context, kind string, keys []string, tokens []float64, force time.Duration) []claim {
	claims := make([]claim, len(keys))
	forceArg := ""
	if force > 0 {
		forceArg = strconv.FormatInt(force.Milliseconds(), 10)
	}
	var calls []call
	var groups [][]int
	for shard, places := range s.byShard(len(keys), func(i int) string { return keys[i] }) {
		args := make([]any, 0, 2+2*len(places))
		args = append(args, leaseTime.Milliseconds(), forceArg)
		for _, i := range places {
			args = append(args, keys[i], formatScore(tokens[i]))
		}
		calls = append(calls, call{scriptClaim, []string{s.setKey(kind, shard)}, args})
		groups = append(groups, places)
	}
	answers, _ := s.run(ctx, calls)
	for g, places := range groups {
		values, err := answers[g].list(3 * len(places))
		for n, i := range places {
			if err != nil {
				claims[i] = claim{verdict: "error"}
				continue
			}
			claims[i] = parseClaim(values[3*n : 3*n+3])
		}
	}
	return claims
}

func parseClaim(values []any) claim {
	verdict, _ := values[0].(string)
	a, _ := values[1].(string)
	b, _ := values[2].(string)
	c := claim{verdict: verdict}
	switch verdict {
	case "claimed", "rescued":
		c.lease, _ = strconv.ParseFloat(a, 64)
		c.before, _ = strconv.ParseFloat(b, 64)
	case "early":
		c.ahead, _ = strconv.ParseInt(a, 10, 64)
	}
	return c
}

// settlement ends (next = 0) or moves one claim.
type settlement struct {
	key         string
	lease, next float64
}

// settle applies the settlements and says for each whether the claim was
// still ours; true too where Redis did not answer.
func (s *store) settle(ctx context.Context, kind string, all []settlement) ([]bool, error) {
	held := make([]bool, len(all))
	if len(all) == 0 {
		return held, nil
	}
	var calls []call
	var groups [][]int
	for shard, places := range s.byShard(len(all), func(i int) string { return all[i].key }) {
		args := make([]any, 0, 3*len(places))
		for _, i := range places {
			next := ""
			if all[i].next != 0 {
				next = formatScore(all[i].next)
			}
			args = append(args, all[i].key, formatScore(all[i].lease), next)
		}
		calls = append(calls, call{scriptSettle, []string{s.setKey(kind, shard)}, args})
		groups = append(groups, places)
	}
	answers, err := s.run(ctx, calls)
	for g, places := range groups {
		values, err := answers[g].list(len(places))
		for n, i := range places {
			held[i] = err != nil || values[n] == int64(1)
		}
	}
	return held, err
}

// wanted is a task that the source says is waiting.
type wanted struct {
	key   string
	score float64
	soon  bool // not overdue yet
}

// ensure writes the wanted tasks where they are missing or too late and
// returns how many it wrote.
func (s *store) ensure(ctx context.Context, kind string, all []wanted) (int64, error) {
	if len(all) == 0 {
		return 0, nil
	}
	var calls []call
	for shard, places := range s.byShard(len(all), func(i int) string { return all[i].key }) {
		args := make([]any, 0, 3*len(places))
		for _, i := range places {
			mode := "overdue"
			if all[i].soon {
				mode = "soon"
			}
			args = append(args, all[i].key, formatScore(all[i].score), mode)
		}
		calls = append(calls, call{scriptEnsure, []string{s.setKey(kind, shard)}, args})
	}
	answers, err := s.run(ctx, calls)
	var written int64
	for _, a := range answers {
		n, _ := a.value.(int64)
		written += n
	}
	return written, err
}

// soon is one task as the schedule has it.
type soon struct {
	key   string
	score float64
}

// poll reads, for each shard and kind, a page of MaxBatch tasks up to the
// given unix ms: found[shard's place][kind's place].
func (s *store) poll(ctx context.Context, shards []int, kinds []string, until int64, offset int) ([][][]soon, error) {
	calls := make([]call, len(shards))
	for i, shard := range shards {
		keys := make([]string, len(kinds))
		for k, kind := range kinds {
			keys[k] = s.setKey(kind, shard)
		}
		calls[i] = call{scriptPoll, keys, []any{until, offset, MaxBatch}}
	}
	if len(calls) == 0 || len(kinds) == 0 {
		return nil, nil
	}
	answers, err := s.run(ctx, calls)
	if err != nil {
		return nil, err
	}
	found := make([][][]soon, len(shards))
	for i, a := range answers {
		lists, err := a.list(len(kinds))
		if err != nil {
			return nil, err
		}
		found[i] = make([][]soon, len(kinds))
		for k := range kinds {
			pairs, _ := lists[k].([]any)
			for p := 0; p+1 < len(pairs); p += 2 {
				key, _ := pairs[p].(string)
				text, _ := pairs[p+1].(string)
				score, err := strconv.ParseFloat(text, 64)
				if err != nil {
					return nil, fmt.Errorf("%w: score %q", errAnswer, text)
				}
				found[i][k] = append(found[i][k], soon{key, score})
			}
		}
	}
	return found, nil
}

// count is how many tasks of a kind the schedule holds.
func (s *store) count(ctx context.Context, kind string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	var total int64
	err := s.breaker.do(func() error {
		pipeline := s.client.Pipeline()
		cmds := make([]*redis.IntCmd, s.shards)
		for shard := range cmds {
			cmds[shard] = pipeline.ZCard(ctx, s.setKey(kind, shard))
		}
		_, err := pipeline.Exec(ctx)
		for _, cmd := range cmds {
			total += cmd.Val()
		}
		return err
	})
	return total, err
}

// ping tries Redis, also when it is believed to be away.
func (s *store) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	return s.breaker.probe(func() error { return s.client.Ping(ctx).Err() })
}
