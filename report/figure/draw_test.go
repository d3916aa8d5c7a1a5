package figure

import (
	"bytes"
	"image/png"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// sample has a chart of rows, a chart of two axes and a lake.
func sample() *analysis.Figure {
	return &analysis.Figure{
		ID: "sample", Title: "A sample & more", Across: 3, Controls: true, Feet: []string{"5 seeds."},
		Panels: []analysis.Panel{
			{
				Title: "rows", Categories: []analysis.Category{{Name: "a/b", Tag: "control"}, {Name: "c"}}, X: analysis.Axis{Label: "x", Min: -1, Max: 1},
				Guides: []analysis.Guide{{Line: [][2]float64{{0, 0}, {0, 1}}}},
				Series: []analysis.Series{
					{Key: "omcd", Name: "OMCD", Mark: analysis.Bars, Points: []analysis.Point{
						{Category: 0, X: new(0.5), XRange: &analysis.Span{Low: 0.4, High: 1}, N: 5, Label: "n = 5"}, {Category: 1},
					}},
					{Key: "no-filter", Name: "NoFilter", Mark: analysis.Bars, Points: []analysis.Point{{Category: 0, X: new(-0.25), N: 5}, {Category: 1, X: new(0.0), N: 5}}},
				},
			},
			{
				Title: "axes", X: analysis.Axis{Label: "x", Max: 1}, Y: analysis.Axis{Label: "y", Max: 50}, Remarks: []string{"Pearson −0.10"},
				Series: []analysis.Series{{Key: "seeds", Name: "seeds", Mark: analysis.Discs, Points: []analysis.Point{{X: new(1.0), Y: new(50.0), N: 4}, {X: new(0.0), Y: new(0.0), N: 1}}}},
			},
			{
				Title: "lake",
				Scene: &analysis.Scene{
					Rows: []string{"SFFF", "FHFF", "FFHF", "FFFG"}, Thaw: []record.Pos{{2, 2}}, Freeze: []record.Pos{{0, 3}},
					Routes: []analysis.Route{
						{Key: "omcd", Name: "OMCD", Outcome: record.Success, Cells: []record.Pos{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 3}, {2, 3}, {3, 3}}},
						{Key: "no-filter", Name: "NoFilter", Outcome: record.Death, Cells: []record.Pos{{0, 0}, {0, 0}, {1, 0}, {1, 1}}},
					},
				},
			},
		},
	}
}

func drawn(t rapid.TB, f *analysis.Figure, format string, theme Theme) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Draw(&b, f, format, theme); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The same data give the same bytes, in every form and theme, and no file holds
// the day on which it was made.
func TestDrawTwice(t *testing.T) {
	begins := map[string]string{"svg": "<svg ", "png": "\x89PNG", "pdf": "%PDF"}
	for _, format := range Formats {
		for name, theme := range map[string]Theme{"light": Light, "dark": Dark} {
			first, again := drawn(t, sample(), format, theme), drawn(t, sample(), format, theme)
			if !bytes.Equal(first, again) {
				t.Errorf("%s, %s: two drawings differ", format, name)
			}
			if !bytes.HasPrefix(first, []byte(begins[format])) {
				t.Errorf("%s, %s: it begins with %q", format, name, first[:8])
			}
		}
	}
	pdf := drawn(t, sample(), "pdf", Light)
	for _, date := range []string{"/CreationDate (D:20000101", "/ModDate (D:20000101"} {
		if !bytes.Contains(pdf, []byte(date)) {
			t.Errorf("the PDF has no %s", date)
		}
	}
	picture, err := png.Decode(bytes.NewReader(drawn(t, sample(), "png", Light)))
	if err != nil {
		t.Fatal(err)
	}
	if w := picture.Bounds().Dx(); w != Width*dotsPerInch/72 {
		t.Errorf("the picture is %d pixels wide", w)
	}
	svg := string(drawn(t, sample(), "svg", Light))
	for _, want := range []string{`aria-label="A sample &amp; more"`, "Built-in controls", "Arial"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the SVG lacks %q", want)
		}
	}
	if err := Draw(&bytes.Buffer{}, sample(), "gif", Light); err == nil || !strings.Contains(err.Error(), "svg") {
		t.Errorf("error %v for a form that is none, want one that lists what there is", err)
	}
}

// What cannot be drawn truthfully is an error, and nothing is written.
func TestDrawRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*analysis.Figure){
		"value":      func(f *analysis.Figure) { f.Panels[0].Series[0].Points[0].X = new(1.5) },
		"NaN":        func(f *analysis.Figure) { f.Panels[1].Series[0].Points[0].Y = new(math.NaN()) },
		"interval":   func(f *analysis.Figure) { f.Panels[0].Series[0].Points[0].XRange.High = math.Inf(1) },
		"reversed":   func(f *analysis.Figure) { f.Panels[0].Series[0].Points[0].XRange.High = -1 },
		"bounds":     func(f *analysis.Figure) { f.Panels[0].Series[0].Points[0].XBounds = &analysis.Span{High: 1.5} },
		"row":        func(f *analysis.Figure) { f.Panels[0].Series[0].Points[0].Category = 2 },
		"axis":       func(f *analysis.Figure) { f.Panels[1].X.Max = 0 },
		"half":       func(f *analysis.Figure) { f.Panels[1].Series[0].Points[0].Y = nil },
		"guide":      func(f *analysis.Figure) { f.Panels[0].Guides[0].Line[0][0] = math.NaN() },
		"off lake":   func(f *analysis.Figure) { f.Panels[2].Scene.Routes[0].Cells[1] = record.Pos{0, 4} },
		"no route":   func(f *analysis.Figure) { f.Panels[2].Scene.Routes[0].Cells = nil },
		"ragged":     func(f *analysis.Figure) { f.Panels[2].Scene.Rows[1] = "FH" },
		"no lake":    func(f *analysis.Figure) { f.Panels[2].Scene.Rows = nil },
		"not across": func(f *analysis.Figure) { f.Across = 0 },
		"empty":      func(f *analysis.Figure) { f.Panels = nil },
	} {
		f := sample()
		spoil(f)
		var b bytes.Buffer
		if err := Draw(&b, f, "svg", Light); err == nil || !strings.Contains(err.Error(), "sample") || b.Len() > 0 {
			t.Errorf("%s: error %v, %d bytes; want an error that names the figure, and none", name, err, b.Len())
		}
	}
}

