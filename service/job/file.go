package job

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
)

// put stores a file; a store that does not answer is nothing against the job.
func (s *Service) put(ctx context.Context, key string, data []byte) error {
	if err := s.Files.Put(ctx, key, data); err != nil {
		return fmt.Errorf("%w: %w", errLater, err)
	}
	return nil
}

// input reads the file of a job.
func (s *Service) input(ctx context.Context, j *model.Job) ([]byte, error) {
	r, err := s.Files.Open(ctx, j.Input)
	if fault.Is(err, fault.NotFoundError) {
		return nil, err
	}
	if err == nil {
		var data []byte
		data, err = io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err == nil {
			return data, nil
		}
	}
	return nil, fmt.Errorf("%w: %w", errLater, err)
}
