package job

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
)

// An export is written in parts, each a file of its own in the private store; the download strings them together. A part is written
// before the transaction that counts it, under a name that no other replica gives: one that was killed in between leaves a file that
// nobody reads, until the job is removed.

// exportPart makes the step that counts a part of so many rows.
func (s *Service) exportPart(ctx context.Context, j *model.Job, w *writer, rows int, next store.Cursor) (*step, error) {
	key, data := "", w.bytes()
	if len(data) > 0 { // a search may find nothing on its way
		key = fmt.Sprintf("%s%06d-%s.csv", folder(j.ID), j.Step+1, j.LeaseToken)
		if err := s.put(ctx, key, data); err != nil {
			return nil, err
		}
	}
	return &step{
		subject: key, rows: int64(rows), cursor: next,
		effect: func(*store.Tx) (outcome, error) { return outcome{code: "part", bytes: int64(len(data))}, nil },
	}, nil
}

// params reads what an export is of.
func params[T any](j *model.Job) (p T, err error) {
	err = json.Unmarshal([]byte(j.Params), &p)
	return p, err
}
