package demo

import (
	"image"
	"image/color"
)

// picture says how a product looks: a drawing of a thing in a colour before a quiet ground.
type picture struct {
	thing  func(c *canvas, col color.RGBA)
	col    color.RGBA
	ground color.RGBA
}

// Grounds, all so light that any thing stands out before them.
var (
	mist  = rgb(0xf0fdfa)
	sand  = rgb(0xfbf5ec)
	cloud = rgb(0xf1f5f9)
	petal = rgb(0xfdf3f2)
	leaf  = rgb(0xf1f7ee)
	dusk  = rgb(0xf3f2fa)
)

func (p picture) draw() image.Image {
	c := newCanvas(p.ground)
	halo := darker(p.ground, 0.05)
	c.fill(halo, circle(50, 47, 39))
	c.fill(darker(p.ground, 0.1), ellipse(50, 84, 27, 2.6))
	p.thing(c, p.col)
	return c.img
}

func shirt(c *canvas, col color.RGBA) {
	sleeve := at(33, 27).line(15, 40, 23, 51, 34, 44)
	c.fill(darker(col, 0.12), sleeve, sleeve.mirrored())
	c.fill(col, at(33, 27).quad(41, 26, 42, 24).quad(50, 33, 58, 24).quad(59, 26, 67, 27).line(68, 46, 67, 77).quad(50, 80, 33, 77).line(32, 46))
	c.stroke(darker(col, 0.25), 1, at(42, 24).quad(50, 34, 58, 24))
	c.fill(teal, round(56, 42, 6, 6, 1))
	c.stroke(darker(col, 0.1), 0.6, at(34, 73).quad(50, 76, 66, 73))
}

func hoodie(c *canvas, col color.RGBA) {
	sleeve := at(33, 31).quad(22, 36, 18, 66).line(26, 69, 36, 46)
	c.fill(darker(col, 0.12), sleeve, sleeve.mirrored())
	c.fill(darker(col, 0.2), ellipse(50, 27, 15, 11))
	c.fill(col, at(33, 31).quad(42, 28, 43, 30).quad(50, 38, 57, 30).quad(58, 28, 67, 31).line(66, 76).quad(50, 79, 34, 76))
	c.fill(darker(col, 0.42), ellipse(50, 29, 8, 5.5))
	c.fill(darker(col, 0.1), poly(40, 58, 60, 58, 65, 70, 35, 70))
	c.stroke(white, 0.9, at(46, 35).line(45.5, 47))
	c.stroke(white, 0.9, at(54, 35).line(54.5, 45))
	c.fill(darker(col, 0.2), box(34, 73, 32, 4))
}

func sneaker(c *canvas, col color.RGBA) {
	c.fill(white, at(15, 66).line(85, 66).quad(88, 74, 80, 76).line(20, 76).quad(14, 75, 15, 66))
	c.fill(col, at(16, 67).line(18, 44).quad(24, 47, 32, 45).quad(36, 40, 42, 38).quad(58, 55, 76, 57).quad(85, 59, 85, 67))
	c.fill(darker(col, 0.2), at(16, 67).line(17.5, 52).quad(28, 53, 33, 67))
	c.fill(teal, at(44, 66).quad(52, 60, 62, 53.5).line(67, 55).quad(58, 62, 55, 66))
	for i := range 4 {
		x, y := 40+5*float64(i), 43+3.8*float64(i)
		c.stroke(white, 1.3, at(x, y+3).line(x+5, y-1))
	}
	c.stroke(darker(white, 0.2), 0.6, at(16, 71).line(85, 71))
}

func tote(c *canvas, col color.RGBA) {
	c.stroke(darker(col, 0.3), 2.4, at(38, 42).cubic(38, 16, 62, 16, 62, 42))
	c.fill(col, poly(26, 38, 74, 38, 78, 82, 22, 82))
	c.fill(darker(col, 0.08), poly(26, 38, 74, 38, 74.5, 43, 25.5, 43))
	c.stroke(teal, 1.6, at(34, 62).quad(40, 56, 46, 62).quad(52, 68, 58, 62).quad(63, 57, 67, 61))
	c.stroke(teal, 1.6, at(34, 69).quad(40, 63, 46, 69).quad(52, 75, 58, 69).quad(63, 64, 67, 68))
}

