package price

import (
	"errors"
	"fmt"
	"math"

	"github.com/spatialstale/spatialstale/llm"
)

// Images is a provider's rule for the tokens of a picture. Which fields count
// is the rule's.
type Images struct {
	Rule   string  `yaml:"rule" json:"rule"`
	Base   int     `yaml:"base" json:"base,omitempty"`     // tiles: tokens of any picture
	Tile   int     `yaml:"tile" json:"tile,omitempty"`     // tiles, crops: tokens of a tile
	Side   int     `yaml:"side" json:"side,omitempty"`     // patches: pixels a side
	Most   int     `yaml:"most" json:"most,omitempty"`     // patches: the picture is shrunk to so many; 0 for no such limit
	Edge   int     `yaml:"edge" json:"edge,omitempty"`     // patches: and to so many pixels on its long side; 0 for no such limit
	Times  float64 `yaml:"times" json:"times,omitempty"`   // patches: tokens a patch; 0 stands for 1
	Tokens int     `yaml:"tokens" json:"tokens,omitempty"` // fixed
}

// Rules of Images.
const (
	// Tiles (OpenAI): the picture is shrunk to fit 2048×2048 and to 768 on its
	// short side, and costs Base and a Tile for each 512×512 begun. Whether a
	// small picture is enlarged to 768 is said in two ways, so the range holds
	// both. With detail low any picture costs Base.
	Tiles = "tiles"
	// Patches (OpenAI's smaller models, Anthropic, Qwen): a token, or Times, for
	// each square of Side pixels begun.
	Patches = "patches"
	// Crops (Gemini to 2.5): a Tile for a picture of at most 384×384, else one
	// for each 768×768 begun.
	Crops = "crops"
	// Fixed (Gemini from 3): Tokens for any picture.
	Fixed = "fixed"
)

// check returns what is wrong with a rule.
func (m *Images) check() error {
	switch {
	case m.Rule == Tiles && m.Base > 0 && m.Tile > 0,
		m.Rule == Patches && m.Side > 0 && m.Most >= 0 && m.Edge >= 0 && m.Times >= 0 && m.Times < 1000,
		m.Rule == Crops && m.Tile > 0,
		m.Rule == Fixed && m.Tokens > 0:
		return nil
	case m.Rule != Tiles && m.Rule != Patches && m.Rule != Crops && m.Rule != Fixed:
		return fmt.Errorf("images: unknown rule %q; there are tiles, patches, crops and fixed", m.Rule)
	}
	return errors.New("images: tiles wants base and tile, patches side, crops tile, fixed tokens, all above 0")
}

// Of returns the tokens of a picture of that size in pixels, at the detail that
// the provider was asked for; empty for its default.
func (m *Images) Of(width, height int, detail string) llm.Tokens {
	w, h := float64(width), float64(height)
	exactly := func(n int) llm.Tokens { return llm.Tokens{Low: n, High: n} }
	switch m.Rule {
	case Tiles:
		low := llm.Tokens{Low: m.Base, High: m.Base}
		if detail == "low" {
			return low
		}
		fit := math.Min(1, 2048/math.Max(w, h))
		w, h = w*fit, h*fit
		shrunk := math.Min(1, 768/math.Min(w, h))
		scaled := 768 / math.Min(w, h)
		count := func(by float64) int { return m.Base + m.Tile*squares(w*by, h*by, 512) }
		return llm.Tokens{Low: count(shrunk), High: max(count(shrunk), count(scaled))}
	case Patches:
		if m.Edge > 0 {
			fit := math.Min(1, float64(m.Edge)/math.Max(w, h))
			w, h = w*fit, h*fit
		}
		n := squares(w, h, float64(m.Side))
		if m.Most > 0 {
			n = min(n, m.Most)
		}
		if m.Times > 0 {
			n = int(math.Ceil(float64(n)*m.Times - 1e-9))
		}
		return exactly(n)
	case Crops:
		if width <= 384 && height <= 384 {
			return exactly(m.Tile)
		}
		return exactly(m.Tile * squares(w, h, 768))
	case Fixed:
		return exactly(m.Tokens)
	}
	return llm.Tokens{}
}

// squares returns how many squares of a side cover an area.
func squares(w, h, side float64) int {
	return int(math.Ceil(w/side-1e-9)) * int(math.Ceil(h/side-1e-9))
}
