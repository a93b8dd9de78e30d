// Package config is the one typed configuration: read from a YAML file and from TIDEMALL_* variables, checked as a whole before
// anything starts, so that every problem is reported at once, by key.
package config

import (
	"net"
	"net/url"
	"slices"
	"time"
)

// Config has a field for every key. The key of a field is the path of its `key` tags joined by dots; its variable is TIDEMALL_ and
// the key in upper case with "_" for ".". Fields tagged secret are never printed and may also come from a file that the
// variable with _FILE behind it names.
type Config struct {
	Env     string `key:"env" doc:"development or production; production refuses embedded mode, the sandbox and weak secrets"`
	DataDir string `key:"data_dir" doc:"Where the embedded database, pictures, keys and the sandbox's books are kept"`
	Secret  string `key:"secret" secret:"true" doc:"Signs tokens and seals phone numbers, at least 32 characters; made once and kept in data_dir in development"`
	Demo    bool   `key:"demo" doc:"Fill an empty database with the demo shop; default true when embedded"`

	HTTP struct {
		Addr           string   `key:"addr" doc:"Where the shop listens"`
		PublicURL      string   `key:"public_url" doc:"How the shop is reached from outside; picture URLs start with it. Default derived from http.addr"`
		TrustedProxies []string `key:"trusted_proxies" doc:"Addresses or networks of proxies whose X-Forwarded-For is believed"`
	} `key:"http"`
	MySQL struct {
		DSN     string `key:"dsn" secret:"true" doc:"user:password@tcp(host:3306)/database; empty = embedded SQLite"`
		Migrate bool   `key:"migrate" doc:"serve applies migrations by itself"`
	} `key:"mysql"`
	Redis struct {
		Addrs    []string `key:"addrs" doc:"host:port, several = cluster, none = without Redis on purpose; empty = embedded when MySQL is too"`
		Username string   `key:"username" doc:"ACL user"`
		Password string   `key:"password" secret:"true" doc:"Password"`
		DB       int      `key:"db" doc:"Number of the database; a cluster has only 0"`
	} `key:"redis"`
	Admin struct {
		Username string `key:"username" doc:"Platform administrator, created at the first start only"`
		Password string `key:"password" secret:"true" doc:"Its password; default random, printed once"`
	} `key:"admin"`
	WeChat  WeChat `key:"wechat"`
	Timeout struct {
		Shards int `key:"shards" doc:"Sorted sets per kind of deadline; cannot be changed later"`
	} `key:"timeout"`
	Order struct {
		MaxUnpaid      int `key:"max_unpaid" doc:"Unpaid orders a shopper may have"`
		OverdueAlarmMS int `key:"overdue_alarm_ms" doc:"How late an unpaid order may close before the audit complains"`
	} `key:"order"`
	RateLimit struct {
		Enabled bool `key:"enabled" doc:"Limit requests by address and by token"`
	} `key:"rate_limit"`
	Shop struct {
		Timezone string `key:"timezone" doc:"Days in reports, filters and order numbers"`
	} `key:"shop"`
	Log struct {
		Level  string `key:"level" doc:"debug, info, warn or error"`
		Format string `key:"format" doc:"text or json"`
	} `key:"log"`
}

// WeChat has the settings of the mini-program and of WeChat Pay; the simulator hands out its own where it stands in.
type WeChat struct {
	Sandbox struct {
		Addr string `key:"addr" doc:"Where serve runs the WeChat simulator; default 127.0.0.1:8081 in development while no wechat.mch_id is set, else off"`
		URL  string `key:"url" doc:"A simulator that already runs, such as another replica's"`
	} `key:"sandbox"`
	AppID          string `key:"app_id" doc:"Of the mini-program"`
	AppSecret      string `key:"app_secret" secret:"true" doc:"Of the mini-program"`
	MchID          string `key:"mch_id" doc:"Merchant number of WeChat Pay"`
	MchCertSerial  string `key:"mch_cert_serial" doc:"Serial number of the merchant's API certificate"`
	MchPrivateKey  string `key:"mch_private_key" secret:"true" doc:"Private key of that certificate, PEM"`
	APIv3Key       string `key:"api_v3_key" secret:"true" doc:"APIv3 key, 32 characters"`
	PayPublicKey   string `key:"pay_public_key" secret:"true" doc:"WeChat Pay's public key, PEM"`
	PayPublicKeyID string `key:"pay_public_key_id" doc:"Its id, PUB_KEY_ID_…"`
	PushToken      string `key:"push_token" secret:"true" doc:"Token of the message push"`
	PushAESKey     string `key:"push_aes_key" secret:"true" doc:"EncodingAESKey of the message push, 43 characters"`
	NotifyBaseURL  string `key:"notify_base_url" doc:"Where WeChat reaches this shop; default http.public_url"`
}

// Environments.
const (
	Development = "development"
	Production  = "production"
)

// NoRedis is the value of redis.addrs for running without Redis on purpose.
const NoRedis = "none"

// defaults returns a configuration as it is when nothing is said.
func defaults() *Config {
	c := &Config{Env: Development, DataDir: "./data"}
	c.HTTP.Addr = "127.0.0.1:8080"
	c.MySQL.Migrate = true
	c.Admin.Username = "admin"
	c.Timeout.Shards = 64
	c.Order.MaxUnpaid = 20
	c.Order.OverdueAlarmMS = 60_000
	c.RateLimit.Enabled = true
	c.Shop.Timezone = "Asia/Shanghai"
	c.Log.Level, c.Log.Format = "info", "text"
	return c
}

// derive fills in what depends on other keys and was not said; said holds the keys that were.
func (c *Config) derive(said map[string]bool) {
	if !said["demo"] {
		c.Demo = c.Embedded()
	}
	if c.HTTP.PublicURL == "" {
		c.HTTP.PublicURL = urlOf(c.HTTP.Addr)
	}
	if !said["wechat.sandbox.addr"] && c.Env == Development && c.WeChat.MchID == "" && c.WeChat.Sandbox.URL == "" {
		c.WeChat.Sandbox.Addr = "127.0.0.1:8081"
	}
	if c.WeChat.NotifyBaseURL == "" {
		c.WeChat.NotifyBaseURL = c.HTTP.PublicURL
	}
}

// urlOf is how a listener is reached from the same machine.
func urlOf(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return (&url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}).String()
}

// Embedded reports whether the shop runs on the database inside the process.
func (c *Config) Embedded() bool { return c.MySQL.DSN == "" }

// WithoutRedis reports whether the shop is to run without Redis on purpose.
func (c *Config) WithoutRedis() bool { return slices.Equal(c.Redis.Addrs, []string{NoRedis}) }

// Sandboxed reports whether the WeChat simulator stands in for WeChat.
func (c *Config) Sandboxed() bool { return c.WeChat.Sandbox.Addr != "" || c.WeChat.Sandbox.URL != "" }

// Zone returns shop.timezone.
func (c *Config) Zone() *time.Location {
	zone, err := time.LoadLocation(c.Shop.Timezone)
	if err != nil {
		return time.UTC // check has refused such a configuration
	}
	return zone
}

// OverdueAlarm returns order.overdue_alarm_ms.
func (c *Config) OverdueAlarm() time.Duration {
	return time.Duration(c.Order.OverdueAlarmMS) * time.Millisecond
}
