package config

import (
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // shop.timezone works in an image without zones too
)

// complete fills in what depends on other settings, and checks everything.
func (c *Config) complete(leaves []*leaf, problems *Problems) (warnings []string) {
	isSet := func(key string) bool {
		return slices.ContainsFunc(leaves, func(l *leaf) bool { return l.key == key && l.set })
	}
	if !isSet("demo") {
		c.Demo = c.Embedded()
	}
	if !isSet("wechat.sandbox.addr") && c.Env != Production && c.WeChat.MchID == "" && c.WeChat.Sandbox.URL == "" {
		c.WeChat.Sandbox.Addr = "127.0.0.1:8081"
	}
	c.HTTP.PublicURL = strings.TrimRight(c.HTTP.PublicURL, "/")
	c.WeChat.NotifyBaseURL = strings.TrimRight(c.WeChat.NotifyBaseURL, "/")
	c.derived.publicURL, c.derived.notifyBaseURL = c.HTTP.PublicURL == "", c.WeChat.NotifyBaseURL == ""
	c.Listening(c.HTTP.Addr)

	c.checkBasics(problems)
	c.checkHTTP(problems)
	c.checkRedis(problems)
	c.checkOTel(problems)
	c.checkSandbox(problems)
	c.checkOrderPath(problems)
	c.checkSecrets(problems)
	if !c.SandboxStandsIn() {
		c.checkWeChat(problems)
		if !strings.HasPrefix(c.WeChat.NotifyBaseURL, "https://") {
			warnings = append(warnings, "wechat.notify_base_url is not https: the real WeChat sends no callbacks there")
		}
	}
	if c.Env == Production && c.Demo {
		warnings = append(warnings, "demo is on in production: an empty database is filled with the demo shop")
	}
	return warnings
}

func (c *Config) checkBasics(problems *Problems) {
	oneOf := func(key, value string, choices ...string) {
		if !slices.Contains(choices, value) {
			problems.addf(key, "must be one of %s", strings.Join(choices, ", "))
		}
	}
	oneOf("env", c.Env, Development, Production)
	oneOf("log.format", c.Log.Format, "text", "json")
	oneOf("wechat.pay_mode", c.WeChat.PayMode, "", "public_key", "certificate", "both")
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Log.Level)); err != nil {
		problems.addf("log.level", "must be debug, info, warn or error")
	}
	if c.DataDir == "" {
		problems.addf("data_dir", "must not be empty")
	}
	zone, err := time.LoadLocation(c.Shop.Timezone)
	if err != nil || c.Shop.Timezone == "" || c.Shop.Timezone == "Local" {
		problems.addf("shop.timezone", "is no time zone such as Asia/Shanghai")
	}
	c.derived.zone = zone
	if c.Env == Production && c.Embedded() {
		problems.addf("mysql.dsn", "is required in production: the embedded database is for trials")
	}
}

func (c *Config) checkHTTP(problems *Problems) {
	if !hostPort(c.HTTP.Addr) {
		problems.addf("http.addr", "must be host:port, such as 127.0.0.1:8080")
	}
	if !c.derived.publicURL && !absoluteURL(c.HTTP.PublicURL) {
		problems.addf("http.public_url", "must be an absolute http or https URL without query")
	}
	if !c.derived.notifyBaseURL && !absoluteURL(c.WeChat.NotifyBaseURL) {
		problems.addf("wechat.notify_base_url", "must be an absolute http or https URL without query")
	}
	for _, p := range c.HTTP.TrustedProxies {
		if _, err := netip.ParsePrefix(p); err == nil {
			continue
		}
		if _, err := netip.ParseAddr(p); err != nil {
			problems.addf("http.trusted_proxies", "%q is neither an address nor a network", p)
		}
	}
}

func (c *Config) checkOTel(problems *Problems) {
	if c.OTel.Endpoint != "" && !absoluteURL(c.OTel.Endpoint) {
		problems.addf("otel.endpoint", "must be an absolute http or https URL without query")
	}
}

func (c *Config) checkRedis(problems *Problems) {
	if c.RedisEmbedded() && !c.Embedded() {
		problems.addf("redis.addrs", "is required with MySQL; none means without Redis on purpose")
	}
	if c.RedisOff() || c.RedisEmbedded() {
		return
	}
	for _, a := range c.Redis.Addrs {
		switch {
		case a == None:
			problems.addf("redis.addrs", "none stands alone")
		case !hostPort(a):
			problems.addf("redis.addrs", "%q is not host:port", a)
		}
	}
	if len(c.Redis.Addrs) > 1 && c.Redis.DB != 0 {
		problems.addf("redis.db", "must be 0 with a cluster")
	}
}

func (c *Config) checkSandbox(problems *Problems) {
	s := c.WeChat.Sandbox
	if s.Addr != "" && !hostPort(s.Addr) {
		problems.addf("wechat.sandbox.addr", "must be host:port, such as 127.0.0.1:8081")
	}
	if s.URL != "" && !absoluteURL(s.URL) {
		problems.addf("wechat.sandbox.url", "must be an absolute URL, such as http://127.0.0.1:8081")
	}
	if s.Addr != "" && s.URL != "" {
		problems.addf("wechat.sandbox.url", "either run a simulator (wechat.sandbox.addr) or use another one (wechat.sandbox.url)")
	}
	if c.Env != Production {
		return
	}
	if s.Addr != "" {
		problems.addf("wechat.sandbox.addr", "the sandbox is refused in production")
	}
	if s.URL != "" {
		problems.addf("wechat.sandbox.url", "the sandbox is refused in production")
	}
}