func backpack(c *canvas, col color.RGBA) {
	c.stroke(darker(col, 0.3), 2.4, at(42, 22).cubic(42, 12, 58, 12, 58, 22))
	c.fill(darker(col, 0.25), round(21, 50, 12, 28, 5), round(67, 50, 12, 28, 5))
	c.fill(col, at(27, 82).line(27, 42).cubic(27, 14, 73, 14, 73, 42).line(73, 82))
	c.fill(darker(col, 0.14), round(33, 54, 34, 24, 4))
	c.stroke(lighter(col, 0.55), 0.9, at(34, 60).line(66, 60))
	c.fill(teal, round(47, 38, 6, 8, 1.2))
	c.stroke(darker(col, 0.3), 1, at(33, 34).quad(50, 26, 67, 34))
}

func sock(c *canvas, col color.RGBA) {
	for _, dx := range []float64{-9, 9} {
		c.fill(darker(col, 0.06+(dx+9)/180), at(40+dx, 22).line(56+dx, 22, 56+dx, 58).quad(57+dx, 64, 63+dx, 68).quad(72+dx, 76, 62+dx, 81).quad(52+dx, 82, 44+dx, 74).quad(39+dx, 68, 40+dx, 58))
		c.fill(teal, box(40+dx, 22, 16, 6))
		c.fill(lighter(col, 0.6), box(40+dx, 32, 16, 2.5), box(40+dx, 37, 16, 2.5))
	}
}

func scarf(c *canvas, col color.RGBA) {
	c.fill(darker(col, 0.16), at(36, 40).line(48, 44, 44, 82, 30, 82))
	c.fill(col, at(28, 32).cubic(28, 18, 72, 18, 72, 32).cubic(72, 52, 28, 52, 28, 32))
	c.fill(darker(col, 0.35), ellipse(50, 29, 13, 5))
	c.fill(col, at(52, 44).line(64, 41, 70, 80, 55, 81))
	for i := range 3 {
		y := 55 + 8*float64(i)
		c.fill(teal, poly(53, y, 66.5+float64(i)*1.4, y-1, 67+float64(i)*1.4, y+2, 53.3, y+3))
	}
	for i := range 5 {
		c.stroke(darker(col, 0.2), 0.9, at(56+3*float64(i), 80).line(56+3*float64(i), 84))
	}
}

func headphones(c *canvas, col color.RGBA) {
	c.stroke(darker(col, 0.1), 5, at(24, 56).cubic(22, 8, 78, 8, 76, 56))
	c.stroke(lighter(col, 0.25), 1.4, at(27, 46).cubic(29, 15, 71, 15, 73, 46))
	for _, ear := range []*path{round(18, 48, 17, 30, 7)} {
		c.fill(col, ear, ear.mirrored())
	}
	c.fill(darker(col, 0.3), round(33, 51, 5, 24, 2.5), round(62, 51, 5, 24, 2.5))
	c.fill(teal, circle(25, 63, 3.4), circle(75, 63, 3.4))
}

func earbuds(c *canvas, col color.RGBA) {
	c.fill(darker(col, 0.08), round(24, 50, 52, 32, 14))
	c.fill(col, round(24, 44, 52, 30, 13))
	c.fill(darker(col, 0.18), round(30, 48, 40, 14, 7))
	for _, x := range []float64{40, 60} {
		c.fill(white, round(x-2.2, 33, 4.4, 26, 2.2))
		c.fill(white, circle(x, 30, 7))
		c.fill(darker(white, 0.25), ellipse(x, 29, 3, 4))
	}
	c.fill(teal, circle(50, 70, 1.4))
}

