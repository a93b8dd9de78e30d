// Package leaktest searches what a program wrote, its log above all, for what no log may hold: the secrets that the test knows, and
// whatever has the form of a token, a key or a phone number.
package leaktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Ear hears what processes say and knows secrets. It is safe for concurrent use.
type Ear struct {
	mu      sync.Mutex
	heard   bytes.Buffer
	secrets map[string]string // by the secret, what it is
}

// shapes are forms that give a secret away without anybody knowing it.
var shapes = []struct {
	what string
	re   *regexp.Regexp
}{
	{"a token of ours", regexp.MustCompile(`eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}`)},
	{"an access token of the sandbox", regexp.MustCompile(`90_[0-9a-f]{32,}`)},
	{"a secret in a query", regexp.MustCompile(`(?i)\b(access_token|secret|js_code|session_key)(\\?"?\s*[=:]\s*\\?"?)[0-9A-Za-z_+/-]{6,}`)},
	{"a key in PEM", regexp.MustCompile(`-----BEGIN [A-Z ]*KEY`)},
	{"a password's hash", regexp.MustCompile(`\$argon2id\$`)},
	// Mobile numbers, but not round ones: a duration in nanoseconds has eleven digits too.
	{"a phone number", regexp.MustCompile(`\b1[3-9][0-9]{3}(?:[0-9]{5}[1-9]|[0-9]{4}[1-9]0|[0-9]{3}[1-9]00)\b`)},
}

// short is how few characters a secret may have to be searched for: fewer would be found by accident.
const short = 8

// Knows tells of a secret. The name says in reports what was found, since the secret itself is not repeated there.
func (e *Ear) Knows(name, secret string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.secrets == nil {
		e.secrets = map[string]string{}
	}
	for part := range strings.SplitSeq(secret, "\n") {
		if part = strings.TrimSpace(part); len(part) >= short && !strings.HasPrefix(part, "-----") {
			e.secrets[part] = name
		}
	}
}

// KnowsAll tells of every value of a flat JSON object but those whose names have one of the endings.
func (e *Ear) KnowsAll(object []byte, but ...string) error {
	var values map[string]any
	if err := json.Unmarshal(object, &values); err != nil {
		return err
	}
next:
	for name, v := range values {
		for _, ending := range but {
			if strings.HasSuffix(name, ending) {
				continue next
			}
		}
		if text, ok := v.(string); ok {
			e.Knows(name, text)
		}
	}
	return nil
}

// Check fails the test if a text, such as its log, gives a secret away: one of the credentials, which are a struct of texts with the
// names of the wechat.* settings, or anything of the form of one.
func Check(t testing.TB, text string, credentials any) {
	t.Helper()
	raw, err := json.Marshal(credentials)
	if err != nil {
		t.Fatal(err)
	}
	e := &Ear{}
	if err := e.KnowsAll(raw, PublicNames...); err != nil {
		t.Fatal(err)
	}
	e.Hear([]byte(text + "\n"))
	for _, leak := range e.Leaks() {
		t.Errorf("the log holds %s", leak)
	}
}

// PublicNames are the endings of the names of what WeChat issues and is no secret.
var PublicNames = []string{"_id", "serial", "public_key"}

// Hear takes whole lines.
func (e *Ear) Hear(lines []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard.Write(lines)
}

// Size is how much was heard, in bytes.
func (e *Ear) Size() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.heard.Len()
}

// maxBeginning is how much of a line is shown before what is secret in it.
const maxBeginning = 160

// Leaks returns what was found, each as what it is and the beginning of its line, up to the secret at the most.
func (e *Ear) Leaks() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.heard.Bytes()
	var leaks []string
	found := func(what string, at int) {
		begin := bytes.LastIndexByte(all[:at], '\n') + 1
		leaks = append(leaks, fmt.Sprintf("%s, after: %s", what, all[begin:min(at, begin+maxBeginning)]))
	}
	for secret, name := range e.secrets {
		if at := bytes.Index(all, []byte(secret)); at >= 0 {
			found(name, at)
		}
	}
	for _, s := range shapes {
		if at := s.re.FindIndex(all); at != nil {
			found(s.what, at[0])
		}
	}
	return leaks
}

// Voice is one writer of what an Ear hears, such as a process' standard error. Lines of several voices do not mix.
type Voice struct {
	ear *Ear

	mu   sync.Mutex
	rest []byte
}

// Voice returns a new one.
func (e *Ear) Voice() *Voice { return &Voice{ear: e} }

// Write implements io.Writer.
func (v *Voice) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rest = append(v.rest, b...)
	if end := bytes.LastIndexByte(v.rest, '\n') + 1; end > 0 {
		v.ear.Hear(v.rest[:end])
		v.rest = append(v.rest[:0], v.rest[end:]...)
	}
	return len(b), nil
}

// End hears a last line that has no end, as a kill leaves it.
func (v *Voice) End() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.rest) > 0 {
		v.ear.Hear(append(v.rest, '\n'))
		v.rest = nil
	}
}
