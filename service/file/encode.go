package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // registers a format that is read
	"image/jpeg"
	"image/png"

	"gocloud.dev/blob"
	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // registers a format that is read

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
)

// jpegQuality keeps edges of text clean at about a tenth of a PNG's size.
const jpegQuality = 85

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// decode reads a picture by its content and turns it upright. What decoding would cost is worked out first: a few bytes can ask for
// any amount of memory and time.
func decode(data []byte) (image.Image, error) {
	refuse := func(zh, en string) error {
		return fault.New(fault.ValidationFailed).With("file", fault.FieldFormat, zh, en)
	}
	head, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, refuse("不是可识别的图片，请上传 JPEG、PNG、GIF 或 WebP", "is not a JPEG, PNG, GIF or WebP picture")
	}
	if head.Width < 1 || head.Height < 1 || head.Width > MaxPixels/head.Height {
		return nil, refuse("图片尺寸过大，最多 4000 万像素", "has too many pixels; 40 million at most")
	}
	cost, ok := costOf(head, format, data)
	switch {
	case !ok:
		return nil, refuse("图片已损坏", "is a damaged picture")
	case cost.scans > maxScans || cost.scanned > maxScanned:
		return nil, refuse("JPEG 的扫描次数过多，请另存为普通（非渐进式）JPEG 后上传", "is a JPEG of too many scans; save it as an ordinary (not progressive) JPEG")
	case cost.memory > maxDecoded:
		return nil, refuse("图片解码占用内存过多，请缩小尺寸，或另存为普通（非渐进式）JPEG 后上传", "takes too much memory to decode; make it smaller, or save it as an ordinary (not progressive) JPEG")
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, refuse("图片已损坏", "is a damaged picture")
	}
	if format == "jpeg" {
		return upright(fit(img, maxSide), orientation(data)), nil // scaled first: there is less to turn
	}
	return img, nil
}

// put stores a picture and its thumbnail. The thumbnail is written last: where it is, both are.
func (f *Files) put(ctx context.Context, hash string, img image.Image) (model.Image, error) {
	img = fit(img, maxSide)
	format := "jpg"
	if !opaque(img) {
		format = "png"
	}
	made, ok := Describe(keyOf(hash, img.Bounds().Size(), format))
	if !ok {
		return model.Image{}, fmt.Errorf("picture of %v has no key", img.Bounds().Size())
	}
	for _, part := range []struct {
		key string
		img image.Image
	}{{made.Key, img}, {made.ThumbKey, fit(img, thumbSide)}} {
		data, err := encode(part.img, format)
		if err != nil {
			return model.Image{}, fmt.Errorf("encoding picture: %w", err)
		}
		if err := f.bucket.WriteAll(ctx, part.key, data, &blob.WriterOptions{ContentType: types[format]}); err != nil {
			return model.Image{}, fmt.Errorf("storing picture: %w", err)
		}
	}
	return made, nil
}

func encode(img image.Image, format string) ([]byte, error) {
	var b bytes.Buffer
	var err error
	if format == "png" {
		err = png.Encode(&b, img)
	} else {
		err = jpeg.Encode(&b, img, &jpeg.Options{Quality: jpegQuality})
	}
	return b.Bytes(), err
}

// fit scales a picture down so that neither side is longer than side; smaller ones stay as they are. It halves as often as it
// can, which is quick and averages whole pixels, and leaves the rest to a better filter.
func fit(img image.Image, side int) image.Image {
	for {
		from := img.Bounds()
		long := max(from.Dx(), from.Dy())
		if long <= side {
			return img
		}
		filter, target := draw.Interpolator(draw.CatmullRom), side
		if long >= 2*side {
			filter, target = draw.ApproxBiLinear, (long+1)/2
		}
		to := image.Rect(0, 0, max(1, from.Dx()*target/long), max(1, from.Dy()*target/long))
		out := image.NewRGBA(to)
		filter.Scale(out, to, img, from, draw.Src, nil)
		img = out
	}
}

func opaque(img image.Image) bool {
	if o, ok := img.(interface{ Opaque() bool }); ok {
		return o.Opaque()
	}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA).A != 0xff {
				return false
			}
		}
	}
	return true
}
