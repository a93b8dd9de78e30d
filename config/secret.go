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

// secretFile is the secret's name in data_dir.
const secretFile = "secret"

// EnsureSecret fills in an empty secret: the one kept in data_dir, or a new one that is kept there from now on, readable by the
// owner only. Of processes that start together one makes it and all use it. In production Load has seen to it that it is set.
func (c *Config) EnsureSecret() error {
	if c.Secret != "" {
		return nil
	}
	if err := os.MkdirAll(c.DataDir, 0o755); err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	path := filepath.Join(c.DataDir, secretFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeSecret(path); err != nil {
			return fmt.Errorf("secret: %w", err)
		}
		content, err = os.ReadFile(path)
	}
	if err != nil {
		return fmt.Errorf("secret: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return fmt.Errorf("secret: %w", err)
	}
	c.Secret = strings.TrimSpace(string(content))
	if len(c.Secret) < secretMin {
		return fmt.Errorf("secret: %s holds fewer than %d characters", path, secretMin)
	}
	return nil
}

// makeSecret writes a whole file beside the path (O_EXCL, 0600) and links it there: the link fails where another process was
// faster, and nobody ever reads half a secret.
func makeSecret(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".secret-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	_, err = f.WriteString(hex.EncodeToString(b[:]) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