func speaker(c *canvas, col color.RGBA) {
	c.fill(darker(col, 0.18), round(28, 22, 44, 60, 10))
	c.fill(col, round(28, 19, 44, 60, 10))
	c.fill(darker(col, 0.35), circle(50, 55, 16))
	c.fill(darker(col, 0.15), circle(50, 55, 11))
	c.fill(darker(col, 0.45), circle(50, 55, 5))
	c.fill(darker(col, 0.35), circle(50, 30, 6.5))
	c.fill(teal, circle(50, 30, 3))
	c.fill(lighter(col, 0.6), circle(63, 73, 1.2))
}

func charger(c *canvas, col color.RGBA) {
	c.fill(darker(col, 0.4), round(41, 16, 3.4, 14, 1), round(55.6, 16, 3.4, 14, 1))
	c.fill(darker(col, 0.08), round(31, 28, 38, 36, 6))
	c.fill(col, round(31, 26, 38, 36, 6))
	c.fill(teal, at(52, 33).line(43, 46, 49.5, 46, 47, 55, 57, 42, 50.5, 42))
	c.stroke(darker(col, 0.25), 2.2, at(50, 62).cubic(50, 80, 70, 66, 74, 78))
	c.fill(darker(col, 0.45), round(72, 76, 5, 7, 1.4))
}

func powerbank(c *canvas, col color.RGBA) {
	c.fill(darker(col, 0.2), round(31, 18, 40, 66, 8))
	c.fill(col, round(29, 16, 40, 66, 8))
	for i := range 4 {
		tone := teal
		if i == 3 {
			tone = lighter(col, 0.45)
		}
		c.fill(tone, circle(42+5*float64(i), 24, 1.3))
	}
	c.stroke(lighter(col, 0.3), 1, at(38, 74).line(60, 74))
	c.fill(lighter(col, 0.18), at(54, 36).line(40, 53, 48, 53, 44, 66, 58, 47, 50, 47))
}

func keyboard(c *canvas, col color.RGBA) {
	c.fill(darker(col, 0.25), round(14, 40, 72, 38, 5))
	c.fill(col, round(14, 37, 72, 38, 5))
	for row := range 3 {
		for key := range 10 {
			tone := lighter(col, 0.55)
			if row == 0 && key == 0 || row == 2 && key == 9 {
				tone = teal
			}
			c.fill(tone, round(18+6.5*float64(key), 41+8*float64(row), 5.3, 6.4, 1.2))
		}
	}
	c.fill(lighter(col, 0.55), round(31, 65.5, 38, 6, 1.2))
}

func watch(c *canvas, col color.RGBA) {
	c.fill(darker(col, 0.15), poly(41, 32, 43, 12, 57, 12, 59, 32), poly(41, 66, 43, 86, 57, 86, 59, 66))
	c.fill(darker(col, 0.4), round(69, 45, 4, 8, 1.5))
	c.fill(darker(ink, 0), circle(50, 49, 21))
	c.fill(white, circle(50, 49, 17.5))
	c.stroke(ink, 1.4, at(50, 49).line(50, 38))
	c.stroke(ink, 1.4, at(50, 49).line(58, 53))
	c.stroke(teal, 0.8, at(50, 49).line(41, 58))
	c.fill(teal, circle(50, 49, 1.5))
}

func mug(c *canvas, col color.RGBA) {
	c.stroke(darker(col, 0.15), 4.4, at(66, 44).cubic(86, 40, 86, 68, 65, 68))
	c.fill(col, at(28, 34).line(70, 34, 68, 74).quad(67, 81, 60, 81).line(38, 81).quad(31, 81, 30, 74))
	c.fill(darker(col, 0.28), ellipse(49, 34, 21, 4.6))
	c.fill(rgb(0x7a4a2b), ellipse(49, 34.8, 18, 3.2))
	c.stroke(teal, 1.5, at(32, 60).quad(38, 54, 44, 60).quad(50, 66, 56, 60).quad(62, 55, 67, 60))
	for _, x := range []float64{42, 54} {
		c.stroke(lighter(ink, 0.75), 1.2, at(x, 27).cubic(x-5, 22, x+5, 18, x, 12))
	}
}

