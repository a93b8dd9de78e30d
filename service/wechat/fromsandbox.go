package wechat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// FromSandbox asks the simulator at baseURL for the credentials that it made up. The
// result has SandboxURL set and NotifyBaseURL empty. A simulator that is still
// starting is asked again until ctx ends.
func FromSandbox(ctx context.Context, baseURL string) (Config, error) {
	baseURL = strings.TrimRight(baseURL, "/")
	for {
		cfg, err := fetchCredentials(ctx, baseURL)
		if err == nil {
			cfg.SandboxURL = baseURL
			return cfg, nil
		}
		select {
		case <-ctx.Done():
			return Config{}, fmt.Errorf("the WeChat sandbox at %s hands out no credentials: %w", baseURL, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func fetchCredentials(ctx context.Context, baseURL string) (Config, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/sandbox/credentials", nil)
	if err != nil {
		return Config{}, err
	}
	client := &http.Client{Timeout: CallLimit}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return Config{}, errors.New(describe(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Config{}, fmt.Errorf("status %d", resp.StatusCode)
	}
	var cfg Config
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxReply)).Decode(&cfg); err != nil {
		return Config{}, errors.New("the reply is not JSON")
	}
	return cfg, nil
}
