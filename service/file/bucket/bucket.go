// Package bucket opens the place where pictures are kept: a folder, or an S3-compatible bucket for several replicas. It is apart
// from package file so that only the program itself is linked with the S3 client.
package bucket

import (
	"context"
	"fmt"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // registers s3://

	"github.com/tidemall/tidemall/service/file"
)

// Open opens the bucket that a URL names, such as s3://name?region=eu-west-1, or
// s3://name?endpoint=https://minio.example&use_path_style=true for another service than Amazon's; credentials come from the
// environment as the AWS tools read them. An empty URL means the folder, which is made where it is missing.
func Open(ctx context.Context, url, folder string) (*blob.Bucket, error) {
	if url == "" {
		return file.OpenFolder(folder)
	}
	opened, err := blob.OpenBucket(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("files.url: %w", err)
	}
	return opened, nil
}