func thermos(c *canvas, col color.RGBA) {
	c.fill(darker(col, 0.35), round(40, 12, 20, 14, 3))
	c.fill(col, at(38, 28).line(62, 28).quad(66, 33, 66, 40).line(66, 78).quad(66, 83, 61, 83).line(39, 83).quad(34, 83, 34, 78).line(34, 40).quad(34, 33, 38, 28))
	c.fill(lighter(col, 0.35), round(38, 40, 4, 36, 2))
	c.fill(teal, box(34, 62, 32, 3))
	c.fill(darker(col, 0.2), box(38, 25, 24, 4))
}

func teapot(c *canvas, col color.RGBA) {
	c.stroke(darker(col, 0.2), 3.6, at(71, 46).cubic(90, 42, 88, 68, 69, 68))
	c.fill(darker(col, 0.12), at(33, 60).quad(20, 56, 17, 40).line(23, 38).quad(27, 50, 36, 48))
	c.fill(col, ellipse(51, 60, 24, 20))
	c.fill(darker(col, 0.2), ellipse(51, 42, 14, 4))
	c.fill(teal, circle(51, 36, 3.2))
	c.fill(darker(col, 0.25), round(40, 78, 22, 4, 1.5))
	c.stroke(lighter(col, 0.4), 1.2, at(36, 56).quad(38, 48, 45, 46))
}

func lamp(c *canvas, col color.RGBA) {
	c.fill(rgb(0xfdf0c4), poly(35, 46, 67, 46, 79, 82, 23, 82))
	c.stroke(darker(col, 0.45), 1.8, at(51, 46).line(51, 80))
	c.fill(darker(col, 0.45), ellipse(51, 81, 14, 2.8))
	c.fill(col, poly(40, 18, 62, 18, 72, 47, 30, 47))
	c.fill(darker(col, 0.15), poly(30, 44, 72, 44, 72.8, 48, 29.2, 48))
	c.stroke(teal, 0.8, at(62, 48).line(62, 58))
	c.fill(teal, circle(62, 59, 1.3))
}

func pillow(c *canvas, col color.RGBA) {
	c.fill(darker(col, 0.12), at(18, 34).quad(50, 44, 82, 34).quad(76, 57, 82, 80).quad(50, 73, 18, 80).quad(24, 57, 18, 34))
	c.fill(col, at(18, 31).quad(50, 40, 82, 31).quad(76, 54, 82, 77).quad(50, 69, 18, 77).quad(24, 54, 18, 31))
	c.stroke(lighter(col, 0.5), 1, at(27, 40).quad(50, 46, 73, 40))
	c.stroke(lighter(col, 0.5), 1, at(27, 67).quad(50, 62, 73, 67))
	c.fill(teal, circle(50, 54, 2.6))
}

func towels(c *canvas, col color.RGBA) {
	for i := range 3 {
		tone := []color.RGBA{darker(col, 0.12), col, lighter(col, 0.4)}[i]
		y := 64 - 17*float64(i)
		c.fill(tone, round(20, y, 60, 16, 7))
		c.fill(darker(tone, 0.14), ellipse(27, y+8, 5, 6.4))
		c.stroke(lighter(tone, 0.35), 0.9, at(27, y+4).cubic(31, y+5, 31, y+11, 27, y+11))
	}
	c.fill(teal, box(60, 47, 5, 16))
}

func candle(c *canvas, col color.RGBA) {
	c.fill(rgb(0xf8b84e), at(50, 14).quad(57, 23, 50, 29).quad(43, 23, 50, 14))
	c.stroke(ink, 0.9, at(50, 27).line(50, 35))
	c.fill(lighter(col, 0.35), round(30, 34, 40, 48, 6))
	c.fill(col, round(30, 42, 40, 40, 6))
	c.fill(lighter(col, 0.7), ellipse(50, 40, 18, 3.4))
	c.fill(white, round(38, 52, 24, 18, 1.5))
	c.fill(teal, box(42, 57, 16, 1.6), box(45, 62, 10, 1.6))
}

