package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/file"
)

// Files has the operations of storing and serving pictures, the same for shoppers and admins.
type Files struct {
	Service interface {
		Pictures
		Save(ctx context.Context, r io.Reader) (model.Image, error)
		Read(ctx context.Context, key string) (file.Content, error)
	}
}

// UploadInput is a picture in a multipart form.
type UploadInput struct {
	RawBody huma.MultipartFormFiles[struct {
		File huma.FormFile `form:"file" required:"false" doc:"A JPEG, PNG, GIF or WebP picture of at most 8 MiB"`
	}]
}

// Upload stores a picture. A form with a single file may call it what it likes.
func (f *Files) Upload(ctx context.Context, in *UploadInput) (*Reply[Picture], error) {
	files := in.RawBody.Form.File["file"]
	for _, others := range in.RawBody.Form.File {
		if len(files) == 0 && len(in.RawBody.Form.File) == 1 {
			files = others
		}
	}
	if len(files) != 1 {
		return nil, fault.New(fault.ValidationFailed).With("file", fault.FieldRequired, "请在 file 字段上传一张图片", "must be one picture")
	}
	r, err := files[0].Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // was only read
	img, err := f.Service.Save(ctx, r)
	if err != nil {
		return nil, err
	}
	return Body(PictureOf(img, f.Service)), nil
}

// FileInput names a stored picture.
type FileInput struct {
	Key string `path:"key" maxLength:"80" doc:"As in the URL that the upload answered"`
}

// Get serves a picture. It never changes under its key, so whoever has it need not ask again.
func (f *Files) Get(ctx context.Context, in *FileInput) (*huma.StreamResponse, error) {
	content, err := f.Service.Read(ctx, in.Key)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer func() { _ = content.Body.Close() }() // was only read
		c := humagin.Unwrap(hc)
		h := c.Writer.Header()
		h.Set("Content-Type", content.Type)
		h.Set("ETag", content.ETag)
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
		http.ServeContent(c.Writer, c.Request, "", time.Time{}, content.Body)
	}}, nil
}
