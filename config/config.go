// Package config is the program's settings: one typed Config, read from a YAML file and TIDEMALL_* variables, checked as a whole
// before anything starts. Nothing else in the program reads the environment.
package config

import (
	"log/slog"
	"strings"
	"time"
)

// Environments.
const (
	Development = "development"
	Production  = "production"
)

// Config is all settings. The key of a field is its path of key tags, such as "http.addr"; its variable is TIDEMALL_ and the key
// in upper case with _ for each dot. Values marked secret may also come from the file that the variable with _FILE names, and are
// never printed.
type Config struct {
	Env            string    `key:"env" default:"development" doc:"development or production. production refuses what is only good for a trial: the embedded database, the WeChat sandbox, short or well-known secrets"`
	HTTP           HTTP      `key:"http"`
	DataDir        string    `key:"data_dir" default:"./data" doc:"Folder for the embedded database, pictures, the sandbox's books and the secret made at the first start"`
	MySQL          MySQL     `key:"mysql"`
	Redis          Redis     `key:"redis"`
	Secret         string    `key:"secret" secret:"true" doc:"Signs tokens and seals phone numbers: 32 random characters or more, the same on all replicas. In development it may be empty; one is then made and kept in data_dir"`
	SecretPrevious []string  `key:"secret_previous" secret:"true" doc:"Former secrets after a change of secret. They open phone numbers, which are then sealed anew in the background; the log says when none is left. Tokens that they signed are refused. A secret with a comma in it cannot be listed"`
	Admin          Admin     `key:"admin"`
	WeChat         WeChat    `key:"wechat"`
	Timeout        Timeout   `key:"timeout"`
	Order          Order     `key:"order"`
	RateLimit      RateLimit `key:"rate_limit"`
	Shop           Shop      `key:"shop"`
	Files          Files     `key:"files"`
	Log            Log       `key:"log"`
	OTel           OTel      `key:"otel"`
	Demo           bool      `key:"demo" default:"" shown:"true when embedded, else false" doc:"Fills an empty database with the demo shop, never another"`

	// Version is the program's; main sets it, and it is no setting.
	Version string

	derived derived
}

// HTTP is where the shop listens and how it is reached.
type HTTP struct {
	Addr           string   `key:"addr" default:"127.0.0.1:8080" doc:"Address to listen on. Until the shop has started, everything there is answered with 503 and the code starting, /healthz and /readyz too"`
	PublicURL      string   `key:"public_url" shown:"made from http.addr" doc:"Where shoppers and WeChat reach the shop; URLs of pictures start with it"`
	TrustedProxies []string `key:"trusted_proxies" doc:"Addresses or networks of reverse proxies whose X-Forwarded-For is believed. Behind one that is not named here all the world has the proxy's address: one limit of requests, and one lock of logins"`
	ShutdownMS     int      `key:"shutdown_ms" default:"8000" min:"0" max:"600000" doc:"How long requests in flight may take after SIGTERM"`
}

// MySQL is the database; without a DSN the shop runs on SQLite in data_dir.
type MySQL struct {
	DSN     string `key:"dsn" secret:"true" doc:"MySQL, MariaDB or TiDB, such as user:password@tcp(host:3306)/tidemall. Empty: embedded SQLite"`
	Migrate bool   `key:"migrate" default:"true" doc:"Apply migrations when serving; otherwise run tidemall migrate up"`
}

// Redis is where deadlines are scheduled.
type Redis struct {
	Addrs    []string `key:"addrs" doc:"host:port; several mean a cluster; none means without Redis on purpose. May only be empty when mysql.dsn is too: Redis is then embedded"`
	DB       int      `key:"db" default:"0" min:"0" max:"1023" doc:"Number of the database; 0 with a cluster"`
	Username string   `key:"username" doc:"User of Redis' access list"`
	Password string   `key:"password" secret:"true" doc:"Password of Redis"`
	TLS      bool     `key:"tls" default:"false" doc:"Talk TLS to Redis"`
}

