package timeout

import (
	"crypto/sha1"
	"encoding/hex"
)

// script is a Lua script and the name Redis knows it by.
type script struct{ text, hash string }

func newScript(text string) *script {
	sum := sha1.Sum([]byte(text))
	return &script{text: text, hash: hex.EncodeToString(sum[:])}
}

// Every script may run twice with the same arguments (the client repeats a
// call whose connection broke) and then changes nothing more. Keys are in
// KEYS, all of one hash tag. Members are never made numbers. Each touches its
// set with one command for reading and one for writing, however many members
// it is about.

// scriptClaim claims tasks that are due by pushing their scores to the end of
// a lease in the same sorted set, where an unfinished one is simply due again.
//
//	KEYS[1]  the sorted set
//	KEYS[2]  the lease of the shard
//	ARGV[1]  length of the claim's lease in ms
//	ARGV[2]  '' for what is due; else a number of ms: also what is missing or
//	         further ahead than that, for the sweep, which knows it is overdue
//	ARGV[3]  the epoch under which the shard is held, '' asks nobody
//	ARGV[4]  the claim's token, a fraction below 1
//	ARGV[5…] the members
//
// Returns the server's time in ms and then one text per member, in order:
//
//	'=' and the score before: claimed
//	'=@' and the score: claimed, by an earlier run of this call
//	'!'           claimed only because of ARGV[2]
//	'<' and ms    that long until it is due (or its lease ends)
//	'-'           not there
//
// or the time alone, when the shard is another replica's. The score of what
// was claimed now is the time, the lease and the token added up.
var scriptClaim = newScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[3] ~= '' then
  local held = redis.call('HMGET', KEYS[2], 'epoch', 'until')
  if held[1] and held[1] ~= ARGV[3] and tonumber(held[2]) > now then
    return {now}
  end
end
local lease, token = tonumber(ARGV[1]), tonumber(ARGV[4])
local force = ARGV[2] ~= '' and tonumber(ARGV[2])
local ends = string.format('%.17g', now + lease + token)
local scores = redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 5))
local out, writes = {now}, {}
for i = 5, #ARGV do
  local score = scores[i - 4]
  local at = score and tonumber(score)
  local say, write
  if at and at <= now then
    say, write = '=' .. score, true
  elseif at and at % 1 == token and at <= now + lease + 1 then
    say = '=@' .. score
  elseif force and (not at or at - now > force) then
    say, write = '!', true
  elseif at then
    say = '<' .. string.format('%d', math.ceil(at - now))
  else
    say = '-'
  end
  if write then
    writes[#writes + 1], writes[#writes + 2] = ends, ARGV[i]
  end
  out[#out + 1] = say
end
if #writes > 0 then
  redis.call('ZADD', KEYS[1], unpack(writes))
end
return out
`)

// scriptSettle ends or moves claims whose score is still the one the claim set.
//
//	KEYS[1] the sorted set
//	ARGV    first the members, then as many lease scores, then as many new
//	        scores ('' removes)
//
// Returns one number per member: 1 if the claim was still ours (or the new
// score is there already), else 0.
var scriptSettle = newScript(`
local n = #ARGV / 3
local scores = redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 1, n))
local out, moved, ended = {}, {}, {}
for i = 1, n do
  local at, next = scores[i] and tonumber(scores[i]), ARGV[2 * n + i]
  if at and at == tonumber(ARGV[n + i]) then
    out[i] = 1
    if next == '' then
      ended[#ended + 1] = ARGV[i]
    else
      moved[#moved + 1], moved[#moved + 2] = next, ARGV[i]
    end
  elseif at and next ~= '' and at == tonumber(next) then
    out[i] = 1
  else
    out[i] = 0
  end
end
if #ended > 0 then
  redis.call('ZREM', KEYS[1], unpack(ended))
end
if #moved > 0 then
  redis.call('ZADD', KEYS[1], unpack(moved))
end
return out
`)

// scriptEnsure makes sure that tasks read from the source are there, and no
// later than the source says: a failover can lose what was written last. A
// lease is never touched.
//
//	KEYS[1] the sorted set
//	ARGV    first the members, then as many scores, then as many modes:
//	        'overdue' lowers a later deadline (that it backs off may not be
//	        known to the source), 'soon' lowers a later backoff too, and 'lost'
//	        overwrites both, later or earlier
//
// Returns the number of scores written.
var scriptEnsure = newScript(`
local n = #ARGV / 3
local scores = redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 1, n))
local writes = {}
for i = 1, n do
  local at, want, mode = scores[i] and tonumber(scores[i]), tonumber(ARGV[n + i]), ARGV[2 * n + i]
  local write = not at
  if at then
    local fraction = at % 1
    local backoff = fraction == 1023 / 1024
    if mode == 'lost' then
      write = at ~= want and (fraction == 0 or backoff)
    else
      write = at > want and (fraction == 0 or backoff and mode == 'soon')
    end
  end
  if write then
    writes[#writes + 1], writes[#writes + 2] = ARGV[n + i], ARGV[i]
  end
end
if #writes > 0 then
  redis.call('ZADD', KEYS[1], unpack(writes))
end
return #writes / 2
`)

// scriptHold takes, renews or gives back the lease of a shard. Each new owner
// gets a higher epoch, so that a claim of a former one is refused.
//
//	KEYS[1] the lease, a hash of node, epoch, until (ms) and beat
//	ARGV[1] the replica
//	ARGV[2] for how many ms, 0 gives it back
//	ARGV[3] the epoch known so far, for when Redis has forgotten
//
// Returns 1, the epoch and the beat, a number that rises with every call that
// holds the lease, so that writes which Redis has lost show; or 0 and the ms
// after which it is free.
var scriptHold = newScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'node', 'epoch', 'until', 'beat')
local mine = held[1] == ARGV[1]
if ARGV[2] == '0' then
  if mine then
    redis.call('HSET', KEYS[1], 'until', 0)
  end
  return {0, 0}
end
local epoch = tonumber(held[2] or 0)
if not mine then
  local left = tonumber(held[3] or 0) - now
  if left > 0 then
    return {0, left}
  end
  epoch = math.max(epoch, tonumber(ARGV[3])) + 1
end
local beat = tonumber(held[4] or 0) + 1
redis.call('HSET', KEYS[1], 'node', ARGV[1], 'epoch', epoch, 'until', now + tonumber(ARGV[2]), 'beat', beat)
return {1, epoch, beat}
`)

// scriptTime returns the server's clock as TIME does, of the node that has
// KEYS[1]: a cluster has several clocks, and one is to be followed.
var scriptTime = newScript(`return redis.call('TIME')`)
