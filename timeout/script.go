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
// KEYS, all of one hash tag. Members are never made numbers.

// scriptClaim claims tasks that are due by pushing their scores to the end of
// a lease in the same sorted set, where an unfinished one is simply due again.
//
//	KEYS[1]  the sorted set
//	ARGV[1]  length of the lease in ms
//	ARGV[2]  '' for what is due; else a number of ms: also what is missing or
//	         further ahead than that, for the sweep, which knows it is overdue
//	ARGV[3…] pairs: member, the claim's token, a fraction below 1
//
// Returns three values per member, in order:
//
//	'claimed', the lease score, the score before ('' if this is a repetition)
//	'rescued', the lease score, '': claimed only because of ARGV[3]
//	'early', ms until it is due (or its lease ends), ''
//	'gone', '', ''
var scriptClaim = newScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lease = tonumber(ARGV[1])
local out = {}
for i = 3, #ARGV, 2 do
  local token = tonumber(ARGV[i + 1])
  local ends = string.format('%.17g', now + lease + token)
  local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
  local at = score and tonumber(score)
  local a, b, c
  if at and at <= now then
    redis.call('ZADD', KEYS[1], ends, ARGV[i])
    a, b, c = 'claimed', ends, score
  elseif at and at % 1 == token and at <= now + lease + 1 then
    a, b, c = 'claimed', score, ''
  elseif ARGV[2] ~= '' and (not at or at - now > tonumber(ARGV[2])) then
    redis.call('ZADD', KEYS[1], ends, ARGV[i])
    a, b, c = 'rescued', ends, ''
  elseif at then
    a, b, c = 'early', string.format('%d', math.ceil(at - now)), ''
  else
    a, b, c = 'gone', '', ''
  end
  out[#out + 1], out[#out + 2], out[#out + 3] = a, b, c
end
return out
`)

// scriptSettle ends or moves claims whose score is still the one the claim set.
//
//	KEYS[1] the sorted set
//	ARGV    triples: member, the lease score, the new score ('' removes)
//
// Returns one number per triple: 1 if the claim was still ours (or the
// new score is there already), else 0.
var scriptSettle = newScript(`
local out = {}
for i = 1, #ARGV, 3 do
  local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
  local held = 0
  if score and tonumber(score) == tonumber(ARGV[i + 1]) then
    held = 1
    if ARGV[i + 2] == '' then
      redis.call('ZREM', KEYS[1], ARGV[i])
    else
      redis.call('ZADD', KEYS[1], ARGV[i + 2], ARGV[i])
    end
  elseif score and ARGV[i + 2] ~= '' and tonumber(score) == tonumber(ARGV[i + 2]) then
    held = 1
  end
  out[#out + 1] = held
end
return out
`)

// scriptEnsure makes sure that tasks read from the source are there, and no
// later than the source says: a failover can lose what was written last. A
// lease is never touched.
//
//	KEYS[1] the sorted set
//	ARGV    triples: member, score, 'soon' (lower a later deadline or backoff)
//	        or 'overdue' (lower a later deadline only: that it backs off may
//	        not be known to the source)
//
// Returns the number of scores written.
var scriptEnsure = newScript(`
local written = 0
for i = 1, #ARGV, 3 do
  local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
  local write = not score
  if score then
    local at = tonumber(score)
    local fraction = at % 1
    local backoff = fraction == 1023 / 1024
    write = at > tonumber(ARGV[i + 1]) and (fraction == 0 or backoff and ARGV[i + 2] == 'soon')
  end
  if write then
    redis.call('ZADD', KEYS[1], ARGV[i + 1], ARGV[i])
    written = written + 1
  end
end
return written
`)

// scriptPoll reads what is due soon.
//
//	KEYS    the sorted sets of one shard, one per kind
//	ARGV[1] the latest score
//	ARGV[2] how many members of each set to pass over
//	ARGV[3] the most members per set
//
// Returns one list per set: member, score, member, score …
var scriptPoll = newScript(`
local out = {}
for i = 1, #KEYS do
  out[i] = redis.call('ZRANGEBYSCORE', KEYS[i], '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', ARGV[2], ARGV[3])
end
return out
`)
