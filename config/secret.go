package config

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// minSecret is the shortest secret that is accepted.
const minSecret = 32

// EnsureSecret returns the secret of the configuration or, in development where none is given, the one kept in data_dir, made at
// the first start with mode 0600. Processes that start together agree on one.
func (c *Config) EnsureSecret() (string, error) {
	if c.Secret != "" {
		return c.Secret, nil
	}
	if err := os.MkdirAll(c.DataDir, 0o750); err != nil {
		return "", fmt.Errorf("data_dir: %w", err)
	}
	path := filepath.Join(c.DataDir, "secret")
	if err := makeSecret(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("making %s: %w", path, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(text))
	if len(secret) < minSecret {
		return "", fmt.Errorf("%s holds no secret of %d characters; remove it, or set TIDEMALL_SECRET", path, minSecret)
	}
	return secret, nil
}

// makeSecret writes a new secret and links it to its place at once, so that nobody reads half of it and the first one wins.
func makeSecret(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	var random [32]byte
	_, _ = rand.Read(random[:])                               // never fails, see crypto/rand
	tmp, err := os.CreateTemp(filepath.Dir(path), "secret-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.WriteString(hex.EncodeToString(random[:]) + "\n")
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Link(tmp.Name(), path)
}