// Admin is the administrator made at the first start, and what is kept of what admins do.
type Admin struct {
	Username string `key:"username" default:"admin" doc:"Platform administrator made at the first start, when there is no admin at all"`
	Password string `key:"password" secret:"true" shown:"random, printed once" doc:"Password of that administrator; 8 characters or more, 12 in production"`

	ChangeLogDays int `key:"change_log_days" default:"400" min:"0" max:"3650" doc:"Days for which the change log keeps what admins changed; 0: for ever"`
}

// WeChat is what WeChat issued to the merchant, or the simulator that stands in.
type WeChat struct {
	Sandbox        Sandbox `key:"sandbox"`
	AppID          string  `key:"app_id" shown:"from the sandbox" doc:"The mini-program's AppID"`
	AppSecret      string  `key:"app_secret" secret:"true" shown:"from the sandbox" doc:"The mini-program's AppSecret"`
	MchID          string  `key:"mch_id" shown:"from the sandbox" doc:"Merchant number at WeChat Pay"`
	MchCertSerial  string  `key:"mch_cert_serial" shown:"from the sandbox" doc:"Serial number of the merchant's API certificate"`
	MchPrivateKey  string  `key:"mch_private_key" secret:"true" shown:"from the sandbox" doc:"The merchant's private key, PEM"`
	APIv3Key       string  `key:"api_v3_key" secret:"true" shown:"from the sandbox" doc:"The APIv3 key, 32 bytes"`
	PayPublicKey   string  `key:"pay_public_key" secret:"true" shown:"from the sandbox" doc:"WeChat Pay's public key, PEM"`
	PayPublicKeyID string  `key:"pay_public_key_id" shown:"from the sandbox" doc:"Its id, PUB_KEY_ID_…"`
	PayMode        string  `key:"pay_mode" shown:"public_key where the key is set, else certificate" doc:"What WeChat Pay's signatures are checked by: public_key; certificate (platform certificates, fetched with the APIv3 key: merchants from before the public key); both, while WeChat changes a merchant over"`
	PushToken      string  `key:"push_token" secret:"true" shown:"from the sandbox" doc:"Token of the message push; empty: no message push"`
	PushAESKey     string  `key:"push_aes_key" secret:"true" shown:"from the sandbox" doc:"EncodingAESKey of the message push, 43 characters"`
	NotifyBaseURL  string  `key:"notify_base_url" shown:"http.public_url" doc:"Where WeChat sends callbacks; https for the real one"`
	OrderPath      string  `key:"order_path" doc:"Page of the mini-program that WeChat's order centre opens, such as pages/order/detail?out_trade_no=${商品订单号}; that word is where WeChat puts the number. Registered at WeChat after the start, when it changed. Empty: nothing is registered"`
}

// Sandbox is the WeChat simulator.
type Sandbox struct {
	Addr string `key:"addr" shown:"127.0.0.1:8081 in development while wechat.mch_id is not set, else off" doc:"Where serve runs the simulator; empty: nowhere"`
	URL  string `key:"url" doc:"A simulator that runs already, such as another replica's or tidemall sandbox"`
}

// Timeout is the timeout module.
type Timeout struct {
	Shards int `key:"shards" default:"64" min:"1" max:"1024" doc:"Sorted sets a kind of deadline is spread over; fixed at the first start"`
}

// Order has the rules of orders.
type Order struct {
	MaxUnpaid      int `key:"max_unpaid" default:"20" min:"1" max:"1000" doc:"Unpaid orders a shopper may have"`
	ReviewDays     int `key:"review_days" default:"30" min:"0" max:"3650" doc:"Days after an order was completed in which the shopper can review it; 0: no reviews"`
	OverdueAlarmMS int `key:"overdue_alarm_ms" default:"60000" min:"1000" max:"86400000" doc:"An unpaid order this long past its deadline is a violation of invariant A8"`
	AftersaleDays  int `key:"aftersale_days" default:"15" min:"0" max:"3650" doc:"Days after an order's completion in which shoppers may ask for an after-sale; 0: without end"`
}

