package main

import (
	"database/sql"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/knadh/koanf/parsers/yaml"

	"github.com/tidemall/tidemall/config"
)

// composed is what of docker-compose.yml is looked at, the variables in it replaced as on a machine that sets none.
type composed struct{ services map[string]any }

func readCompose(t *testing.T) composed {
	t.Helper()
	raw, err := os.ReadFile("docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	all, err := yaml.Parser().Unmarshal([]byte(withDefaults(string(raw))))
	if err != nil {
		t.Fatal(err)
	}
	return composed{all["services"].(map[string]any)}
}

var composeVariable = regexp.MustCompile(`\$\{\w+:?-([^}]*)\}`)

// withDefaults is what compose makes of a text where no variable is set.
func withDefaults(text string) string {
	return strings.ReplaceAll(composeVariable.ReplaceAllString(text, "$1"), "$$", "$")
}

// part is one value of a service, by the names that lead to it.
func (c composed) part(t *testing.T, path ...string) any {
	t.Helper()
	var at any = c.services
	for _, name := range path {
		m, ok := at.(map[string]any)
		if !ok || m[name] == nil {
			t.Fatalf("docker-compose.yml has no %s", strings.Join(path, "."))
		}
		at = m[name]
	}
	return at
}

// env is the environment of a service; what has no value is not passed on.
func (c composed) env(t *testing.T, service string) map[string]string {
	t.Helper()
	env := map[string]string{}
	for name, value := range c.part(t, service, "environment").(map[string]any) {
		switch v := value.(type) {
		case string:
			env[name] = v
		case bool:
			env[name] = map[bool]string{true: "true", false: "false"}[v]
		}
	}
	return env
}

// TestT78_ComposeFile checks what docker-compose.yml says: variables that the program knows, and a start in the right order.
// Case T78.
func TestT78_ComposeFile(t *testing.T) {
	t.Parallel()
	c, known := readCompose(t), config.Markdown()
	variables := c.part(t, "app", "environment").(map[string]any)
	for name := range variables {
		variable, isFile := strings.CutSuffix(name, "_FILE")
		at := strings.Index(known, "| `"+variable+"` |")
		if !strings.HasPrefix(name, "TIDEMALL_") || at < 0 {
			t.Errorf("the program has no variable %s", name)
		} else if line := known[strings.LastIndexByte(known[:at], '\n'):at]; isFile && !strings.Contains(line, "🔑") {
			t.Errorf("%s is no secret, it is not read from a file", variable)
		}
	}
	checkPassedOn(t, known, variables)
	if len(variables) < 10 {
		t.Errorf("only %d variables: read wrongly", len(variables))
	}
	for _, need := range []string{"mysql", "redis"} {
		if got := c.part(t, "app", "depends_on", need, "condition"); got != "service_healthy" {
			t.Errorf("the shop starts when %s is %v", need, got)
		}
		c.part(t, need, "healthcheck", "test")
	}
	image := dockerfile(t)
	if check := image["HEALTHCHECK"]; !strings.Contains(check, "http://127.0.0.1:8080/readyz") {
		t.Errorf("the image's health check is %q", check)
	}
	if !strings.HasSuffix(c.env(t, "app")["TIDEMALL_HTTP_ADDR"], ":"+image["EXPOSE"]) {
		t.Errorf("the image exposes %s", image["EXPOSE"])
	}
}

// checkPassedOn wants what a real shop sets of WeChat, of its secret and of the proxy before it, and every secret also by file.
func checkPassedOn(t *testing.T, known string, variables map[string]any) {
	t.Helper()
	row := regexp.MustCompile("^\\|[^|]*\\| `(TIDEMALL_[A-Z0-9_]+)` \\|")
	for line := range strings.Lines(known) {
		found := row.FindStringSubmatch(line)
		// The container has a simulator of its own or none, and its own MySQL.
		if found == nil || found[1] == "TIDEMALL_WECHAT_SANDBOX_URL" || found[1] == "TIDEMALL_MYSQL_DSN" {
			continue
		}
		_, passed := variables[found[1]]
		needed := found[1] == "TIDEMALL_HTTP_TRUSTED_PROXIES" || strings.HasPrefix(found[1], "TIDEMALL_WECHAT_") || strings.HasPrefix(found[1], "TIDEMALL_SECRET")
		if needed && !passed {
			t.Errorf("%s does not reach the container", found[1])
		}
		if _, byFile := variables[found[1]+"_FILE"]; passed && !byFile && strings.Contains(line, "🔑") {
			t.Errorf("%s does not reach the container by file", found[1])
		}
	}
}

// TestT78_ComposeIsValid has docker-compose read the file, where it is installed. It needs no engine for that.
// Case T78.
func TestT78_ComposeIsValid(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("docker-compose"); err != nil {
		t.Skip("docker-compose is not installed: the file is not checked by it")
	}
	if out, err := exec.Command("docker-compose", "-f", "docker-compose.yml", "config", "-q").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// dockerfile is the last value of each instruction of the last stage.
func dockerfile(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for line := range strings.Lines(strings.ReplaceAll(string(raw), "\\\n", " ")) {
		instruction, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if instruction == "FROM" {
			clear(found)
		}
		found[instruction] = value
	}
	return found
}

var printedPassword = regexp.MustCompile(`username (\S+), password (\S+) \(shown only this once\)`)

// TestT78_ComposeStarts starts the program as the image does, with the settings of docker-compose.yml and nothing else, beside an
// empty database and an empty Redis. It becomes healthy by itself, has something to sell, lets the administrator in with the
// password in its log, and writes nowhere but where a volume is mounted.
// Case T78.
func TestT78_ComposeStarts(t *testing.T) {
	t.Parallel()
	c, image := readCompose(t), dockerfile(t)
	if image["ENTRYPOINT"] != `["/usr/local/bin/tidemall"]` || image["CMD"] != `["serve"]` {
		t.Fatalf("the image runs %s %s", image["ENTRYPOINT"], image["CMD"])
	}
	p := realParts(t)
	makeDatabase(t, p.mysql.DSN(), c.env(t, "mysql"))
	data := t.TempDir()
	here := strings.NewReplacer("mysql:3306", p.mysql.Addr(), "redis:6379", p.redis.Addr(), ":8080", ":"+sparePort(t), ":8081", ":0")
	var env []string
	for name, value := range c.env(t, "app") {
		if name == "TIDEMALL_DATA_DIR" {
			value = data // the volume
		}
		env = append(env, name+"="+here.Replace(value))
	}
	slices.Sort(env)
	served := start(t, env, "serve")
	s := &shop{t: t, p: served, http: served.says(servesAt)}
	visitor := s.shopper("")
	visitor.awaitReady("ok")
	printed := printedPassword.FindStringSubmatch(served.output())
	if printed == nil {
		t.Fatalf("no password in the log: %s", served.output())
	}
	visitor.call(200, "POST", "/api/admin/v1/auth/login", map[string]any{"username": printed[1], "password": printed[2]})
	visitor.call(200, "GET", "/", nil)
	if goods := as[listOf[struct{}]](visitor, visitor.call(200, "GET", "/api/v1/products", nil)).List; len(goods) == 0 {
		t.Error("there is nothing to buy")
	}
	left, err := os.ReadDir(served.cmd.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("beside its volume the program wrote %v (%v)", left, err)
	}
}

// sparePort is a port that nobody listens on now.
func sparePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// makeDatabase does what the database's image does at its first start.
func makeDatabase(t *testing.T, root string, env map[string]string) {
	t.Helper()
	db, err := sql.Open("mysql", root)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		"CREATE DATABASE IF NOT EXISTS `" + env["MYSQL_DATABASE"] + "` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci",
		"CREATE USER '" + env["MYSQL_USER"] + "'@'%' IDENTIFIED BY '" + env["MYSQL_PASSWORD"] + "'",
		"GRANT ALL ON `" + env["MYSQL_DATABASE"] + "`.* TO '" + env["MYSQL_USER"] + "'@'%'",
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%v in %s", err, statement)
		}
	}
}
