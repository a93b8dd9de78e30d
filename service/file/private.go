package file

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/tidemall/tidemall/service/fault"
)

// privatePrefix is where files lie that no URL names: a key of a picture has no slash.
const privatePrefix = "private/"

// Private keeps files that are not pictures in the same bucket, such as what a job reads and writes. They have no URL: whoever serves
// one checks who asks. It is safe for concurrent use.
type Private struct{ bucket *blob.Bucket }

// NewPrivate makes a store of private files over the bucket of the pictures, which it does not close.
func NewPrivate(bucket *blob.Bucket) *Private { return &Private{bucket} }

// Put stores a file under the key, whole or not at all.
func (p *Private) Put(ctx context.Context, key string, data []byte) error {
	if err := p.bucket.WriteAll(ctx, privatePrefix+key, data, nil); err != nil {
		return fmt.Errorf("writing file %s: %w", key, err)
	}
	return nil
}

// Open opens the file with the key, or fails with not_found. The caller closes it.
func (p *Private) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	r, err := p.bucket.NewReader(ctx, privatePrefix+key, nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, fault.New(fault.NotFoundError)
	}
	if err != nil {
		return nil, fmt.Errorf("reading file %s: %w", key, err)
	}
	return r, nil
}

// Remove removes every file whose key begins so.
func (p *Private) Remove(ctx context.Context, prefix string) error {
	for files := p.bucket.List(&blob.ListOptions{Prefix: privatePrefix + prefix}); ; {
		f, err := files.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = p.bucket.Delete(ctx, f.Key)
		}
		if err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return fmt.Errorf("removing files %s: %w", prefix, err)
		}
	}
}