// RateLimit is how many requests a caller may make in the long run; three seconds' worth may come at once. Addresses of IPv6 are
// counted by their /64.
type RateLimit struct {
	Enabled          bool `key:"enabled" default:"true" doc:"Answer 429 to callers who ask too often. Logins of one address are limited besides: of admins to 5 a second, 100 at once; of shoppers to 50 a second, 3,000 at once; and pictures that a shopper uploads to one each 10 seconds, 60 at once"`
	ShopperPerSecond int  `key:"shopper_per_second" default:"100" min:"1" max:"1000000" doc:"Requests of a logged-in shopper"`
	AdminPerSecond   int  `key:"admin_per_second" default:"500" min:"1" max:"1000000" doc:"Requests of a logged-in admin"`
	IPPerSecond      int  `key:"ip_per_second" default:"1000" min:"1" max:"1000000" doc:"Requests of an address without a good token, or of the /64 of one of IPv6; a whole campus may share one"`
}

// Shop is the shop itself.
type Shop struct {
	Timezone string `key:"timezone" default:"Asia/Shanghai" doc:"Days in reports and filters are days there"`
}

// Files is where pictures are kept.
type Files struct {
	URL string `key:"url" shown:"data_dir/files" doc:"A bucket, such as s3://name?region=…; replicas must share it"`
}

// Log is the log on standard error.
type Log struct {
	Level  string `key:"level" default:"info" doc:"debug, info, warn or error"`
	Format string `key:"format" default:"text" doc:"text or json"`
}

// OTel is where traces go.
type OTel struct {
	Endpoint    string  `key:"endpoint" secret:"true" doc:"URL of a collector of traces, OTLP over HTTP, such as http://127.0.0.1:4318 (with /v1/traces where it has no path). Empty: traces have ids, in the log and in the orders' events, and go nowhere. Headers and certificates that it asks for are set by the standard variables OTEL_EXPORTER_OTLP_HEADERS and OTEL_EXPORTER_OTLP_CERTIFICATE"`
	SampleRatio float64 `key:"sample_ratio" default:"1" min:"0" max:"1" doc:"Share of traces that are sent; a busy shop sets 0.1 or less. An order's whole life is one trace, sent or not as a whole"`
}

// derived remembers what was not set but made from something else.
type derived struct {
	publicURL, notifyBaseURL bool
	zone                     *time.Location
}

// None in redis.addrs means without Redis on purpose.
const None = "none"

// Embedded reports whether the shop runs on its own SQLite.
func (c *Config) Embedded() bool { return c.MySQL.DSN == "" }

// RedisEmbedded reports whether Redis runs in the process.
func (c *Config) RedisEmbedded() bool { return len(c.Redis.Addrs) == 0 }

// RedisOff reports whether the shop does without Redis on purpose.
func (c *Config) RedisOff() bool { return len(c.Redis.Addrs) == 1 && c.Redis.Addrs[0] == None }

// Zone returns shop.timezone.
func (c *Config) Zone() *time.Location { return c.derived.zone }

// SandboxStandsIn reports whether a simulator takes WeChat's place.
func (c *Config) SandboxStandsIn() bool {
	return c.WeChat.Sandbox.Addr != "" || c.WeChat.Sandbox.URL != ""
}

// Listening makes the URLs that were not set from the address that the shop listens on in truth, where http.addr left the port to
// the system.
func (c *Config) Listening(addr string) {
	if c.derived.publicURL {
		c.HTTP.PublicURL = "http://" + reachable(addr)
	}
	if c.derived.notifyBaseURL {
		c.WeChat.NotifyBaseURL = c.HTTP.PublicURL
	}
}

// Level returns log.level.
func (c *Config) Level() slog.Level {
	var l slog.Level
	_ = l.UnmarshalText([]byte(c.Log.Level)) // checked by Load
	return l
}

// String lists the settings, one a line, without secrets.
func (c *Config) String() string {
	var b strings.Builder
	for _, l := range leavesOf(c) {
		b.WriteString(l.key + " = " + l.show() + "\n")
	}
	return b.String()
}

// GoString is String: no verb of fmt shows a secret.
func (c *Config) GoString() string { return c.String() }

// LogValue keeps secrets out of logs.
func (c *Config) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, l := range leavesOf(c) {
		attrs = append(attrs, slog.String(l.key, l.show()))
	}
	return slog.GroupValue(attrs...)
}
