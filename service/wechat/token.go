package wechat

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/silenceper/wechat/v2/credential"
	"github.com/silenceper/wechat/v2/miniprogram"
	"golang.org/x/sync/singleflight"
)

const (
	tokenEarly    = 5 * time.Minute        // WeChat renews a stable token in its last five minutes
	redisPatience = 300 * time.Millisecond // no reply waits longer for Redis
)

var tokenShape = regexp.MustCompile(`^[\x21-\x7e]{1,1000}$`)

// tokens keeps the mini-program's stable access token: in memory, and in Redis for
// the other replicas. Losing either costs one more request to WeChat and nothing else.
//
// It takes the place of the library's own handle, which fails a call when its cache
// cannot be written and holds a lock that ignores the caller's context.
type tokens struct {
	redis  redis.UniversalClient
	key    string
	client *Client
	source *credential.StableAccessToken
	flight singleflight.Group

	mu    sync.Mutex
	local storedToken
}

// storedToken is also what is written to Redis, as JSON.
type storedToken struct {
	Token       string `json:"token"`
	ExpiresAtMS int64  `json:"expires_at_ms"`
}

func (s storedToken) usable(now time.Time) bool {
	return tokenShape.MatchString(s.Token) && s.ExpiresAtMS > now.UnixMilli()
}

func newTokens(r redis.UniversalClient, prefix string, c *Client) *tokens {
	return &tokens{redis: r, key: prefix + "wechat:token:" + c.cfg.AppID, client: c}
}

// takeOver puts t in front of the library's handle.
func (t *tokens) takeOver(mini *miniprogram.MiniProgram) {
	t.source = mini.GetContext().AccessTokenContextHandle.(*credential.StableAccessToken)
	mini.SetAccessTokenContextHandle(t)
}

// GetAccessToken implements the library's handle.
func (t *tokens) GetAccessToken() (string, error) {
	return t.GetAccessTokenContext(context.Background())
}

// GetAccessTokenContext returns a token that is good for some seconds at least. However
// many ask at once, one request is made; one caller's giving up does not end it.
func (t *tokens) GetAccessTokenContext(ctx context.Context) (string, error) {
	token, err := t.get(ctx)
	if r, ok := ctx.Value(routeKey{}).(*route); ok {
		r.token = token
	}
	return token, err
}

func (t *tokens) get(ctx context.Context) (string, error) {
	if s := t.remembered(); s.usable(t.client.now()) {
		return s.Token, nil
	}
	result := t.flight.DoChan("token", func() (any, error) {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.client.limit)
		defer cancel()
		return t.renew(detached)
	})
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-result:
		if r.Err != nil {
			return "", r.Err
		}
		return r.Val.(string), nil
	}
}

func (t *tokens) remembered() storedToken {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.local
}

func (t *tokens) remember(s storedToken) {
	t.mu.Lock()
	t.local = s
	t.mu.Unlock()
}

// renew looks again in memory, then in Redis, then asks WeChat.
func (t *tokens) renew(ctx context.Context) (string, error) {
	if s := t.remembered(); s.usable(t.client.now()) {
		return s.Token, nil
	}
	if s := t.load(ctx); s.usable(t.client.now()) {
		t.remember(s)
		return s.Token, nil
	}
	return t.fetch(ctx)
}

func (t *tokens) fetch(ctx context.Context) (string, error) {
	ctx, r := t.client.routed(ctx)
	res, err := t.source.GetAccessTokenDirectly(ctx, false)
	if res.ErrCode != 0 {
		return "", miniError("access token", res.ErrCode, res.ErrMsg)
	}
	if err != nil || r.status != http.StatusOK || !tokenShape.MatchString(res.AccessToken) {
		e := &Error{}
		if err == nil {
			err = errors.New("no token in the reply")
		}
		errors.As(classify("access token", err), &e)
		e.Status = r.status
		return "", e
	}
	life := time.Duration(res.ExpiresIn)*time.Second - tokenEarly
	s := storedToken{Token: res.AccessToken, ExpiresAtMS: t.client.now().Add(life).UnixMilli()}
	if life > 0 {
		t.remember(s)
		t.save(ctx, s, life)
	}
	return s.Token, nil
}

// load reads Redis; whatever goes wrong there, garbage included, is a miss.
func (t *tokens) load(ctx context.Context) storedToken {
	var s storedToken
	if t.redis == nil {
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	raw, err := t.redis.Get(ctx, t.key).Bytes()
	if err != nil || json.Unmarshal(raw, &s) != nil {
		return storedToken{}
	}
	return s
}

func (t *tokens) save(ctx context.Context, s storedToken, life time.Duration) {
	if t.redis == nil {
		return
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	if err := t.redis.Set(ctx, t.key, raw, life).Err(); err != nil {
		t.client.log.WarnContext(ctx, "wechat token is kept in memory only: Redis did not take it")
	}
}

// forget drops the token that WeChat refused, unless another one has taken its place.
func (t *tokens) forget(ctx context.Context, token string) {
	t.mu.Lock()
	if t.local.Token == token {
		t.local = storedToken{}
	}
	t.mu.Unlock()
	if t.load(ctx).Token != token {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	t.redis.Del(ctx, t.key)
}

// The four methods below complete the library's Cache, which its constructor demands.
// Nothing of it is used: tokens are asked for through GetAccessTokenContext.

// Get implements cache.Cache.
func (t *tokens) Get(string) any { return nil }

// Set implements cache.Cache.
func (t *tokens) Set(string, any, time.Duration) error { return nil }

// IsExist implements cache.Cache.
func (t *tokens) IsExist(string) bool { return false }

// Delete implements cache.Cache.
func (t *tokens) Delete(string) error { return nil }
