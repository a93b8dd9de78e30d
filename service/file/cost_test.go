package file

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tidemall/tidemall/service/fault"
)

// segment is a marker with its content.
func segment(marker byte, content ...byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(content)+2)), content...)
}

// frame is the header of a picture; factors has the sampling factors of each component.
func frame(marker byte, width, height int, factors ...byte) []byte {
	content := []byte{8, byte(height >> 8), byte(height), byte(width >> 8), byte(width), byte(len(factors))}
	for i, f := range factors {
		content = append(content, byte(i+1), f, 0)
	}
	return segment(marker, content...)
}

var (
	start, end = []byte{0xff, 0xd8}, []byte{0xff, 0xd9}
	// table is the shortest Huffman table: the bit 0 means the value 0.
	table = segment(0xc4, append([]byte{0, 1}, make([]byte, 16)...)...)
	// scan is a scan of the first coefficients of 8 × 8 blocks, all 0: 64 bits.
	scan = append(segment(0xda, 1, 1, 0, 0, 0, 0), make([]byte, 8)...)
)

// progressive is a grey picture of 64 × 64 pixels in so many scans.
func progressive(scans int) []byte {
	return slices.Concat(start, frame(0xc2, 64, 64, 0x11), table, bytes.Repeat(scan, scans), end)
}

func adobe(transform byte) []byte {
	return segment(0xee, append([]byte("Adobe\x00\x64\x00\x00\x00\x00"), transform)...)
}

// pngHead is a picture's header and nothing else.
func pngHead(width, height int, depth, kind, interlace byte) []byte {
	head := binary.BigEndian.AppendUint32([]byte("IHDR"), uint32(width))
	head = append(binary.BigEndian.AppendUint32(head, uint32(height)), depth, kind, 0, 0, interlace)
	out := binary.BigEndian.AppendUint32([]byte("\x89PNG\r\n\x1a\n"), uint32(len(head)-4))
	out = binary.BigEndian.AppendUint32(append(out, head...), crc32.ChecksumIEEE(head))
	return append(out, 0, 0, 0, 0, 'I', 'D', 'A', 'T', 0x35, 0xaf, 0x06, 0x1e) // where the header's reader stops
}

func webp(kind string, content ...byte) []byte {
	chunk := append(binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(content))), content...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(chunk)+4)), append([]byte("WEBP"), chunk...)...)
}

