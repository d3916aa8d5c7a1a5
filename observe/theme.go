package observe

import (
	"fmt"
	"image/color"
	"sync"
)

// Colors are the colours of a picture. All are opaque.
type Colors struct {
	Frozen, Hole, Start, Goal color.RGBA // the four cell types
	Unseen                    color.RGBA // a cell outside the view
	Agent                     color.RGBA // the triangle
	Line                      color.RGBA // between cells
	DarkInk, LightInk         color.RGBA // labels: on each cell the one with more contrast
}

// PaperColors returns the paper's colours (section 3.1). What it leaves open
// is ours: the exact red, grey for cells outside the view, black and white for
// labels.
func PaperColors() Colors {
	return Colors{
		Frozen:   color.RGBA{0xA8, 0xC8, 0xE8, 0xFF},
		Hole:     color.RGBA{0x20, 0x20, 0x20, 0xFF},
		Start:    color.RGBA{0x2E, 0x8B, 0x57, 0xFF},
		Goal:     color.RGBA{0xDA, 0xA5, 0x20, 0xFF},
		Unseen:   color.RGBA{0x80, 0x80, 0x80, 0xFF},
		Agent:    color.RGBA{0xE0, 0x00, 0x00, 0xFF},
		Line:     color.RGBA{0xFF, 0xFF, 0xFF, 0xFF},
		DarkInk:  color.RGBA{0x00, 0x00, 0x00, 0xFF},
		LightInk: color.RGBA{0xFF, 0xFF, 0xFF, 0xFF},
	}
}

// A Theme draws and reads pictures in one set of colours. It is safe for
// concurrent use. NewTheme makes one; a nil or zero Theme is the paper's.
type Theme struct {
	palette color.Palette
	ink     [numInks]uint8 // the ink of labels on each background
}

// The palette's indices. The line's is 0, so that a new picture is all lines.
const (
	inkLine = iota
	inkFrozen
	inkHole
	inkStart
	inkGoal
	inkUnseen
	inkAgent
	inkDark
	inkLight
	numInks
)

// paletteSize is more colours than there are inks: up to 16, image/png packs
// several pixels into a byte, which takes it twice as long.
const paletteSize = 17

// inkNames say in errors what an index colours.
var inkNames = [numInks]string{
	"lines", "frozen cells", "holes", "the start", "the goal", "cells not seen", "the agent", "dark labels", "light labels",
}

// NewTheme returns a theme with the given colours. It refuses a colour that is
// not opaque, and equal colours where a reader could not tell a cell's type,
// the agent or a line from another.
func NewTheme(c Colors) (*Theme, error) {
	t := &Theme{palette: make(color.Palette, paletteSize)}
	for i := range t.palette {
		t.palette[i] = c.Line
	}
	colors := [numInks]color.RGBA{
		inkLine: c.Line, inkFrozen: c.Frozen, inkHole: c.Hole, inkStart: c.Start, inkGoal: c.Goal,
		inkUnseen: c.Unseen, inkAgent: c.Agent, inkDark: c.DarkInk, inkLight: c.LightInk,
	}
	for i, col := range colors {
		if col.A != 0xFF {
			return nil, fmt.Errorf("theme: the colour of %s, %v, is not opaque", inkNames[i], col)
		}
		t.palette[i] = col
		for j := range min(i, inkDark) {
			if i < inkDark && col == colors[j] {
				return nil, fmt.Errorf("theme: %s and %s have the same colour, #%02X%02X%02X", inkNames[j], inkNames[i], col.R, col.G, col.B)
			}
		}
	}
	for i, background := range colors {
		t.ink[i] = inkDark
		if contrasts(background, c.LightInk, c.DarkInk) {
			t.ink[i] = inkLight
		}
	}
	return t, nil
}

// contrasts reports whether ink a stands out more than ink b on a background,
// by the contrast ratio of WCAG 2 with a gamma of 2, which whole numbers can
// compute.
func contrasts(background, a, b color.RGBA) bool {
	highA, lowA := sorted(luminance(background), luminance(a))
	highB, lowB := sorted(luminance(background), luminance(b))
	return highA*lowB > highB*lowA
}

// luminance is the relative luminance plus 0.05, in units of 1/650,250,000.
func luminance(c color.RGBA) int64 {
	r, g, b := int64(c.R), int64(c.G), int64(c.B)
	const twentieth = 10_000 * 255 * 255 / 20
	return 2126*r*r + 7152*g*g + 722*b*b + twentieth
}

func sorted(a, b int64) (high, low int64) { return max(a, b), min(a, b) }

var paperTheme = sync.OnceValue(func() *Theme {
	t, err := NewTheme(PaperColors())
	if err != nil {
		panic(err) // a constant: a test draws with it
	}
	return t
})

// orPaper returns the paper's theme for a nil or zero one.
func (t *Theme) orPaper() *Theme {
	if t == nil || t.palette == nil {
		return paperTheme()
	}
	return t
}
