package config

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// knownSecrets are values that stand in examples; whoever knows one could sign tokens.
var knownSecrets = []string{"secret", "password", "changeme", "change-me", "tidemall", "admin", "123456", "12345678", "example"}

// minAdminPassword is the shortest password of the first administrator in production.
const minAdminPassword = 12

func (c *Config) check(p *Problems) {
	if c.Env != Development && c.Env != Production {
		p.add("env", "want development or production")
	}
	if c.DataDir == "" {
		p.add("data_dir", "must name a folder")
	}
	if c.Secret != "" && len(c.Secret) < minSecret {
		p.add("secret", "is too short: at least %d characters, such as those of: openssl rand -hex 32", minSecret)
	}
	c.checkHTTP(p)
	c.checkStores(p)
	c.checkWeChat(p)
	c.checkNumbers(p)
	if c.Admin.Username == "" {
		p.add("admin.username", "must not be empty")
	}
	if c.Env == Production {
		c.checkProduction(p)
	}
}

func (c *Config) checkHTTP(p *Problems) {
	if !isAddr(c.HTTP.Addr) {
		p.add("http.addr", "want host:port, such as 127.0.0.1:8080")
	}
	if !isBaseURL(c.HTTP.PublicURL) {
		p.add("http.public_url", "want a URL without query, such as https://shop.example.com")
	}
	for _, proxy := range c.HTTP.TrustedProxies {
		if _, err := netip.ParsePrefix(proxy); err == nil {
			continue
		}
		if _, err := netip.ParseAddr(proxy); err != nil {
			p.add("http.trusted_proxies", "%q is neither an address nor a network", proxy)
		}
	}
}

func (c *Config) checkStores(p *Problems) {
	switch {
	case slices.Contains(c.Redis.Addrs, NoRedis) && !c.WithoutRedis():
		p.add("redis.addrs", "none stands alone")
	case len(c.Redis.Addrs) == 0 && !c.Embedded():
		p.add("redis.addrs", "MySQL is configured but Redis is not: name its host:port, or say none to run without Redis on purpose")
	case !c.WithoutRedis():
		for _, a := range c.Redis.Addrs {
			if !isAddr(a) {
				p.add("redis.addrs", "%q is not host:port", a)
			}
		}
	}
	if c.Redis.DB < 0 || c.Redis.DB > 0 && len(c.Redis.Addrs) > 1 {
		p.add("redis.db", "want 0 or more; a cluster has only 0")
	}
}

func (c *Config) checkWeChat(p *Problems) {
	if c.WeChat.Sandbox.Addr != "" && c.WeChat.Sandbox.URL != "" {
		p.add("wechat.sandbox", "addr runs a simulator, url uses one that runs already: keep one of them")
	}
	if c.WeChat.Sandbox.Addr != "" && !isAddr(c.WeChat.Sandbox.Addr) {
		p.add("wechat.sandbox.addr", "want host:port")
	}
	if c.WeChat.Sandbox.URL != "" && !isBaseURL(c.WeChat.Sandbox.URL) {
		p.add("wechat.sandbox.url", "want a URL, such as http://127.0.0.1:8081")
	}
	if !isBaseURL(c.WeChat.NotifyBaseURL) {
		p.add("wechat.notify_base_url", "want a URL without query, such as https://shop.example.com")
	}
	if c.Sandboxed() {
		return
	}
	for _, f := range c.fields() {
		needed := strings.HasPrefix(f.key, "wechat.") && !strings.HasPrefix(f.key, "wechat.sandbox.")
		if needed && f.value.String() == "" {
			p.add(f.key, "is needed while the WeChat sandbox is off")
		}
	}
	if n := len(c.WeChat.APIv3Key); n != 0 && n != 32 {
		p.add("wechat.api_v3_key", "must have 32 characters")
	}
	if n := len(c.WeChat.PushAESKey); n != 0 && n != 43 {
		p.add("wechat.push_aes_key", "must have 43 characters")
	}
}

func (c *Config) checkNumbers(p *Problems) {
	if c.Timeout.Shards < 1 || c.Timeout.Shards > 4096 {
		p.add("timeout.shards", "want 1 to 4096")
	}
	if c.Order.MaxUnpaid < 1 || c.Order.MaxUnpaid > 1000 {
		p.add("order.max_unpaid", "want 1 to 1000")
	}
	if c.Order.OverdueAlarmMS < 1000 || c.Order.OverdueAlarmMS > 86_400_000 {
		p.add("order.overdue_alarm_ms", "want 1000 to 86400000 milliseconds")
	}
	if _, err := time.LoadLocation(c.Shop.Timezone); err != nil || c.Shop.Timezone == "" || c.Shop.Timezone == "Local" {
		p.add("shop.timezone", "want a name of the time zone database, such as Asia/Shanghai")
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		p.add("log.level", "want debug, info, warn or error")
	}
	if c.Log.Format != "text" && c.Log.Format != "json" {
		p.add("log.format", "want text or json")
	}
}

// checkProduction refuses what only suits a trial.
func (c *Config) checkProduction(p *Problems) {
	if c.Embedded() {
		p.add("mysql.dsn", "production does not run on the embedded database: name a MySQL")
	}
	if c.Sandboxed() {
		p.add("wechat.sandbox", "production does not run against the WeChat simulator")
	}
	if c.Secret == "" {
		p.add("secret", "production needs one: openssl rand -hex 32")
	} else if isWeak(c.Secret) {
		p.add("secret", "is a known or repeating value: openssl rand -hex 32")
	}
	if pw := c.Admin.Password; pw != "" && (len(pw) < minAdminPassword || isWeak(pw)) {
		p.add("admin.password", "is too short or known: at least %d characters, or leave it out and one is made", minAdminPassword)
	}
	if c.WeChat.MchPrivateKey != "" && !strings.HasPrefix(c.WeChat.NotifyBaseURL, "https://") {
		p.add("wechat.notify_base_url", "WeChat calls back over https only")
	}
}

// isWeak reports whether a secret stands in examples or repeats a few characters.
func isWeak(s string) bool {
	lower, distinct := strings.ToLower(s), map[rune]bool{}
	for _, r := range lower {
		distinct[r] = true
	}
	if len(distinct) < 6 {
		return true
	}
	rest := lower
	for _, known := range knownSecrets {
		rest = strings.ReplaceAll(rest, known, "")
	}
	return len(strings.Trim(rest, "-_. 0123456789")) == 0 && rest != lower
}

func isAddr(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && port != ""
}

func isBaseURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil
}
