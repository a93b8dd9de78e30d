package wechat

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/silenceper/wechat/v2/util"
)

// Nothing but WeChat's hosts is ever called, and with a simulator not even those.
func TestOtherHostsAreRefused(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = append(seen, r.Host+r.RequestURI) }))
	defer server.Close()
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := newHTTPClient(base)
	for _, address := range []string{server.URL, "https://example.com/", "https://api.weixin.qq.com.example.com/", "https://api.weixin.qq.com:444/"} {
		if resp, err := client.Get(address); !errors.Is(err, errBlockedHost) {
			t.Errorf("%s: %v %v", address, resp, err)
		}
	}
	resp, err := client.Get("https://api.mch.weixin.qq.com/v3/a%7Cb?x=%2F1&y=2")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if len(seen) != 1 || seen[0] != "api.mch.weixin.qq.com/v3/a%7Cb?x=%2F1&y=2" {
		t.Errorf("path and query are signed and must arrive as they were: %v", seen)
	}
}

// The library's client is one for the process: it serves only calls that say whose they are.
func TestTheLibrarysGlobalClientBelongsToNobody(t *testing.T) {
	installRouting()
	if _, err := util.HTTPGet("https://api.weixin.qq.com/sns/jscode2session"); !errors.Is(err, errBlockedHost) {
		t.Error(err)
	}
}

func TestAmountsOfBills(t *testing.T) {
	for text, want := range map[string]int64{"0.00": 0, "0.01": 1, "1": 100, "1.5": 150, "99999999.99": 9999999999, "-3.20": -320} {
		if fen, err := fenOf(text); err != nil || fen != want {
			t.Errorf("%s: %d, %v", text, fen, err)
		}
	}
	for _, text := range []string{"", ".", "1.234", "1,000.00", "1e3", "x"} {
		if fen, err := fenOf(text); err == nil {
			t.Errorf("%q: %d", text, fen)
		}
	}
}
