package main

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidemall/tidemall/timeout/testserver"
)

// jobBreaks are the instants at which the shop is killed while it does a job.
var jobBreaks = []string{"job.read:3", "job.written:3", "job.committed:3"}

// jobLease is how long a job belongs to a replica that was killed.
const jobLease = 10 * time.Second

// TestKilledWhileAJobRuns kills the shop at each of those instants of an import. Started again it goes on by itself: every product is
// made once, and every row has one result.
func TestKilledWhileAJobRuns(t *testing.T) {
	t.Parallel()
	program := breakable(t)
	for _, point := range jobBreaks {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			testJobBreak(t, program, point, parts{dsn: testserver.MySQL(t), addrs: "none"})
		})
		t.Run("embedded "+point, func(t *testing.T) {
			t.Parallel()
			testJobBreak(t, program, point, parts{})
		})
	}
}

func testJobBreak(t *testing.T, program, point string, p parts) {
	b := breakAt(t, program, point, p)
	g := b.sell(50, time.Hour)
	sold := as[struct {
		Category int64 `json:"category_id"`
	}](g.admin, g.admin.call(200, "GET", fmt.Sprintf("/api/admin/v1/products/%d", g.product), nil))
	file := "code,name,category,price,stock\n"
	for i := range 6 {
		price := "9.90"
		if i == 3 {
			price = "?"
		}
		file += fmt.Sprintf("BREAK-%d,断电 %d,%d,%s,7\n", i, i, sold.Category, price)
	}
	_ = upload(g.admin, "/api/admin/v1/jobs/product-import", file) // the shop may break before it has answered
	type job struct {
		ID                  int64
		Status              string
		Total, Done, Failed int64
	}
	eventually(t, 2*jobLease+recovery, "the job is done", func() (bool, string) {
		b.revive()
		jobs := as[listOf[job]](g.admin, b.insist(g.admin, "GET", "/api/admin/v1/jobs", nil, 200)).List
		if len(jobs) != 1 {
			t.Fatalf("%d jobs, want one", len(jobs))
		}
		j := jobs[0]
		return b.deaths == 1 && j.Status == "done" && j.Done == 6 && j.Failed == 1, fmt.Sprintf("%+v after %d breaks", j, b.deaths)
	})
	rows := as[listOf[struct {
		Row     int64
		Outcome string
	}]](g.admin, b.insist(g.admin, "GET", "/api/admin/v1/jobs/1/rows", nil, 200)).List
	if len(rows) != 6 || rows[2].Outcome != "created" || rows[3].Outcome != "validation_failed" {
		t.Errorf("the results are %+v", rows)
	}
	made := as[listOf[struct {
		Version int64
		SKUs    []struct{ Stock int64 }
	}]](g.admin, b.insist(g.admin, "GET", "/api/admin/v1/products?q=BREAK", nil, 200)).List
	if len(made) != 5 || made[0].Version != 1 || made[0].SKUs[0].Stock != 7 {
		t.Errorf("the products are %+v", made)
	}
	b.audit()
}

// upload sends a file as a form does.
func upload(p person, path, text string) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "products.csv")
	if err != nil {
		return err
	}
	if _, err := part.Write([]byte(text)); err != nil {
		return err
	}
	if err := form.Close(); err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, p.base+path, &body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := httpClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("answered with %s", strings.TrimSpace(resp.Status))
	}
	return nil
}
