package sandbox

import (
	"net/http"
	"strings"
	"testing"
)

// A misspelled field is refused by every control that takes a body, so that it is not silently without effect.
func TestControlsRefuseWhatTheyDoNotKnow(t *testing.T) {
	r := started(t)
	for _, path := range []string{
		"pay", "refunds/R1", "shipping/T00000001/confirm", "shipping/T00000001/settle", "shipping/T00000001/remind", "notify",
		"subscriptions", "faults", "chaos", "certificates", "settings",
	} {
		for _, body := range []string{`{"misspelled":1}`, `{} {}`, `{} }`, `{`} {
			req, err := http.NewRequest("POST", r.url+"/sandbox/"+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			status, reply := r.send(req)
			r.want(path+" "+body, status, reply, 400, "MALFORMED")
		}
	}
}
