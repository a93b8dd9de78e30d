package file_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/file"
)

func open(t *testing.T) (files *file.Files, dir string) {
	t.Helper()
	dir = t.TempDir()
	bucket, err := file.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	files = file.New(bucket, "https://shop.example/")
	t.Cleanup(func() {
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
	return files, dir
}

func picture(w, h int, c color.Color) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, c)
		}
	}
	return img
}

var red, blue = color.NRGBA{0xe0, 0, 0, 0xff}, color.NRGBA{0, 0, 0xe0, 0xff}

func encoded(t *testing.T, write func(w io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSaveKeepsOnlyPictures(t *testing.T) {
	pngHead := encoded(t, func(w io.Writer) error { return png.Encode(w, picture(4, 4, red)) })
	huge := bytes.Clone(pngHead)
	binary.BigEndian.PutUint32(huge[16:], 60_000) // the header claims 3.6 billion pixels
	binary.BigEndian.PutUint32(huge[20:], 60_000)
	for name, tc := range map[string]struct {
		data []byte
		code fault.Code
	}{
		"svg":       {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), fault.ValidationFailed},
		"html":      {[]byte("<!doctype html><script>alert(1)</script>"), fault.ValidationFailed},
		"empty":     {nil, fault.ValidationFailed},
		"truncated": {pngHead[:len(pngHead)-30], fault.ValidationFailed},
		"bomb":      {huge, fault.ValidationFailed},
		"too large": {append(bytes.Clone(pngHead), make([]byte, file.MaxBytes)...), fault.BodyTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			files, dir := open(t)
			if _, err := files.Save(t.Context(), bytes.NewReader(tc.data)); !fault.Is(err, tc.code) {
				t.Errorf("got %v, want %s", err, tc.code)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
				t.Errorf("%d files were left behind (%v)", len(left), err)
			}
		})
	}
}

func TestSaveReencodesAndScales(t *testing.T) {
	see := picture(10, 10, color.NRGBA{0, 0xff, 0, 0x40})
	for name, tc := range map[string]struct {
		data          []byte
		width, height int
		kind          string
		thumbWidth    int
	}{
		"png":            {encoded(t, func(w io.Writer) error { return png.Encode(w, picture(600, 300, red)) }), 600, 300, "image/jpeg", 400},
		"large jpeg":     {encoded(t, func(w io.Writer) error { return jpeg.Encode(w, picture(3200, 800, red), nil) }), 1600, 400, "image/jpeg", 400},
		"gif":            {encoded(t, func(w io.Writer) error { return gif.Encode(w, picture(20, 10, red), nil) }), 20, 10, "image/jpeg", 20},
		"see-through":    {encoded(t, func(w io.Writer) error { return png.Encode(w, see) }), 10, 10, "image/png", 10},
		"trailing bytes": {append(encoded(t, func(w io.Writer) error { return png.Encode(w, picture(8, 8, red)) }), "<script>"...), 8, 8, "image/jpeg", 8},
	} {
		t.Run(name, func(t *testing.T) {
			files, _ := open(t)
			img, err := files.Save(t.Context(), bytes.NewReader(tc.data))
			if err != nil {
				t.Fatal(err)
			}
			if img.Width != tc.width || img.Height != tc.height {
				t.Errorf("got %d×%d, want %d×%d", img.Width, img.Height, tc.width, tc.height)
			}
			for key, width := range map[string]int{img.Key: tc.width, img.ThumbKey: tc.thumbWidth} {
				content, err := files.Read(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				data, err := io.ReadAll(content.Body)
				if err != nil || content.Body.Close() != nil {
					t.Fatal(err)
				}
				head, _, err := image.DecodeConfig(bytes.NewReader(data))
				if err != nil || head.Width != width || content.Type != tc.kind || bytes.Contains(data, []byte("<script>")) {
					t.Errorf("%s: width %d, type %s (%v), want %d, %s, without the bytes behind it", key, head.Width, content.Type, err, width, tc.kind)
				}
			}
			if back, ok := file.Parse(files.URL(img.ThumbKey)); !ok || back != img {
				t.Errorf("the URL reads back as %v %v, want %v", back, ok, img)
			}
		})
	}
}

// A phone held upright stores a lying picture and says "turn me" in EXIF. Orientation 6: the top of the picture is at the right.
func TestSaveTurnsPicturesUpright(t *testing.T) {
	lying := picture(160, 80, blue)
	for y := range 80 {
		for x := range 80 {
			lying.Set(x, y, red) // the left half
		}
	}
	plain := encoded(t, func(w io.Writer) error { return jpeg.Encode(w, lying, nil) })
	for value, want := range map[byte]struct {
		width, height int
		x, y          int // where red is to be found
	}{1: {160, 80, 20, 40}, 2: {160, 80, 140, 40}, 3: {160, 80, 140, 40}, 4: {160, 80, 20, 40}, 5: {80, 160, 40, 20}, 6: {80, 160, 40, 20}, 7: {80, 160, 40, 140}, 8: {80, 160, 40, 140}} {
		exif := append([]byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"), value, 0, 0, 0, 0, 0, 0)
		data := append([]byte{0xff, 0xd8, 0xff, 0xe1, 0, byte(len(exif) + 2)}, exif...)
		data = append(data, plain[2:]...)
		files, _ := open(t)
		img, err := files.Save(t.Context(), bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		content, err := files.Read(t.Context(), img.Key)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := image.Decode(content.Body)
		if err != nil || content.Body.Close() != nil {
			t.Fatal(err)
		}
		r, _, b, _ := got.At(want.x, want.y).RGBA()
		if img.Width != want.width || img.Height != want.height || r < b {
			t.Errorf("orientation %d: %d×%d, red %d blue %d at %d,%d", value, img.Width, img.Height, r, b, want.x, want.y)
		}
	}
}

func TestReadAndParseRefuseWhatIsNoKey(t *testing.T) {
	files, dir := open(t)
	if err := os.WriteFile(dir+"/secret.html", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "secret.html", "../" + dir + "/secret.html", "..", strings.Repeat("a", 32) + "-1x1.svg", strings.Repeat("a", 32) + "-1x1.jpg"} {
		if _, err := files.Read(t.Context(), key); !fault.Is(err, fault.NotFoundError) {
			t.Errorf("%q: got %v, want not_found", key, err)
		}
	}
	for _, text := range []string{"", "https://shop.example/files/x.png", "https://elsewhere.example/a.jpg", "javascript:alert(1)", "::"} {
		if img, ok := file.Parse(text); ok {
			t.Errorf("%q reads as %v", text, img)
		}
	}
}

func TestDrawDrawsOnce(t *testing.T) {
	files, _ := open(t)
	drawn := 0
	draw := func() image.Image { drawn++; return picture(50, 40, blue) }
	for range 2 {
		img, err := files.Draw(t.Context(), "a mug", image.Pt(50, 40), draw)
		if err != nil {
			t.Fatal(err)
		}
		if there, err := files.Exists(t.Context(), img.Key); err != nil || !there || img.Width != 50 {
			t.Errorf("%v is stored: %v (%v)", img, there, err)
		}
	}
	if drawn != 1 {
		t.Errorf("drawn %d times, want 1", drawn)
	}
}
