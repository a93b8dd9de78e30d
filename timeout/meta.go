package timeout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
)

// checkShards stores the shard count at the first start and compares it
// later: two replicas with different counts would look for one task in two
// places.
func checkShards(ctx context.Context, db *sql.DB, shards int, now int64) error {
	stored, err := storedShards(ctx, db)
	if errors.Is(err, sql.ErrNoRows) {
		// Another replica may be first; the row that is there then counts.
		_, insertErr := db.ExecContext(ctx,
			"INSERT INTO timeout_meta (name, value, updated_at) VALUES ('shards', ?, ?)", strconv.Itoa(shards), now)
		stored, err = storedShards(ctx, db)
		if errors.Is(err, sql.ErrNoRows) {
			err = insertErr
		}
	}
	if err != nil {
		return fmt.Errorf("timeout: read the shard count: %w", err)
	}
	if stored != strconv.Itoa(shards) {
		return fmt.Errorf("%w: configured %d, stored %s", ErrShardCount, shards, stored)
	}
	return nil
}

func storedShards(ctx context.Context, db *sql.DB) (string, error) {
	var value string
	err := db.QueryRowContext(ctx, "SELECT value FROM timeout_meta WHERE name = 'shards'").Scan(&value)
	return value, err
}
