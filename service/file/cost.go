package file

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"iter"
)

const (
	// maxDecoded is how many bytes of memory decoding a picture may take: enough for MaxPixels of a JPEG as phones write it or of a
	// PNG with 8 bits a channel, and for some 26 million pixels of a progressive JPEG or 25 million of a PNG with 16 bits a channel.
	maxDecoded = 200_000_000
	// maxScans is how many scans a JPEG may have. Each goes over the whole picture, however few bytes it has, and image/jpeg sets no
	// limit; encoders write one, or up to about 20 in a progressive JPEG.
	maxScans = 64
	// maxScanned is how many samples all scans together may go over: a few seconds' worth, and 25 scans of the largest progressive
	// JPEG that maxDecoded lets pass.
	maxScanned = 1_000_000_000
)

// cost is what decoding a picture takes.
type cost struct {
	memory int64 // in bytes
	// Of a JPEG, which alone may have several scans:
	scans   int
	scanned int64 // samples, if each scan goes over all
}

// costOf works out the cost before a pixel is decoded. ok is false where the picture cannot be decoded.
func costOf(head image.Config, format string, data []byte) (c cost, ok bool) {
	width, pixels := int64(head.Width), int64(head.Width)*int64(head.Height)
	switch format {
	case "jpeg":
		return costOfJPEG(pixels, data)
	case "png":
		bytesEach := int64(4)
		switch head.ColorModel {
		case color.RGBA64Model, color.NRGBA64Model, color.Gray16Model:
			bytesEach = 8 // Gray16 too: a transparent colour makes it NRGBA64
		}
		c.memory = bytesEach * (pixels + 2*width) // and two rows
		if len(data) < 29 || string(data[12:16]) != "IHDR" || data[28] != 0 {
			c.memory += bytesEach * pixels // interlaced: the seven passes are pictures of their own
		}
	case "webp":
		c.memory = 8 * pixels // lossless, also its alpha alone: NRGBA, and again while colours are looked up
		if len(data) >= 16 && string(data[12:16]) == "VP8 " {
			c.memory = 2 * pixels
		}
	default: // GIF: the palette's indices, and again where they are interlaced
		c.memory = 2 * pixels
	}
	return c, true
}

// costOfJPEG goes by the frame's header. Decoding keeps the samples of all components, also those that fill up the last blocks; of a
// progressive JPEG every coefficient too, with 4 bytes; and of CMYK and RGB a second picture.
func costOfJPEG(pixels int64, data []byte) (c cost, ok bool) {
	var adobe, progressive bool
	var frame []byte
	for marker, content := range segments(data) {
		switch {
		case marker == markerSOS:
			c.scans++
		case marker >= markerSOF0 && marker <= markerSOF2 && frame == nil:
			frame, progressive = content, marker == markerSOF2
		case marker == markerAPP14 && len(content) >= 12 && bytes.HasPrefix(content, []byte("Adobe")):
			adobe = adobe || content[11] == 0 // the components are RGB or CMYK
		}
	}
	samples, components := samplesOf(frame)
	c.memory, c.scanned = samples, int64(c.scans)*samples
	if progressive {
		c.memory += 4 * samples
	}
	if components == 4 || components == 3 && (adobe || frame[6] == 'R' && frame[9] == 'G' && frame[12] == 'B') {
		c.memory += 4 * pixels
	}
	return c, samples > 0
}

// samplesOf counts the samples that a frame of a JPEG has in whole blocks; 0 where its header makes no sense.
func samplesOf(frame []byte) (samples int64, components int) {
	if len(frame) < 9 || len(frame) != 6+3*int(frame[5]) {
		return 0, 0
	}
	components = int(frame[5])
	height, width := int64(binary.BigEndian.Uint16(frame[1:])), int64(binary.BigEndian.Uint16(frame[3:]))
	factors := func(i int) (h, v int64) {
		if components == 1 {
			return 1, 1 // as a lone component's are taken, whatever they say
		}
		return int64(frame[7+3*i] >> 4), int64(frame[7+3*i] & 15)
	}
	h, v := factors(0)
	if h == 0 || v == 0 {
		return 0, 0
	}
	units := ((width + 8*h - 1) / (8 * h)) * ((height + 8*v - 1) / (8 * v))
	for i := range components {
		h, v := factors(i)
		samples += 64 * units * h * v
	}
	return samples, components
}

// Markers of a JPEG (ITU T.81, table B.1).
const (
	markerSOF0  = 0xc0
	markerSOF2  = 0xc2
	markerRST0  = 0xd0
	markerRST7  = 0xd7
	markerEOI   = 0xd9
	markerSOS   = 0xda
	markerAPP1  = 0xe1
	markerAPP14 = 0xee
)

// segments yields the marker and the content of every segment of a JPEG up to its end, and finds those that image/jpeg finds: what
// follows a scan's header is skipped up to the next marker, and so is anything that is in no segment.
func segments(data []byte) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		for at := 2; at < len(data); { // behind the start of the image
			mark := bytes.IndexByte(data[at:], 0xff)
			if mark < 0 {
				return
			}
			for at += mark; at < len(data) && data[at] == 0xff; at++ { // a marker may have several, to fill up
			}
			if at+3 > len(data) {
				return
			}
			marker := data[at]
			at++
			if marker == 0 || marker >= markerRST0 && marker <= markerRST7 { // part of a scan
				continue
			}
			end := at + int(binary.BigEndian.Uint16(data[at:]))
			if marker == markerEOI || end < at+2 || end > len(data) || !yield(marker, data[at+2:end]) {
				return
			}
			at = end
		}
	}
}