// A drawing succeeds exactly when all values lie on their axes, and then no bar,
// point or whisker leaves the page.
func TestDrawnInsideAxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-100, 100).Draw(t, "min")
		axis := analysis.Axis{Label: "x", Min: low, Max: low + rapid.Float64Range(1e-3, 200).Draw(t, "span")}
		slack := 0.2 * (axis.Max - axis.Min)
		inside := true
		p := analysis.Panel{Title: "t", Categories: []analysis.Category{{Name: "a"}}, X: axis}
		for range rapid.IntRange(1, 4).Draw(t, "series") {
			s := analysis.Series{Key: rapid.SampledFrom([]string{"1", "2", "9", "omcd", "nobody"}).Draw(t, "key"), Name: "s", Mark: rapid.SampledFrom([]analysis.Mark{analysis.Bars, analysis.Dots, analysis.Discs}).Draw(t, "mark")}
			x := rapid.Float64Range(axis.Min-slack/8, axis.Max+slack/8).Draw(t, "x")
			inside = inside && within(x, &axis)
			s.Points = []analysis.Point{{X: &x, N: rapid.IntRange(0, 50).Draw(t, "n")}}
			p.Series = append(p.Series, s)
		}
		f := &analysis.Figure{ID: "f", Title: "t", Across: 1, Panels: []analysis.Panel{p}}
		var b bytes.Buffer
		err := Draw(&b, f, "svg", Light)
		if (err == nil) != inside {
			t.Fatalf("all inside: %t, error: %v", inside, err)
		}
		if err == nil && (strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf")) {
			t.Fatal("the drawing holds what is no number")
		}
	})
}

// Numbers on an axis have room, are multiples of one step and lie on it.
func TestTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1000, 1000).Draw(t, "min")
		a := analysis.Axis{Min: low, Max: low + rapid.Float64Range(1e-2, 5000).Draw(t, "span")}
		length := rapid.Float64Range(40, 400).Draw(t, "length")
		marks := ticksOf(&a, length)
		if len(marks) > mostTicks {
			t.Fatalf("%d ticks", len(marks))
		}
		for i, m := range marks {
			if !within(m.Value, &a) {
				t.Fatalf("%v lies off %v", m.Value, a)
			}
			if strings.Contains(m.Label, "-") || m.Label == "" {
				t.Fatalf("the label %q", m.Label)
			}
			if i == 0 {
				continue
			}
			at := func(v float64) float64 { return length * (v - a.Min) / (a.Max - a.Min) }
			between := at(m.Value) - at(marks[i-1].Value)
			if need := (ticks.width(m.Label) + ticks.width(marks[i-1].Label)) / 2; between < need {
				t.Fatalf("%s and %s are %.1f apart and %.1f wide", marks[i-1].Label, m.Label, between, need)
			}
		}
	})
}

// Text is broken so that every line fits, and nothing is lost but spaces.
func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zA-Z0-9/ _\-]{0,60}`).Draw(t, "text")
		width := rapid.Float64Range(12, 200).Draw(t, "width")
		lines := label.wrap(text, width)
		for _, line := range lines {
			if label.width(line) > width {
				t.Fatalf("%q is %.1f wide, more than %.1f", line, label.width(line), width)
			}
		}
		squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if squeeze(strings.Join(lines, "")) != squeeze(text) {
			t.Fatalf("%q became %q", text, lines)
		}
	})
}

func TestWindows1252(t *testing.T) {
	for in, want := range map[string]string{
		"F1 − 0.5 ± 1": "F1 \x96 0.5 \xb1 1",
		"€’…Ÿ":         "\x80\x92\x85\x9f",
		"a模":           "a?",
	} {
		if got := windows1252(in); got != want {
			t.Errorf("windows1252(%q) = %q, want %q", in, got, want)
		}
	}
}

// A bar of 0 is a line at the axis, on its positive side: left of it, it would
// read as a negative value.
func TestZeroIsNotNegative(t *testing.T) {
	f := &analysis.Figure{ID: "f", Title: "t", Across: 1, Panels: []analysis.Panel{{
		Title: "t", Categories: []analysis.Category{{Name: "a"}}, X: analysis.Axis{Label: "x", Max: 1},
		Series: []analysis.Series{{Key: "omcd", Mark: analysis.Bars, Points: []analysis.Point{{X: new(0.0), N: 5}}}},
	}}}
	l := arrange(f, Light)
	axis := l.rows[0].panels[0].x
	fills := regexp.MustCompile(`<path d="([^"]*)" style="fill:#0072B2`).FindAllStringSubmatch(string(drawn(t, f, "svg", Light)), -1)
	if len(fills) != 1 {
		t.Fatalf("%d shapes in the colour of the series, want 1", len(fills))
	}
	for _, m := range regexp.MustCompile(`[ML]([\d.]+),`).FindAllStringSubmatch(fills[0][1], -1) {
		if x, err := strconv.ParseFloat(m[1], 64); err != nil || x < axis-0.01 || x > axis+2 {
			t.Errorf("a corner at %v; the axis is at %v", m[1], axis)
		}
	}
}