// The order centre's page: what WeChat fills in, and what fits beside the app id where the shop keeps what it registered.
const (
	orderPathNumber = "${商品订单号}"
	orderPathMax    = 400
)

func (c *Config) checkOrderPath(problems *Problems) {
	switch p := c.WeChat.OrderPath; {
	case p == "":
	case !strings.Contains(p, orderPathNumber):
		problems.addf("wechat.order_path", "must contain %s, for which WeChat puts the order's number", orderPathNumber)
	case strings.HasPrefix(p, "/"), strings.Contains(p, "://"), strings.ContainsAny(p, " \n\t"), len(p) > orderPathMax:
		problems.addf("wechat.order_path", "must be a page of the mini-program without a leading slash, such as pages/order/detail?out_trade_no=%s", orderPathNumber)
	}
}

// checkWeChat looks for what is missing; the forms are checked by the package that uses them.
func (c *Config) checkWeChat(problems *Problems) {
	w := c.WeChat
	for _, f := range []struct{ key, value string }{
		{"wechat.app_id", w.AppID},
		{"wechat.app_secret", w.AppSecret},
		{"wechat.mch_id", w.MchID},
		{"wechat.mch_cert_serial", w.MchCertSerial},
		{"wechat.mch_private_key", w.MchPrivateKey},
		{"wechat.api_v3_key", w.APIv3Key},
	} {
		if f.value == "" {
			problems.addf(f.key, "is required without a sandbox")
		}
	}
	keyed := w.PayPublicKey != "" || w.PayPublicKeyID != ""
	if w.PayMode == "certificate" || w.PayMode == "" && !keyed {
		return // WeChat's certificates are fetched
	}
	if w.PayPublicKey == "" {
		problems.addf("wechat.pay_public_key", "is required with its id, and by wechat.pay_mode public_key and both")
	}
	if w.PayPublicKeyID == "" {
		problems.addf("wechat.pay_public_key_id", "is required with the key, and by wechat.pay_mode public_key and both")
	}
}

// Shortest secrets.
const (
	secretMin             = 32
	adminPasswordMin      = 8
	adminPasswordMinInUse = 12 // in production
)

// wellKnown are words that people put where a secret belongs, and those of examples.
var wellKnown = []string{"secret", "password", "changeme", "change-me", "change_me", "tidemall", "admin", "example", "123456", "qwerty", "default", "letmein", "test"}

func (c *Config) checkSecrets(problems *Problems) {
	switch {
	case c.Secret == "" && c.Env == Production:
		problems.addf("secret", "is required in production")
	case c.Secret != "" && len(c.Secret) < secretMin:
		problems.addf("secret", "must have %d characters or more", secretMin)
	case c.Secret != "" && c.Env == Production && guessable(c.Secret):
		problems.addf("secret", "is well known; use random characters")
	}
	for _, former := range c.SecretPrevious {
		switch {
		case len(former) < secretMin:
			problems.addf("secret_previous", "each must have %d characters or more, as every secret", secretMin)
		case former == c.Secret:
			problems.addf("secret_previous", "must not list the present secret")
		}
	}
	if !username(c.Admin.Username) {
		problems.addf("admin.username", "must be 3–64 of a-z 0-9 . _ @ -")
	}
	p := c.Admin.Password
	switch {
	case p == "":
	case c.Env == Production && (len(p) < adminPasswordMinInUse || guessable(p) || p == c.Admin.Username):
		problems.addf("admin.password", "is short or well known; %d characters or more", adminPasswordMinInUse)
	case len(p) < adminPasswordMin || len(p) > 128:
		problems.addf("admin.password", "must have %d to 128 characters", adminPasswordMin)
	}
}

// guessable reports whether a secret is one of the well-known words, repeated or with a few characters added, or has hardly any
// different characters.
func guessable(secret string) bool {
	s := strings.ToLower(secret)
	different := map[rune]bool{}
	for _, r := range s {
		different[r] = true
	}
	if len(different) < 6 {
		return true
	}
	for _, word := range wellKnown {
		s = strings.ReplaceAll(s, word, "")
	}
	s = strings.Trim(s, "0123456789-_!.# ")
	return len(s) < 8
}

func username(s string) bool {
	if len(s) < 3 || len(s) > 64 || strings.ContainsAny(s[:1], "._@-") {
		return false
	}
	return !strings.ContainsFunc(strings.ToLower(s), func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789._@-", r)
	})
}

func hostPort(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(port)
	return err == nil && n >= 0 && n <= 65535
}

func absoluteURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" && u.Fragment == ""
}

// reachable replaces an address that means all interfaces by one that can be called.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip, err := netip.ParseAddr(host); host == "" || (err == nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
