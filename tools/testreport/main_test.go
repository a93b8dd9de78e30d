package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		ok             bool
	}{
		{
			name: "pass and skip",
			in: `{"Action":"output","Package":"p","Test":"A","Output":"=== RUN   A\n"}
{"Action":"output","Package":"p","Test":"A","Output":"    a_test.go:3: noise\n"}
{"Action":"pass","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"B","Output":"=== RUN   B\n"}
{"Action":"output","Package":"p","Test":"B","Output":"    b_test.go:9: testserver: no redis-server: not installed\n"}
{"Action":"output","Package":"p","Test":"B","Output":"--- SKIP: B (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"B"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
{"Action":"output","Package":"q","Output":"?   \tq\t[no test files]\n"}
{"Action":"skip","Package":"q"}
`,
			want: "ok  \tp\t0.1s\n?   \tq\t[no test files]\nskipped 1: testserver: no redis-server: not installed (B)\n1 passed, 0 failed, 1 skipped\n",
			ok:   true,
		},
		{
			name: "failure",
			in: `{"Action":"output","Package":"p","Test":"A","Output":"    a_test.go:3: got 1\n"}
{"Action":"output","Package":"p","Test":"A","Output":"--- FAIL: A (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`,
			want: "    a_test.go:3: got 1\n--- FAIL: A (0.00s)\nFAIL\nFAIL\tp\t0.1s\n0 passed, 1 failed, 0 skipped\n",
		},
		{
			name: "died in a test",
			in: `{"Action":"pass","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"B","Output":"panic: boom\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
`,
			want: "panic: boom\nFAIL\tp\t0.1s\n1 passed, 1 failed, 0 skipped\n",
		},
		{
			name: "does not build",
			in: `{"ImportPath":"p [p.test]","Action":"build-output","Output":"p.go:1: undefined: x\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
go: a plain line
`,
			want: "p.go:1: undefined: x\nFAIL\tp [build failed]\ngo: a plain line\n0 passed, 1 failed, 0 skipped\n",
		},
		{name: "nothing ran", in: "", want: "0 passed, 0 failed, 0 skipped\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			ok, err := report(strings.NewReader(c.in), &out)
			if err != nil {
				t.Fatal(err)
			}
			if ok != c.ok {
				t.Errorf("ok is %v, want %v", ok, c.ok)
			}
			if out.String() != c.want {
				t.Errorf("got\n%s\nwant\n%s", out.String(), c.want)
			}
		})
	}
}
