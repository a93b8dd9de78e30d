package timeout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// shardOf is the shard of a key, by FNV-1a. Stored entries depend on it.
func shardOf(key string, shards int) int {
	h := uint32(2166136261)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return int(h % uint32(shards))
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

// leaseKey is the lease of a shard, in the same slot as its sets.
func (s *store) leaseKey(shard int) string {
	return s.prefix + ":lease:{" + s.prefix + "." + strconv.Itoa(shard) + "}"
}

// channel is where replicas give each other hints.
func (s *store) channel() string { return s.prefix + ":timeout-hints" }

// call is one run of a script, or without one a plain command, all of it in
// args; answer is what came back.
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
		switch {
		case c.script == nil:
			cmds[i] = pipeline.Do(ctx, c.args...)
		case byText:
			cmds[i] = pipeline.Eval(ctx, c.script.text, c.keys, c.args...)
		default:
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
	verdict claimVerdict
	lease   float64
	before  float64 // the score before, 0 if unknown
	ahead   int64   // ms, of an early one
}

type claimVerdict uint8

const (
	claimError   claimVerdict = iota // no answer
	claimTaken                       // ours now
	claimRescued                     // ours now, because the sweep knew better
	claimEarly                       // not due yet
	claimGone                        // not there
	claimForeign                     // its shard is another replica's
)

// claimRequest is one task to be claimed with its token. A claim whose answer
// was lost is repeated with the token it had, and finds its own lease.
type claimRequest struct {
	key   string
	token float64
}

// shardToken is what tasks claimed by one call have in common.
type shardToken struct {
	shard int
	token float64
}

// claim claims tasks of one kind. epoch is that of a shard's lease, or nil to
// claim in every shard. force > 0 also claims what is missing or further ahead
// than that many ms.
func (s *store) claim(ctx context.Context, kind string, tasks []claimRequest, epoch func(shard int) int64, force time.Duration) []claim {
	claims := make([]claim, len(tasks))
	forceArg := ""
	if force > 0 {
		forceArg = strconv.FormatInt(force.Milliseconds(), 10)
	}
	together := map[shardToken][]int{}
	for i, t := range tasks {
		at := shardToken{shardOf(t.key, s.shards), t.token}
		together[at] = append(together[at], i)
	}
	var calls []call
	var groups [][]int
	var tokens []float64
	for at, places := range together {
		epochArg := ""
		if epoch != nil {
			epochArg = strconv.FormatInt(epoch(at.shard), 10)
		}
		args := make([]any, 0, 4+len(places))
		args = append(args, leaseTime.Milliseconds(), forceArg, epochArg, formatScore(at.token))
		for _, i := range places {
			args = append(args, tasks[i].key)
		}
		calls = append(calls, call{scriptClaim, []string{s.setKey(kind, at.shard), s.leaseKey(at.shard)}, args})
		groups, tokens = append(groups, places), append(tokens, at.token)
	}
	answers, _ := s.run(ctx, calls)
	for g, places := range groups {
		values, err := answers[g].list(1)
		if err != nil {
			continue
		}
		now, _ := values[0].(int64)
		ends := float64(now+leaseTime.Milliseconds()) + tokens[g]
		for n, i := range places {
			switch {
			case len(values) == 1:
				claims[i] = claim{verdict: claimForeign}
			case len(values) == 1+len(places):
				claims[i] = parseClaim(values[1+n], ends)
			}
		}
	}
	return claims
}

// parseClaim reads what was said about one task.
func parseClaim(value any, ends float64) claim {
	said, _ := value.(string)
	switch {
	case said == "-":
		return claim{verdict: claimGone}
	case said == "!":
		return claim{verdict: claimRescued, lease: ends}
	case strings.HasPrefix(said, "=@"):
		if lease, err := strconv.ParseFloat(said[2:], 64); err == nil {
			return claim{verdict: claimTaken, lease: lease}
		}
	case strings.HasPrefix(said, "="):
		if before, err := strconv.ParseFloat(said[1:], 64); err == nil {
			return claim{verdict: claimTaken, lease: ends, before: before}
		}
	case strings.HasPrefix(said, "<"):
		if ahead, err := strconv.ParseInt(said[1:], 10, 64); err == nil {
			return claim{verdict: claimEarly, ahead: ahead}
		}
	}
	return claim{}
}

// settlement ends (next = 0) or moves one claim.
type settlement struct {
	key         string
	lease, next float64
	// whole says that all that its claim took in the shard is settled together
	// with it, so that nothing else has the same lease.
	whole bool
}

// settle applies the settlements and says for each whether the claim was
// still ours; true too where Redis did not answer. Where a claim ends as a
// whole, one that was not ours any more makes it false for all of it.
func (s *store) settle(ctx context.Context, kind string, all []settlement) ([]bool, error) {
	held := make([]bool, len(all))
	if len(all) == 0 {
		return held, nil
	}
	var calls []call
	var groups [][]int
	for shard, places := range s.byShard(len(all), func(i int) string { return all[i].key }) {
		set := s.setKey(kind, shard)
		ended, rest := wholes(all, places)
		for lease, places := range ended {
			score := formatScore(lease)
			calls = append(calls, call{args: []any{"ZREMRANGEBYSCORE", set, score, score}})
			groups = append(groups, places)
		}
		if len(rest) > 0 {
			calls = append(calls, settleCall(set, all, rest))
			groups = append(groups, rest)
		}
	}
	answers, err := s.run(ctx, calls)
	for g, places := range groups {
		if calls[g].script == nil {
			removed, _ := answers[g].value.(int64)
			for _, i := range places {
				held[i] = answers[g].err != nil || int(removed) == len(places)
			}
			continue
		}
		values, err := answers[g].list(len(places))
		for n, i := range places {
			held[i] = err != nil || values[n] == int64(1)
		}
	}
	return held, err
}

// wholes parts, of the settlements of one shard, claims that end as a whole
// from the rest. Their members are those with the lease's score: one command
// removes them, which leaves whatever was given another score meanwhile. A
// script would cost Redis three.
func wholes(all []settlement, places []int) (ended map[float64][]int, rest []int) {
	mixed := map[float64]bool{}
	for _, i := range places {
		if all[i].next != 0 || !all[i].whole {
			mixed[all[i].lease] = true
		}
	}
	ended = map[float64][]int{}
	for _, i := range places {
		if lease := all[i].lease; mixed[lease] {
			rest = append(rest, i)
		} else {
			ended[lease] = append(ended[lease], i)
		}
	}
	return ended, rest
}

func settleCall(set string, all []settlement, places []int) call {
	n := len(places)
	args := make([]any, 3*n)
	for at, i := range places {
		args[at], args[n+at], args[2*n+at] = all[i].key, formatScore(all[i].lease), ""
		if all[i].next != 0 {
			args[2*n+at] = formatScore(all[i].next)
		}
	}
	return call{scriptSettle, []string{set}, args}
}

// wanted is a task that the source says is waiting.
type wanted struct {
	key   string
	score float64
	mode  string // see scriptEnsure
}

// Modes of scriptEnsure.
const (
	wantOverdue = "overdue"
	wantSoon    = "soon"
	wantLost    = "lost"
)

// ensure writes the wanted tasks where they are missing or too late and
// returns how many it wrote.
func (s *store) ensure(ctx context.Context, kind string, all []wanted) (int64, error) {
	if len(all) == 0 {
		return 0, nil
	}
	var calls []call
	for shard, asked := range s.byShard(len(all), func(i int) string { return all[i].key }) {
		for places := range slices.Chunk(asked, MaxBatch) {
			n := len(places)
			args := make([]any, 3*n)
			for at, i := range places {
				args[at], args[n+at], args[2*n+at] = all[i].key, formatScore(all[i].score), all[i].mode
			}
			calls = append(calls, call{scriptEnsure, []string{s.setKey(kind, shard)}, args})
		}
	}
	answers, err := s.run(ctx, calls)
	var written int64
	for _, a := range answers {
		n, _ := a.value.(int64)
		written += n
	}
	return written, err
}

// set names one sorted set.
type set struct {
	shard int
	lane  int // place of the kind
}

// poll reads a page of MaxBatch tasks up to the given unix ms of each set.
func (s *store) poll(ctx context.Context, sets []set, kinds []string, until int64, offset int) ([][]redis.Z, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	pages := make([][]redis.Z, len(sets))
	err := s.breaker.do(func() error {
		pipeline := s.client.Pipeline()
		cmds := make([]*redis.ZSliceCmd, len(sets))
		by := &redis.ZRangeBy{Min: "-inf", Max: strconv.FormatInt(until, 10), Offset: int64(offset), Count: MaxBatch}
		for i, at := range sets {
			cmds[i] = pipeline.ZRangeByScoreWithScores(ctx, s.setKey(kinds[at.lane], at.shard), by)
		}
		_, err := pipeline.Exec(ctx)
		for i, cmd := range cmds {
			pages[i] = cmd.Val()
		}
		return err
	})
	return pages, err
}

// hold is what scriptHold said about one shard.
type hold struct {
	held        bool
	epoch, beat int64
	free        time.Duration // after which it can be had, of one not held
}

// hold takes or renews the leases of shards for so long, 0 gives them back.
// The epochs are the last ones known.
func (s *store) hold(ctx context.Context, node string, shards []int, epochs []int64, d time.Duration) ([]hold, error) {
	if len(shards) == 0 {
		return nil, nil
	}
	calls := make([]call, len(shards))
	for i, shard := range shards {
		calls[i] = call{scriptHold, []string{s.leaseKey(shard)}, []any{node, d.Milliseconds(), epochs[i]}}
	}
	answers, err := s.run(ctx, calls)
	holds := make([]hold, len(shards))
	for i, a := range answers {
		values, listErr := a.list(2)
		if listErr != nil {
			err = listErr
			continue
		}
		says, _ := values[0].(int64)
		second, _ := values[1].(int64)
		if says == 0 {
			holds[i].free = time.Duration(second) * time.Millisecond
			continue
		}
		holds[i].held, holds[i].epoch = true, second
		if len(values) > 2 {
			holds[i].beat, _ = values[2].(int64)
		}
	}
	return holds, err
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

// time is the clock of the node that has the first shard, in unix ns. It goes
// past the breaker: the clock counts no failures.
func (s *store) time(ctx context.Context) (int64, error) {
	keys := []string{s.leaseKey(0)}
	value, err := s.client.EvalSha(ctx, scriptTime.hash, keys).Slice()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		value, err = s.client.Eval(ctx, scriptTime.text, keys).Slice()
	}
	if err != nil {
		return 0, err
	}
	if len(value) != 2 {
		return 0, fmt.Errorf("%w: %.100v", errAnswer, value)
	}
	var parts [2]int64
	for i := range parts {
		text, _ := value[i].(string)
		if parts[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return 0, fmt.Errorf("%w: %.100v", errAnswer, value)
		}
	}
	return parts[0]*int64(time.Second) + parts[1]*int64(time.Microsecond), nil
}

// ping tries Redis, also when it is believed to be away: every shard, since of
// a cluster one node may be.
func (s *store) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	return s.breaker.probe(func() error {
		pipeline := s.client.Pipeline()
		for shard := range s.shards {
			pipeline.Exists(ctx, s.leaseKey(shard))
		}
		_, err := pipeline.Exec(ctx)
		return err
	})
}