func plant(c *canvas, col color.RGBA) {
	green := rgb(0x3f8f5f)
	for _, leafTip := range []point{{22, 30}, {36, 14}, {52, 10}, {66, 16}, {79, 32}} {
		bend := (leafTip.x - 50) * 0.3
		c.fill(mix(green, teal, (leafTip.x-20)/80), at(48, 58).quad(leafTip.x-6-bend, leafTip.y+16, leafTip.x, leafTip.y).quad(leafTip.x+8-bend, leafTip.y+18, 53, 58))
	}
	c.fill(darker(col, 0.15), box(31, 54, 38, 6))
	c.fill(col, poly(34, 60, 66, 60, 62, 83, 38, 83))
	c.stroke(lighter(col, 0.45), 1.2, at(38, 68).line(62, 68))
}

func tin(c *canvas, col color.RGBA) {
	c.fill(darker(col, 0.1), box(31, 34, 38, 44))
	c.fill(darker(col, 0.1), ellipse(50, 78, 19, 4.6))
	c.fill(darker(col, 0.3), round(29, 22, 42, 13, 2))
	c.fill(darker(col, 0.2), ellipse(50, 22, 21, 4.2))
	c.fill(white, box(31, 44, 38, 24))
	c.fill(teal, at(50, 47).quad(60, 53, 50, 65).quad(40, 53, 50, 47))
	c.stroke(white, 0.7, at(50, 50).line(50, 62))
}

func pouch(c *canvas, col color.RGBA) {
	c.fill(col, at(32, 18).line(68, 18, 69, 26).quad(74, 52, 72, 82).line(28, 82).quad(26, 52, 31, 26))
	c.fill(darker(col, 0.22), poly(32, 18, 68, 18, 69, 26, 31, 26))
	c.fill(lighter(col, 0.75), round(36, 40, 28, 28, 3))
	bean := rgb(0x6b3f23)
	c.fill(bean, ellipse(45, 54, 5, 7), ellipse(56, 55, 5, 7))
	c.stroke(lighter(bean, 0.45), 0.9, at(45, 48).cubic(43, 52, 47, 56, 45, 60))
	c.stroke(lighter(bean, 0.45), 0.9, at(56, 49).cubic(54, 53, 58, 57, 56, 61))
	c.fill(teal, circle(50, 33, 2))
}

func jar(c *canvas, col color.RGBA) {
	c.fill(lighter(col, 0.55), round(27, 30, 46, 53, 9))
	c.fill(col, round(30, 44, 40, 36, 7))
	c.fill(teal, round(31, 18, 38, 12, 3))
	for i := range 9 {
		x, y := 38+12*float64(i%3), 52+10*float64(i/3)
		c.fill(darker(col, 0.12+0.06*float64(i%2)), ellipse(x, y, 4.6, 3.4))
	}
	c.stroke(white, 1.3, at(31.5, 38).line(31.5, 70))
}

func cookies(c *canvas, col color.RGBA) {
	for _, o := range []struct{ x, y, r float64 }{{38, 60, 20}, {63, 62, 18}, {51, 38, 19}} {
		c.fill(darker(col, 0.2), circle(o.x, o.y+2, o.r))
		c.fill(col, circle(o.x, o.y, o.r))
		for _, chip := range []point{{-0.4, -0.3}, {0.3, -0.45}, {0.45, 0.25}, {-0.1, 0.15}, {-0.45, 0.4}, {0.1, 0.6}} {
			c.fill(rgb(0x4a2c1a), ellipse(o.x+chip.x*o.r, o.y+chip.y*o.r, 2.3, 1.8))
		}
	}
	c.fill(teal, circle(80, 30, 2), circle(22, 38, 1.5))
}