// The sizes are worked out by hand: blocks of 64 samples for a JPEG, pixels for the others.
func TestCostOfDecoding(t *testing.T) {
	for name, c := range map[string]struct {
		data   []byte
		memory int64
	}{
		"a phone's 40 million pixels":    {slices.Concat(start, frame(0xc0, 8000, 5000, 0x22, 0x11, 0x11)), 500 * 313 * 6 * 64},
		"with full colour":               {slices.Concat(start, frame(0xc0, 8000, 5000, 0x11, 0x11, 0x11)), 1000 * 625 * 3 * 64},
		"grey, whatever its factors":     {slices.Concat(start, frame(0xc0, 8000, 5000, 0x44)), 1000 * 625 * 64},
		"progressive, 12 million pixels": {slices.Concat(start, frame(0xc2, 4000, 3000, 0x22, 0x11, 0x11)), 250 * 188 * 6 * 64 * 5},
		"progressive, 40 million pixels": {slices.Concat(start, frame(0xc2, 6300, 6300, 0x11, 0x11, 0x11)), 788 * 788 * 3 * 64 * 5},
		"RGB":                            {slices.Concat(start, adobe(0), frame(0xc0, 4000, 3000, 0x11, 0x11, 0x11)), 500*375*3*64 + 4*12_000_000},
		"not RGB":                        {slices.Concat(start, adobe(1), frame(0xc0, 4000, 3000, 0x11, 0x11, 0x11)), 500 * 375 * 3 * 64},
		"CMYK":                           {slices.Concat(start, adobe(0), frame(0xc0, 4000, 3000, 0x22, 0x11, 0x11, 0x22)), 250*188*10*64 + 4*12_000_000},
		"the first frame counts":         {slices.Concat(start, frame(0xc2, 4000, 3000, 0x11), frame(0xc0, 8, 8, 0x11)), 500 * 375 * 64 * 5},
		"PNG, 8 bits":                    {pngHead(8000, 5000, 8, 6, 0), 4 * (40_000_000 + 2*8000)},
		"PNG, 16 bits":                   {pngHead(8000, 5000, 16, 6, 0), 8 * (40_000_000 + 2*8000)},
		"PNG, 16 bits grey":              {pngHead(4000, 3000, 16, 0, 0), 8 * (12_000_000 + 2*4000)},
		"PNG, interlaced":                {pngHead(4000, 3000, 8, 2, 1), 4 * (2*12_000_000 + 2*4000)},
		"PNG, one row":                   {pngHead(40_000_000, 1, 16, 6, 0), 8 * 3 * 40_000_000},
		"GIF":                            {[]byte("GIF89a\xa0\x0f\xb8\x0b\x00\x00\x00"), 2 * 12_000_000},
		"WebP":                           {webp("VP8 ", 0x10, 0, 0, 0x9d, 0x01, 0x2a, 0xa0, 0x0f, 0xb8, 0x0b), 2 * 12_000_000},
		"WebP, lossless":                 {webp("VP8L", 0x2f, 0x9f, 0xcf, 0xed, 0x02), 8 * 12_000_000},
		"WebP, extended":                 {webp("VP8X", 0x10, 0, 0, 0, 0x9f, 0x0f, 0, 0xb7, 0x0b, 0), 8 * 12_000_000},
	} {
		head, format, err := image.DecodeConfig(bytes.NewReader(c.data))
		if bytes.HasPrefix(c.data, start) {
			head, format, err = image.Config{}, "jpeg", nil // the head alone; what is read is the frame
			for marker, content := range segments(c.data) {
				if marker == 0xc0 || marker == 0xc2 {
					head.Height, head.Width = int(binary.BigEndian.Uint16(content[1:])), int(binary.BigEndian.Uint16(content[3:]))
					break
				}
			}
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, ok := costOf(head, format, c.data); got.memory != c.memory || !ok {
			t.Errorf("%s: %d bytes (%v), want %d", name, got.memory, ok, c.memory)
		}
	}
}

func TestScansAreCountedAsTheyAreRead(t *testing.T) {
	head := slices.Concat(start, frame(0xc0, 64, 64, 0x11))
	sos := segment(0xda, 1, 1, 0, 0, 0, 0)
	for name, c := range map[string]struct {
		data  []byte
		scans int
	}{
		"none":                        {head, 0},
		"two, and no end":             {slices.Concat(head, scan, scan), 2},
		"stuffed bytes and restarts":  {slices.Concat(head, sos, []byte{1, 0xff, 0, 0xda, 2, 0xff, 0xd0, 3, 0xff, 0xd7, 0xff, 0, 0xda}, scan, end), 2},
		"fill bytes":                  {slices.Concat(head, []byte{0xff, 0xff, 0xff}, scan, []byte{0xff, 0xff}, sos, end), 2},
		"rubbish between":             {slices.Concat(head, []byte{1, 2, 3, 0xda}, scan, []byte{0xda, 0}, scan, end), 2},
		"in another segment":          {slices.Concat(start, segment(0xe1, slices.Concat(start, scan, end)...), frame(0xc0, 64, 64, 0x11), scan, end), 1},
		"behind the end":              {slices.Concat(head, scan, end, scan, start, scan), 1},
		"cut off in a marker":         {slices.Concat(head, scan, []byte{0xff}), 1},
		"cut off in fill bytes":       {slices.Concat(head, scan, []byte{0xff, 0xff, 0xff}), 1},
		"cut off in a length":         {slices.Concat(head, scan, sos[:3]), 1},
		"cut off in a header":         {slices.Concat(head, scan, sos[:len(sos)-1]), 1},
		"a length that is too short":  {slices.Concat(head, scan, []byte{0xff, 0xda, 0, 1}, scan), 1},
		"a start among the segments":  {slices.Concat(head, scan, segment(0xd8, 1, 2), scan, end), 2},
		"as many as it takes to load": {progressive(1000), 1000},
	} {
		if got, _ := costOfJPEG(1, c.data); got.scans != c.scans || got.scanned != int64(c.scans*64*64) {
			t.Errorf("%s: %d scans of %d samples, want %d", name, got.scans, got.scanned, c.scans)
		}
	}
	for n := range head { // nothing that is cut off is more than refused
		costOfJPEG(1, head[:n])
	}
}

// The cost is not under what decoding allocates, nor far over it.
func TestCostIsWhatDecodingTakes(t *testing.T) {
	const side = 1024
	noisy := image.NewNRGBA64(image.Rect(0, 0, side, side))
	for i := range noisy.Pix {
		noisy.Pix[i] = byte(i * 7919 >> 3)
	}
	narrow := image.NewNRGBA(noisy.Bounds())
	for i := range narrow.Pix {
		narrow.Pix[i] = noisy.Pix[i]
	}
	write := func(encode func(*bytes.Buffer) error) []byte {
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	manyBlocks := append(segment(0xda, 1, 1, 0, 0, 0, 0), make([]byte, side*side/64/8)...)
	for name, data := range map[string][]byte{
		"JPEG":             write(func(b *bytes.Buffer) error { return jpeg.Encode(b, narrow, nil) }),
		"progressive JPEG": slices.Concat(start, frame(0xc2, side, side, 0x11), table, manyBlocks, end),
		"PNG of 8 bits":    write(func(b *bytes.Buffer) error { return png.Encode(b, narrow) }),
		"PNG of 16 bits":   write(func(b *bytes.Buffer) error { return png.Encode(b, noisy) }),
	} {
		head, format, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		cost, ok := costOf(head, format, data)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, _, err := image.Decode(bytes.NewReader(data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		runtime.ReadMemStats(&after)
		const besides = 256 << 10 // tables and readers
		if took := int64(after.TotalAlloc - before.TotalAlloc); !ok || took > cost.memory+besides || cost.memory > took+took/5 {
			t.Errorf("%s: %d bytes, decoding allocates %d", name, cost.memory, took)
		}
	}
}

func TestDecodeRefusesWhatCostsTooMuch(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		says string // in English; empty: it is taken
	}{
		"64 scans":                       {progressive(64), ""},
		"65 scans":                       {progressive(65), "too many scans"},
		"progressive, 40 million pixels": {slices.Concat(start, segment(0xe0, []byte("JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00")...), frame(0xc2, 6300, 6300, 0x11, 0x11, 0x11), scan, end), "too much memory"},
		"26 scans of 40 million samples": {slices.Concat(start, frame(0xc2, 6300, 6300, 0x11), bytes.Repeat(scan, 26), end), "too many scans"},
		"40 million pixels of 16 bits":   {pngHead(8000, 5000, 16, 6, 0), "too much memory"},
		"one row of 40 million":          {pngHead(40_000_000, 1, 16, 6, 0), "too much memory"},
		"41 million pixels":              {pngHead(8200, 5000, 8, 6, 0), "too many pixels"},
	} {
		img, err := decode(c.data)
		if c.says == "" {
			if err != nil || img.At(9, 9) != (color.RGBA{128, 128, 128, 255}) && img.At(9, 9) != (color.Gray{128}) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var known *fault.Error
		if !errors.As(err, &known) || known.Code != fault.ValidationFailed || len(known.Fields) != 1 || known.Fields[0].Field != "file" ||
			!strings.Contains(known.Fields[0].Message.EN, c.says) || known.Fields[0].Message.ZH == "" {
			t.Errorf("%s: %v, want that it has %s", name, err, c.says)
		}
	}
}

// Whoever hangs up while pictures of others are decoded does not have theirs decoded afterwards.
func TestNobodysPictureIsNotDecoded(t *testing.T) {
	bucket, err := OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := New(bucket, "https://shop.example")
	t.Cleanup(func() {
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
	save := func(ctx context.Context) error {
		_, err := files.Save(ctx, strings.NewReader("no picture: decoding it fails otherwise"))
		return err
	}
	for range cap(files.decoding) {
		files.decoding <- struct{}{}
	}
	ctx, hangUp := context.WithCancel(t.Context())
	waits := make(chan error)
	go func() { waits <- save(ctx) }()
	hangUp()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("one that waited: %v", err)
	}
	for range cap(files.decoding) {
		<-files.decoding
	}
	for range 100 { // a place is free, and the caller gone: either could be seen first
		if err := save(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("one that finds a place: %v", err)
		}
	}
	if err := save(t.Context()); !fault.Is(err, fault.ValidationFailed) {
		t.Errorf("the places are not free again: %v", err)
	}
}
