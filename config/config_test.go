package config

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

func load(t *testing.T, yaml string, env ...string) (*Config, []string, error) {
	t.Helper()
	file := ""
	if yaml != "" {
		file = filepath.Join(t.TempDir(), "tidemall.yaml")
		if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(file, env)
}

func keysOf(err error) []string {
	var problems Problems
	errors.As(err, &problems)
	var keys []string
	for _, p := range problems {
		keys = append(keys, p.Key)
	}
	return keys
}

func TestDefaults(t *testing.T) {
	c, warnings, err := load(t, "")
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	for key, want := range map[string]string{
		"env": "development", "http.addr": "127.0.0.1:8080", "http.public_url": "http://127.0.0.1:8080", "data_dir": "./data",
		"mysql.dsn": "", "redis.addrs": "", "redis.db": "0", "secret": "", "admin.username": "admin", "admin.password": "",
		"wechat.sandbox.addr": "127.0.0.1:8081", "wechat.sandbox.url": "", "wechat.notify_base_url": "http://127.0.0.1:8080",
		"timeout.shards": "64", "order.max_unpaid": "20", "order.overdue_alarm_ms": "60000", "rate_limit.enabled": "true",
		"shop.timezone": "Asia/Shanghai", "demo": "true", "otel.endpoint": "", "otel.sample_ratio": "1",
	} {
		found := false
		for _, l := range leavesOf(c) {
			if l.key == key {
				found = true
				if l.show() != want {
					t.Errorf("%s = %q, want %q", key, l.show(), want)
				}
			}
		}
		if !found {
			t.Errorf("there is no key %s", key)
		}
	}
	if !c.Embedded() || !c.RedisEmbedded() || c.Zone().String() != "Asia/Shanghai" {
		t.Errorf("embedded %v %v, zone %v", c.Embedded(), c.RedisEmbedded(), c.Zone())
	}
	c.Listening("[::]:41234")
	if c.HTTP.PublicURL != "http://127.0.0.1:41234" || c.WeChat.NotifyBaseURL != c.HTTP.PublicURL {
		t.Errorf("listening elsewhere: %s %s", c.HTTP.PublicURL, c.WeChat.NotifyBaseURL)
	}
}

func TestVariablesWinOverTheFile(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(secret, []byte("-----KEY-----\nabc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, warnings, err := load(t, `
http: {addr: "0.0.0.0:9000", public_url: "https://shop.example/"}
redis:
  addrs: [a:1, b:2]
  db: 0
mysql: {dsn: "u:p@tcp(h:1)/d"}
rate_limit:
wechat:
  mch_id: 1900000001
  sandbox: {addr: "127.0.0.1:1"}
order: {max_unpaid: 3}
otel: {endpoint: "http://collector:4318", sample_ratio: 0.25}
demo: yes
`, "TIDEMALL_DATA_DIR=/tmp/x", "TIDEMALL_RATE_LIMIT_ENABLED=false", "TIDEMALL_REDIS_ADDRS= c:3 , d:4,,", "TIDEMALL_ORDER_OVERDUE_ALARM_MS=2000",
		"TIDEMALL_WECHAT_MCH_PRIVATE_KEY_FILE="+secret, "TIDEMALL_WECHAT_MCH_PRIVATE_KEY=", "TIDEMALL_DEMO=false", "TIDEMALL_PORT=tcp://1.2.3.4:5",
		"TIDEMALL_WECHAT_SANDBOX_URL=", "TIDEMALL_TEST_MYSQL_DSN=x", "HOME=/root", "TIDEMALL_SECRET_FILE=")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"TIDEMALL_PORT is no setting and is ignored"}, warnings); diff != "" {
		t.Error(diff)
	}
	got := []string{
		c.HTTP.Addr, c.HTTP.PublicURL, c.WeChat.NotifyBaseURL, strings.Join(c.Redis.Addrs, " "), c.WeChat.MchID, c.WeChat.MchPrivateKey, c.DataDir,
		fmt.Sprint(c.RateLimit.Enabled, c.Order.MaxUnpaid, c.Order.OverdueAlarmMS, c.Demo, " ", c.OTel.Endpoint, " ", c.OTel.SampleRatio),
	}
	if diff := cmp.Diff([]string{
		"0.0.0.0:9000", "https://shop.example", "https://shop.example", "c:3 d:4", "1900000001", "-----KEY-----\nabc", "/tmp/x", "false 3 2000 false http://collector:4318 0.25",
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnEmptyVariableMeansEmpty(t *testing.T) {
	_, _, err := load(t, "wechat: {sandbox: {addr: \"127.0.0.1:1\"}}", "TIDEMALL_WECHAT_SANDBOX_ADDR=", "TIDEMALL_DATA_DIR=", "TIDEMALL_HTTP_ADDR=")
	keys := strings.Join(keysOf(err), " ")
	for _, want := range []string{"data_dir", "http.addr", "wechat.mch_id"} { // without a sandbox WeChat's keys are needed
		if !strings.Contains(keys, want) {
			t.Errorf("problems %s, want %s among them", keys, want)
		}
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		env  []string
		want string
	}{
		"types":          {"timeout: {shards: many}\norder: {max_unpaid: 0}\nhttp: {addr: [1]}\ndemo: 7\nhtp: {addr: x}\nredis: {db: 1.5}\nmysql: {dsn: {a: 1}}", nil, "http.addr mysql.dsn redis.db timeout.shards order.max_unpaid demo htp.addr"},
		"values":         {"env: staging\nhttp: {addr: nowhere, public_url: ftp://x, trusted_proxies: [x]}\nshop: {timezone: Mars}\nlog: {level: loud, format: xml}\nadmin: {username: ab, password: short}\nsecret: short", nil, "env log.format log.level shop.timezone http.addr http.public_url http.trusted_proxies secret admin.username admin.password"},
		"mysql alone":    {"", []string{"TIDEMALL_MYSQL_DSN=x"}, "redis.addrs"},
		"none and one":   {"redis: {addrs: [none, 'a:1']}", nil, "redis.addrs"},
		"traces":         {"otel: {endpoint: 'collector:4318', sample_ratio: 1.5}", nil, "otel.sample_ratio otel.endpoint"},
		"no ratio":       {"otel: {sample_ratio: NaN}", nil, "otel.sample_ratio"},
		"no port":        {"redis: {addrs: ['a:1', b]}", nil, "redis.addrs"},
		"cluster":        {"redis: {addrs: ['a:1', 'b:1'], db: 1}", nil, "redis.db"},
		"former secrets": {"secret_previous: [short, 0123456789abcdef0123456789abcdef]\nsecret: 0123456789abcdef0123456789abcdef", nil, "secret_previous secret_previous"},
		"two secrets":    {"", []string{"TIDEMALL_SECRET=x", "TIDEMALL_SECRET_FILE=/nowhere", "TIDEMALL_MYSQL_DSN_FILE=/nowhere"}, "mysql.dsn secret"},
		"no yaml":        {"{", nil, "--config"},
		"no wechat":      {"wechat: {sandbox: {addr: ''}, app_id: wx1}", nil, "wechat.app_secret wechat.mch_id wechat.mch_cert_serial wechat.mch_private_key wechat.api_v3_key"},
		"half a key":     {"wechat: {sandbox: {addr: ''}, app_id: wx1, app_secret: x, mch_id: '1', mch_cert_serial: x, mch_private_key: x, api_v3_key: x, pay_public_key_id: x}", nil, "wechat.pay_public_key"},
		"no key":         {"wechat: {sandbox: {addr: ''}, app_id: wx1, app_secret: x, mch_id: '1', mch_cert_serial: x, mch_private_key: x, api_v3_key: x, pay_mode: both}", nil, "wechat.pay_public_key wechat.pay_public_key_id"},
		"odd mode":       {"wechat: {pay_mode: certificates}", nil, "wechat.pay_mode"},
		"two sandbox":    {"wechat: {sandbox: {addr: 'a:1', url: 'http://a:2'}}", nil, "wechat.sandbox.url"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(t, c.yaml, c.env...)
			if got := strings.Join(keysOf(err), " "); got != c.want {
				t.Errorf("problems of %s, want %s\n%v", got, c.want, err)
			}
		})
	}
	if _, _, err := Load("/nowhere/tidemall.yaml", nil); len(keysOf(err)) != 1 {
		t.Errorf("a file that is not there: %v", err)
	}
}

const strong = "f3b1c9d7e5a24680f3b1c9d7e5a24680f3b1c9d7e5a24680"

// wechatSet are variables with the keys of a WeChat account, of any form.
func wechatSet() (env []string) {
	for _, k := range []string{"APP_ID", "APP_SECRET", "MCH_ID", "MCH_CERT_SERIAL", "MCH_PRIVATE_KEY", "API_V3_KEY", "PAY_PUBLIC_KEY", "PAY_PUBLIC_KEY_ID"} {
		env = append(env, "TIDEMALL_WECHAT_"+k+"=x")
	}
	return env
}

func TestProductionRefusesWhatIsOnlyGoodForATrial(t *testing.T) {
	base := append(wechatSet(), "TIDEMALL_ENV=production", "TIDEMALL_MYSQL_DSN=u:p@tcp(h:1)/d", "TIDEMALL_REDIS_ADDRS=none", "TIDEMALL_SECRET="+strong)
	c, _, err := load(t, "", base...)
	if err != nil || c.Demo || c.SandboxStandsIn() || !c.RedisOff() {
		t.Fatalf("%v %v", err, c)
	}
	for name, x := range map[string]struct{ variable, want string }{
		"embedded":       {"TIDEMALL_MYSQL_DSN=", "mysql.dsn"},
		"sandbox":        {"TIDEMALL_WECHAT_SANDBOX_ADDR=127.0.0.1:8081", "wechat.sandbox.addr"},
		"sandbox's URL":  {"TIDEMALL_WECHAT_SANDBOX_URL=http://127.0.0.1:8081", "wechat.sandbox.url"},
		"no secret":      {"TIDEMALL_SECRET=", "secret"},
		"short secret":   {"TIDEMALL_SECRET=" + strong[:31], "secret"},
		"known secret":   {"TIDEMALL_SECRET=change-me-change-me-change-me-change-me", "secret"},
		"flat secret":    {"TIDEMALL_SECRET=" + strings.Repeat("a", 64), "secret"},
		"short password": {"TIDEMALL_ADMIN_PASSWORD=k2j4h6g8", "admin.password"},
		"known password": {"TIDEMALL_ADMIN_PASSWORD=password123456", "admin.password"},
		"no keys":        {"TIDEMALL_WECHAT_MCH_ID=", "wechat.mch_id"},
	} {
		_, _, err := load(t, "", append(base, x.variable)...)
		if got := strings.Join(keysOf(err), " "); got != x.want {
			t.Errorf("%s: problems of %q, want %q", name, got, x.want)
		}
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	var env []string
	for _, l := range leavesOf(&Config{}) {
		if l.secret {
			value := "hunter2-hunter2-hunter2-hunter2-hunter2"
			if l.key == "secret_previous" {
				value = "former-" + value
			}
			if l.key == "otel.endpoint" {
				value = "http://127.0.0.1:4318/" + value
			}
			env = append(env, l.variable+"="+value)
		}
	}
	c, _, err := load(t, "", append(env, "TIDEMALL_REDIS_ADDRS=none")...)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	slog.New(slog.NewTextHandler(&b, nil)).Info("settings", "config", c)
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%v %+v %#v", c, c, c), b.String()} {
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "127.0.0.1:8080") {
			t.Errorf("printed: %s", text)
		}
	}
	bad := append(env, "TIDEMALL_SECRET=hunter2", "TIDEMALL_ADMIN_PASSWORD=hunter2", "TIDEMALL_ENV=production")
	if _, _, err := load(t, "", bad...); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a problem quotes a secret: %v", err)
	}
}

// What needs only the database starts beside settings of others that are missing or wrong, and is as strict as ever with its own.
func TestLoadDatabaseReadsItsOwnOnly(t *testing.T) {
	others := []string{
		"TIDEMALL_ENV=production", "TIDEMALL_MYSQL_DSN=u:p@tcp(h:1)/d", "TIDEMALL_SECRET=changeme", "TIDEMALL_TIMEOUT_SHARDS=none", "TIDEMALL_REDIS_ADDRS=nowhere",
		"TIDEMALL_WECHAT_API_V3_KEY_FILE=/nowhere", "TIDEMALL_WECHAT_PAY_MODE=x", "TIDEMALL_OTEL_ENDPOINT=x", "TIDEMALL_HTTP_ADDR=x", "TIDEMALL_SHOP_TIMEZONE=Europe/Paris",
	}
	for name, c := range map[string]struct {
		yaml string
		env  []string
		want string
	}{
		"nothing but the database": {"", []string{"TIDEMALL_MYSQL_DSN=u:p@tcp(h:1)/d"}, ""},
		"in production":            {"", others, ""},
		"from a file":              {"mysql: {dsn: x}\nsecret: short\nrate_limit: {enabled: perhaps}\nredis: {addrs: [none, 'a:1']}\norder: {overdue_alarm_ms: 2000}", nil, ""},
		"its own":                  {"env: staging\ndata_dir: ''\nmysql: {migrate: x}\norder: {max_unpaid: 0}\nshop: {timezone: Mars}\nlog: {level: loud, format: xml}", nil, "mysql.migrate order.max_unpaid env log.format log.level data_dir shop.timezone"},
		"no database":              {"env: production", nil, "mysql.dsn"},
		"a misspelt name":          {"mysql: {dns: x}", nil, "mysql.dns"},
		"no file":                  {"", []string{"TIDEMALL_MYSQL_DSN_FILE=/nowhere"}, "mysql.dsn"},
	} {
		t.Run(name, func(t *testing.T) {
			file := ""
			if c.yaml != "" {
				file = filepath.Join(t.TempDir(), "tidemall.yaml")
				if err := os.WriteFile(file, []byte(c.yaml), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, warnings, err := LoadDatabase(file, c.env)
			if keys := strings.Join(keysOf(err), " "); keys != c.want || len(warnings) > 0 {
				t.Fatalf("problems of %s, want %s; warnings %v\n%v", keys, c.want, warnings, err)
			}
			if err == nil && (got.MySQL.DSN == "" || got.Secret != "" || got.Zone() == nil) {
				t.Errorf("got %+v", got)
			}
		})
	}
	c, warnings, err := LoadDatabase("", append(others, "TIDEMALL_PORT=1"))
	if err != nil || c.Zone().String() != "Europe/Paris" || !slices.Equal(warnings, []string{"TIDEMALL_PORT is no setting and is ignored"}) {
		t.Errorf("zone %v, warnings %v, %v", c.Zone(), warnings, err)
	}
}

func TestSecretIsMadeOnceEvenByMany(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	secrets := make([]string, 20)
	var wg sync.WaitGroup
	for i := range secrets {
		wg.Go(func() {
			c := Config{DataDir: dir}
			if err := c.EnsureSecret(); err != nil {
				t.Error(err)
			}
			secrets[i] = c.Secret
		})
	}
	wg.Wait()
	for _, s := range secrets {
		if s != secrets[0] || len(s) != 64 {
			t.Fatalf("secrets %q", secrets)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "secret"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
	c := Config{DataDir: dir, Secret: strong}
	if err := c.EnsureSecret(); err != nil || c.Secret != strong {
		t.Errorf("a secret that is set: %v %v", c.Secret, err)
	}
}

func TestDocumentIsUpToDate(t *testing.T) {
	const path = "../docs/configuration.md"
	if *update {
		if err := os.WriteFile(path, []byte(Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Markdown(), string(content)); diff != "" {
		t.Errorf("run go test ./config -run TestDocument -update: %s", diff)
	}
}

func TestOrderPath(t *testing.T) {
	for path, wrong := range map[string]bool{
		"": false, "pages/order/detail?out_trade_no=${商品订单号}": false, "pages/order/detail": true, "/pages/order/detail?no=${商品订单号}": true,
		"https://shop.example/o?no=${商品订单号}": true, "pages/order detail?no=${商品订单号}": true, strings.Repeat("p", 400) + "${商品订单号}": true,
	} {
		_, _, err := load(t, "", "TIDEMALL_WECHAT_ORDER_PATH="+path)
		if (err != nil) != wrong || wrong && !slices.Equal(keysOf(err), []string{"wechat.order_path"}) {
			t.Errorf("%q: %v", path, err)
		}
	}
	c, _, err := load(t, "wechat:\n  order_path: pages/o?no=${商品订单号}\n")
	if err != nil || c.WeChat.OrderPath != "pages/o?no=${商品订单号}" {
		t.Errorf("from a file: %q, %v", c.WeChat.OrderPath, err)
	}
}