func notebook(c *canvas, col color.RGBA) {
	c.fill(darker(white, 0.12), round(31, 19, 46, 64, 3))
	c.fill(white, round(30, 17, 46, 64, 3))
	c.fill(col, round(25, 16, 47, 66, 3))
	c.fill(darker(col, 0.2), box(25, 16, 7, 66))
	c.fill(lighter(col, 0.75), round(39, 28, 25, 13, 1.5))
	c.fill(darker(col, 0.3), box(43, 32, 17, 1.4), box(43, 36, 11, 1.4))
	c.fill(teal, poly(62, 76, 66, 76, 66, 90, 64, 87.5, 62, 90))
}

func pens(c *canvas, col color.RGBA) {
	for i, tone := range []color.RGBA{col, teal, darker(col, 0.35)} {
		x := 33 + 14*float64(i)
		c.fill(tone, round(x, 22+4*float64(i%2), 7, 46, 1.5))
		c.fill(lighter(tone, 0.6), poly(x, 68+4*float64(i%2), x+7, 68+4*float64(i%2), x+3.5, 80+4*float64(i%2)))
		c.fill(ink, poly(x+2.4, 76.2+4*float64(i%2), x+4.6, 76.2+4*float64(i%2), x+3.5, 80+4*float64(i%2)))
		c.fill(darker(tone, 0.3), box(x, 30+4*float64(i%2), 7, 2))
	}
}

func books(c *canvas, col color.RGBA) {
	for i, tone := range []color.RGBA{col, teal, darker(col, 0.4)} {
		x, y, w := 22+3*float64(i), 66-15*float64(i), 56-5*float64(i)
		c.fill(darker(tone, 0.2), round(x, y, w, 15, 2))
		c.fill(white, box(x+3, y+3, w-3, 9))
		c.fill(tone, box(x, y, w, 3.4), box(x, y+11.6, w, 3.4), round(x, y, 6, 15, 2))
		c.stroke(darker(white, 0.15), 0.5, at(x+8, y+6).line(x+w-1, y+6))
		c.stroke(darker(white, 0.15), 0.5, at(x+8, y+9).line(x+w-1, y+9))
	}
}

func card(c *canvas, col color.RGBA) {
	c.fill(darker(col, 0.25), round(17, 31, 66, 44, 5))
	c.fill(col, round(15, 28, 66, 44, 5))
	c.fill(lighter(col, 0.25), at(15, 58).quad(36, 44, 52, 55).quad(68, 64, 81, 50).line(81, 67).quad(81, 72, 76, 72).line(20, 72).quad(15, 72, 15, 67))
	c.fill(white, box(22, 36, 24, 2.4), box(22, 41.5, 15, 2))
	c.fill(white, round(64, 34, 10, 9, 1.5))
	c.fill(col, box(68.2, 34, 1.6, 9), box(64, 37.4, 10, 1.6))
	c.stroke(white, 1.2, at(69, 34).cubic(63, 27, 66, 31, 69, 34))
	c.stroke(white, 1.2, at(69, 34).cubic(75, 27, 72, 31, 69, 34))
}

func umbrella(c *canvas, col color.RGBA) {
	c.stroke(darker(col, 0.45), 2, at(50, 40).line(50, 76).cubic(50, 86, 62, 86, 62, 77))
	c.fill(col, at(14, 50).cubic(16, 8, 84, 8, 86, 50).quad(77, 43, 68, 50).quad(59, 43, 50, 50).quad(41, 43, 32, 50).quad(23, 43, 14, 50))
	c.fill(darker(col, 0.15), at(50, 18).quad(36, 30, 32, 50).quad(23, 43, 14, 50).cubic(16, 25, 36, 19, 50, 18))
	c.fill(teal, at(50, 18).quad(64, 30, 68, 50).quad(59, 43, 50, 50))
	c.stroke(darker(col, 0.45), 1.6, at(50, 13).line(50, 18))
}
