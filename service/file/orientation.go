package file

import (
	"bytes"
	"encoding/binary"
	"image"
)

// orientation returns the EXIF orientation of a JPEG, 1 to 8, and 1 where it says none. Phones store pictures as the sensor lay
// and say in tag 0x0112 how to turn them; re-encoding drops the tag, so the pixels must be turned.
func orientation(data []byte) int {
	for marker, content := range segments(data) {
		if marker == markerSOS { // the scan begins: no more headers
			return 1
		}
		if marker == markerAPP1 && bytes.HasPrefix(content, []byte("Exif\x00\x00")) {
			return tiffOrientation(content[6:])
		}
	}
	return 1
}

func tiffOrientation(tiff []byte) int {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 1
	}
	entries := int64(order.Uint16(tiff[at:]))
	for i := range entries {
		entry := at + 2 + 12*i
		if entry+12 > int64(len(tiff)) {
			return 1
		}
		if order.Uint16(tiff[entry:]) != 0x0112 {
			continue
		}
		if v := int(order.Uint16(tiff[entry+8:])); v >= 1 && v <= 8 {
			return v
		}
		return 1
	}
	return 1
}

// upright turns and mirrors a picture as the EXIF orientation says.
func upright(img image.Image, orientation int) image.Image {
	if orientation == 1 {
		return img
	}
	from := img.Bounds()
	w, h := from.Dx(), from.Dy()
	size := image.Rect(0, 0, w, h)
	if orientation >= 5 {
		size = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(size)
	for y := range size.Dy() {
		for x := range size.Dx() {
			sx, sy := x, y // where the pixel at x, y comes from
			switch orientation {
			case 2:
				sx, sy = w-1-x, y
			case 3:
				sx, sy = w-1-x, h-1-y
			case 4:
				sx, sy = x, h-1-y
			case 5:
				sx, sy = y, x
			case 6:
				sx, sy = y, h-1-x
			case 7:
				sx, sy = w-1-y, h-1-x
			case 8:
				sx, sy = w-1-y, x
			}
			out.Set(x, y, img.At(from.Min.X+sx, from.Min.Y+sy))
		}
	}
	return out
}
