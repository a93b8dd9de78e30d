package config

import (
	"fmt"
	"strings"
)

// Markdown returns the reference of all settings; docs/configuration.md is it.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Configuration

<!-- Made from package config by "go test ./config -run TestDocument -update". -->

Settings come from a YAML file (` + "`tidemall serve --config FILE`" + `) and from variables, which win. The variable of a key is
` + "`TIDEMALL_`" + ` and the key in upper case with ` + "`_`" + ` for each dot. Secrets (🔑) may also come from a file: set the variable with
` + "`_FILE`" + ` added to its path. An empty variable means empty; lists are comma-separated; unknown variables only warn, unknown keys in
the file are refused. Everything that is wrong is reported at once. ` + "`tidemall migrate` and `tidemall audit`" + ` read only the settings of the database
(` + "`env`, `data_dir`, `mysql.*`, `order.*`, `shop.*`, `log.*`" + `); the others need not be there.

| key | variable | default | |
|---|---|---|---|
`)
	for _, l := range leavesOf(&Config{}) {
		fallback := "empty"
		switch {
		case l.shown != "":
			fallback = l.shown
		case l.hasFallback:
			fallback = "`" + l.fallback + "`"
		}
		mark := ""
		if l.secret {
			mark = " 🔑"
		}
		doc := l.doc
		if l.max > 0 {
			doc += fmt.Sprintf(" (%d to %d)", l.min, l.max)
		}
		fmt.Fprintf(&b, "| `%s`%s | `%s` | %s | %s |\n", l.key, mark, l.variable, fallback, strings.ReplaceAll(doc, "|", `\|`))
	}
	b.WriteString(`
## Switchover of MySQL

When the primary has become another server and its name was moved, the shop follows by itself: a connection whose server refuses a
write because it is read-only (errors 1290, 1792, 1836) is closed, with the others that wait in the pool, and the write is tried on a
new one. While there is no primary, writes are answered with ` + "`503 database_unavailable`" + `, and the log says ` + "`bad connection`" + `. It takes
a user of the database whom ` + "`read_only`" + ` concerns: one without ` + "`SUPER`" + `, ` + "`CONNECTION_ADMIN`" + ` and ` + "`READ ONLY ADMIN`" + `.

## Production

` + "`env: production`" + ` refuses to start without ` + "`mysql.dsn`" + ` and ` + "`secret`" + `, with a secret that is short or well known, with an
` + "`admin.password`" + ` that is, and with the WeChat sandbox.

` + "```yaml" + `
env: production
http:
  addr: 0.0.0.0:8080
  public_url: https://shop.example.com
  trusted_proxies: [10.0.0.0/8]
mysql:
  dsn: tidemall:…@tcp(mysql:3306)/tidemall
redis:
  addrs: [redis:6379]
wechat:
  app_id: wx…
  mch_id: "1900000001"
` + "```" + `

The secrets are best mounted as files: ` + "`TIDEMALL_SECRET_FILE`, `TIDEMALL_WECHAT_APP_SECRET_FILE`, `TIDEMALL_WECHAT_MCH_PRIVATE_KEY_FILE`" + ` and so on.
`)
	b.WriteString(`
## Changing the secret

Put the new one in ` + "`secret`" + ` and the old one in ` + "`secret_previous`" + `, on all replicas. Phone numbers that the old one sealed are still shown, second
factors of admins still work, and both are sealed anew in the background, 500 rows at a time with a pause after each; the log says "nothing is left that a former
secret sealed" when that is done. Once every replica runs with the new secret and says so, empty ` + "`secret_previous`" + `. A replica that still runs with the old secret alone
shows only the last digits of what was sealed anew, and refuses the codes of such second factors. Tokens of the old secret are refused at once, since a secret may be changed because it
leaked: a mini-program logs in again by wx.login without asking anybody, admins enter their password. Addresses hold phone numbers in clear, because parcels need
them; ` + "`secret`" + ` does not protect those.
`)
	return b.String()
}
