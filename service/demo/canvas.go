package demo

import (
	"image"
	"image/color"
	"math"

	"golang.org/x/image/draw"
	"golang.org/x/image/vector"
)

// side is the width and height of a picture in pixels; drawings count in hundredths of it.
const side = 800

type point struct{ x, y float64 }

// path is an outline of straight and curved pieces, closed when it is filled.
type path struct{ pieces [][]point } // 1 point: move; 2: line from the pen to it (the first is unused); 3: quadratic; 4: cubic

func at(x, y float64) *path { return (&path{}).move(x, y) }

func (p *path) move(x, y float64) *path {
	p.pieces = append(p.pieces, []point{{x, y}})
	return p
}

func (p *path) line(xy ...float64) *path {
	for i := 0; i+1 < len(xy); i += 2 {
		p.pieces = append(p.pieces, []point{{}, {xy[i], xy[i+1]}})
	}
	return p
}

func (p *path) quad(cx, cy, x, y float64) *path {
	p.pieces = append(p.pieces, []point{{}, {cx, cy}, {x, y}})
	return p
}

func (p *path) cubic(ax, ay, bx, by, x, y float64) *path {
	p.pieces = append(p.pieces, []point{{}, {ax, ay}, {bx, by}, {x, y}})
	return p
}

func poly(xy ...float64) *path { return at(xy[0], xy[1]).line(xy[2:]...) }

func box(x, y, w, h float64) *path { return poly(x, y, x+w, y, x+w, y+h, x, y+h) }

// round is a box with rounded corners.
func round(x, y, w, h, r float64) *path {
	return at(x+r, y).line(x+w-r, y).quad(x+w, y, x+w, y+r).line(x+w, y+h-r).quad(x+w, y+h, x+w-r, y+h).
		line(x+r, y+h).quad(x, y+h, x, y+h-r).line(x, y+r).quad(x, y, x+r, y)
}

func ellipse(cx, cy, rx, ry float64) *path {
	const k = 0.5523 // makes four cubics a circle
	return at(cx+rx, cy).cubic(cx+rx, cy+k*ry, cx+k*rx, cy+ry, cx, cy+ry).cubic(cx-k*rx, cy+ry, cx-rx, cy+k*ry, cx-rx, cy).
		cubic(cx-rx, cy-k*ry, cx-k*rx, cy-ry, cx, cy-ry).cubic(cx+k*rx, cy-ry, cx+rx, cy-k*ry, cx+rx, cy)
}

func circle(cx, cy, r float64) *path { return ellipse(cx, cy, r, r) }

// mirrored is the path seen in a mirror that stands in the middle of the picture.
func (p *path) mirrored() *path {
	out := &path{}
	for _, piece := range p.pieces {
		turned := make([]point, len(piece))
		for i, q := range piece {
			turned[i] = point{100 - q.x, q.y}
		}
		out.pieces = append(out.pieces, turned)
	}
	return out
}

// points flattens the path's first outline.
func (p *path) points() []point {
	const steps = 24
	var out []point
	for _, piece := range p.pieces {
		end := piece[len(piece)-1]
		if len(piece) < 3 {
			out = append(out, end)
			continue
		}
		from := out[len(out)-1]
		for i := 1; i <= steps; i++ {
			t := float64(i) / steps
			u := 1 - t
			if len(piece) == 3 {
				c := piece[1]
				out = append(out, point{u*u*from.x + 2*u*t*c.x + t*t*end.x, u*u*from.y + 2*u*t*c.y + t*t*end.y})
				continue
			}
			a, b := piece[1], piece[2]
			out = append(out, point{
				u*u*u*from.x + 3*u*u*t*a.x + 3*u*t*t*b.x + t*t*t*end.x,
				u*u*u*from.y + 3*u*u*t*a.y + 3*u*t*t*b.y + t*t*t*end.y,
			})
		}
	}
	return out
}

// canvas is a picture being drawn.
type canvas struct{ img *image.RGBA }

func newCanvas(ground color.RGBA) *canvas {
	c := &canvas{img: image.NewRGBA(image.Rect(0, 0, side, side))}
	draw.Draw(c.img, c.img.Bounds(), image.NewUniform(ground), image.Point{}, draw.Src)
	return c
}

// fill paints what is inside of the outlines. Only the part of the picture that they touch is worked on.
func (c *canvas) fill(col color.Color, outlines ...*path) {
	const scale = side / 100.0
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, o := range outlines {
		for _, piece := range o.pieces {
			for i, q := range piece {
				if len(piece) > 1 && i == 0 {
					continue
				}
				low, high = point{min(low.x, q.x), min(low.y, q.y)}, point{max(high.x, q.x), max(high.y, q.y)}
			}
		}
	}
	area := image.Rect(int(low.x*scale)-1, int(low.y*scale)-1, int(high.x*scale)+2, int(high.y*scale)+2)
	if area.Empty() {
		return
	}
	ras := vector.NewRasterizer(area.Dx(), area.Dy())
	px := func(q point) (x, y float32) {
		return float32(q.x*scale - float64(area.Min.X)), float32(q.y*scale - float64(area.Min.Y))
	}
	for _, o := range outlines {
		for _, piece := range o.pieces {
			ends := make([]float32, 0, 6)
			for _, q := range piece[min(1, len(piece)-1):] {
				x, y := px(q)
				ends = append(ends, x, y)
			}
			switch len(piece) {
			case 1:
				ras.MoveTo(ends[0], ends[1])
			case 2:
				ras.LineTo(ends[0], ends[1])
			case 3:
				ras.QuadTo(ends[0], ends[1], ends[2], ends[3])
			case 4:
				ras.CubeTo(ends[0], ends[1], ends[2], ends[3], ends[4], ends[5])
			}
		}
		ras.ClosePath()
	}
	ras.Draw(c.img, area, image.NewUniform(col), image.Point{})
}

// stroke draws along the path with a round pen.
func (c *canvas) stroke(col color.Color, width float64, p *path) {
	points := p.points()
	r := width / 2
	parts := make([]*path, 0, 2*len(points))
	for i, q := range points {
		parts = append(parts, circle(q.x, q.y, r))
		if i == 0 {
			continue
		}
		from := points[i-1]
		dx, dy := q.x-from.x, q.y-from.y
		long := math.Hypot(dx, dy)
		if long == 0 {
			continue
		}
		nx, ny := -dy/long*r, dx/long*r
		// The same turning as circle's, so that overlaps add up instead of cancelling.
		parts = append(parts, poly(from.x-nx, from.y-ny, q.x-nx, q.y-ny, q.x+nx, q.y+ny, from.x+nx, from.y+ny))
	}
	c.fill(col, parts...)
}

func rgb(hex uint32) color.RGBA {
	return color.RGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 0xff}
}

// mix is a colour between two: t of b.
func mix(a, b color.RGBA, t float64) color.RGBA {
	part := func(x, y uint8) uint8 { return uint8(float64(x)*(1-t) + float64(y)*t + 0.5) }
	return color.RGBA{part(a.R, b.R), part(a.G, b.G), part(a.B, b.B), 0xff}
}

var (
	white = rgb(0xffffff)
	ink   = rgb(0x1f2937)
	teal  = rgb(0x0f766e)
)

func lighter(c color.RGBA, t float64) color.RGBA { return mix(c, white, t) }
func darker(c color.RGBA, t float64) color.RGBA  { return mix(c, ink, t) }
