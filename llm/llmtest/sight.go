package llmtest

import (
	"bytes"
	"context"
	"image/png"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
)

// generate answers a request: the question of llm.CheckSight by the picture, as
// a model that sees, and everything else by the control. A blind server drops
// the pictures without a word.
func (s *Server) generate(ctx context.Context, p *prompt) (*llm.Reply, error) {
	parts := p.request.Parts
	if s.opts.Blind {
		parts = slices.DeleteFunc(slices.Clone(parts), func(part llm.Part) bool { return part.IsImage() })
		p.request.Parts = parts
	}
	if !slices.ContainsFunc(parts, func(part llm.Part) bool { return strings.Contains(part.Text(), llm.SightQuestion) }) {
		return p.control.Generate(ctx, p.request)
	}
	text := "red, green, blue" // a guess
	if i := slices.IndexFunc(parts, func(part llm.Part) bool { return part.IsImage() }); i >= 0 {
		text = colorsOfBars(parts[i].PNG())
	}
	return &llm.Reply{Text: text, Finish: llm.FinishStop}, nil
}

// colorsOfBars names the colours of three bars from left to right.
func colorsOfBars(file []byte) string {
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return "I cannot read the picture."
	}
	var names []string
	box := img.Bounds()
	for i := range 3 {
		seen := img.At(box.Min.X+box.Dx()*(2*i+1)/6, box.Min.Y+box.Dy()/2)
		for name, color := range llm.SightColors {
			if seen == color {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}
