// Package file keeps pictures: it takes what shoppers and admins upload, decodes it, and stores what it drew itself from the
// pixels, so that nothing but a JPEG or a PNG made here is ever served. A picture never changes under its key.
package file

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/gcerrors"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
)

// Limits of an upload and of what is made of it.
const (
	MaxBytes  = 8 << 20    // of an upload
	MaxPixels = 40_000_000 // of an upload, decoded
	maxSide   = 1600       // of the stored picture
	thumbSide = 400        // of its thumbnail
)

// Path is where pictures are served, below the public URL.
const Path = "/files/"

// Files is the store of pictures. It is safe for concurrent use.
type Files struct {
	bucket *blob.Bucket
	public string
	// decoding bounds how many pictures are in memory at once: each takes up to maxDecoded while it is decoded, and then up to 260 MB
	// while it is scaled.
	decoding chan struct{}
}

// New makes a store over a bucket; publicURL is http.public_url, without which no picture has an absolute URL.
func New(bucket *blob.Bucket, publicURL string) *Files {
	return &Files{bucket: bucket, public: strings.TrimRight(publicURL, "/"), decoding: make(chan struct{}, 2)}
}

// OpenFolder opens a folder as a bucket, making it where it is missing. Files are written beside their place and renamed, so a
// kill leaves no half picture.
func OpenFolder(dir string) (*blob.Bucket, error) {
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{
		CreateDir: true, DirFileMode: os.FileMode(0o750), NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, fmt.Errorf("folder of pictures: %w", err)
	}
	return bucket, nil
}

// Close closes the bucket.
func (f *Files) Close() error { return f.bucket.Close() }

// A key carries what is needed to describe the picture without reading it: a hash, the size in pixels, the format.
var keyForm = regexp.MustCompile(`^[0-9a-f]{32}-([1-9][0-9]{0,4})x([1-9][0-9]{0,4})(-thumb)?\.(jpg|png)$`)

func keyOf(hash string, size image.Point, format string) string {
	return fmt.Sprintf("%s-%dx%d.%s", hash, size.X, size.Y, format)
}

// ThumbKey returns the key of the thumbnail of the picture with the key; "" stays "".
func ThumbKey(key string) string {
	dot := strings.LastIndexByte(key, '.')
	if dot < 0 || strings.HasSuffix(key[:dot], "-thumb") {
		return key
	}
	return key[:dot] + "-thumb" + key[dot:]
}

// Describe returns what the key says of its picture; ok is false where it is no key of a whole picture.
func Describe(key string) (img model.Image, ok bool) {
	m := keyForm.FindStringSubmatch(key)
	if m == nil || m[3] != "" {
		return model.Image{}, false
	}
	width, errW := strconv.Atoi(m[1])
	height, errH := strconv.Atoi(m[2])
	return model.Image{Key: key, ThumbKey: ThumbKey(key), Width: width, Height: height}, errW == nil && errH == nil
}

// URL returns the absolute URL of the picture with the key; "" stays "".
func (f *Files) URL(key string) string {
	if key == "" {
		return ""
	}
	return f.public + Path + key
}

// Parse reads a URL that URL wrote, under this public URL or an earlier one, back into the picture it names; a thumbnail's URL
// names its picture. ok is false for anything else.
func Parse(text string) (img model.Image, ok bool) {
	u, err := url.Parse(text)
	if err != nil {
		return model.Image{}, false
	}
	at := strings.LastIndex(u.Path, Path)
	if at < 0 {
		return model.Image{}, false
	}
	return Describe(strings.Replace(u.Path[at+len(Path):], "-thumb.", ".", 1))
}

// Exists reports whether the picture with the key is stored.
func (f *Files) Exists(ctx context.Context, key string) (bool, error) {
	if !keyForm.MatchString(key) {
		return false, nil
	}
	return f.bucket.Exists(ctx, key)
}

// Content is a stored picture as it is served. The caller closes Body.
type Content struct {
	Body io.ReadSeekCloser
	Type string // image/jpeg or image/png
	ETag string // quoted; a key's content never changes
}

// Read opens the picture with the key, or fails with not_found.
func (f *Files) Read(ctx context.Context, key string) (Content, error) {
	m := keyForm.FindStringSubmatch(key)
	if m == nil {
		return Content{}, fault.New(fault.NotFoundError)
	}
	body, err := f.bucket.NewReader(ctx, key, nil)
	if err != nil {
		if gcerrors.Code(err) == gcerrors.NotFound {
			return Content{}, fault.New(fault.NotFoundError)
		}
		return Content{}, fmt.Errorf("reading picture %s: %w", key, err)
	}
	return Content{Body: body, Type: types[m[4]], ETag: strconv.Quote(key)}, nil
}

var types = map[string]string{"jpg": "image/jpeg", "png": "image/png"}

// Save takes an uploaded picture (JPEG, PNG, GIF or WebP, whatever it calls itself), turns it upright and stores it with its
// thumbnail, no larger than a screen needs. Fails with body_too_large over MaxBytes, and with validation_failed on the field
// "file" for anything that is not such a picture, has more than MaxPixels, or takes too much memory or time to decode.
func (f *Files) Save(ctx context.Context, r io.Reader) (model.Image, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return model.Image{}, err
	}
	if len(data) > MaxBytes {
		return model.Image{}, fault.New(fault.BodyTooLarge).Say("图片不能超过 8 MiB", "A picture may have 8 MiB at most")
	}
	select {
	case f.decoding <- struct{}{}:
		defer func() { <-f.decoding }()
	case <-ctx.Done():
		return model.Image{}, ctx.Err()
	}
	if err := ctx.Err(); err != nil { // both may have come at once: nobody waits for the picture any more
		return model.Image{}, err
	}
	img, err := decode(data)
	if err != nil {
		return model.Image{}, err
	}
	return f.put(ctx, hashOf(data), img)
}

// Draw stores a picture drawn by the program under a name of its own: the same name is the same key on every replica, and a
// picture that is there already is not drawn again. size is what draw will return.
func (f *Files) Draw(ctx context.Context, name string, size image.Point, draw func() image.Image) (model.Image, error) {
	hash := hashOf([]byte("drawn:" + name))
	known, _ := Describe(keyOf(hash, size, "jpg"))
	there, err := f.Exists(ctx, known.ThumbKey) // written last
	if err != nil || there {
		return known, err
	}
	img := draw()
	if got := img.Bounds().Size(); got != size {
		return model.Image{}, errors.New("picture " + name + " is not of the size it was said to be")
	}
	return f.put(ctx, hash, img)
}
