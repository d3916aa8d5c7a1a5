package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

var update = flag.Bool("update", false, "write the golden files")

// sample has a chart of rows, a chart of two axes and a lake.
func sample() *analysis.Figure {
	return &analysis.Figure{
		ID: "sample", Title: "A sample & more", Across: 3, Controls: true, Feet: []string{"5 seeds."}, Incomplete: "Incomplete: 3 of 4.",
		Panels: []analysis.Panel{
			{
				Title: "rows", Categories: []analysis.Category{{Name: "a/b", Tag: "control", Group: "closed"}, {Name: "c", Group: "open"}}, X: analysis.Axis{Label: "x", Min: -1, Max: 1},
				Guides: []analysis.Guide{{Line: [][2]float64{{0, 0}, {0, 1}}}},
				Series: []analysis.Series{
					{Key: "omcd", Name: "OMCD", Mark: analysis.Bars, Points: []analysis.Point{
						{Category: 0, X: new(0.5), XRange: &analysis.Span{Low: 0.4, High: 1}, XBounds: &analysis.Span{Low: 0.25, High: 0.75}, N: 5, Label: "3 of 4"}, {Category: 1},
					}},
					{Key: "no-filter", Name: "NoFilter", Mark: analysis.Bars, Points: []analysis.Point{{Category: 0, X: new(-0.25), N: 5}, {Category: 1, X: new(0.0), N: 5}}},
				},
			},
			{
				Title: "axes", X: analysis.Axis{Label: "across", Max: 1}, Y: analysis.Axis{Label: "up", Max: 50}, Remarks: []string{"Pearson −0.10"},
				Guides: []analysis.Guide{{Label: "0.8", Line: [][2]float64{{0.1, 50}, {1, 20}}}},
				Series: []analysis.Series{{Key: "seeds", Name: "seeds", Mark: analysis.Discs, Points: []analysis.Point{{X: new(1.0), Y: new(50.0), N: 4}, {X: new(0.0), Y: new(0.0), YRange: &analysis.Span{High: 10}, N: 1}}}},
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

// hard are figures that runs at the limits give.
func hard() map[string]*analysis.Figure {
	models := []string{
		"openai/gpt-4o", "openai-api/NAME/some-very-long-model-name-2026-08-01-preview", "anthropic/claude-sonnet-4-6", "vllm/OpenGVLab/InternVL3-8B",
		"ollama/a_name_without_any_hyphen_or_slash_that_could_break_it", "ref/mixed?trust=0.7&tpr=0.9&fpr=0.02&vision_tpr=0.55", "qwen/qwen3.6-plus", "模型/模型",
		"zai/glm-5.1", "google/gemini-3-pro", "a\nline\x00and more", "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
	}
	var categories []analysis.Category
	for i, m := range models {
		c := analysis.Category{Name: m, Group: "closed models"}
		if i > 6 {
			c.Group, c.Tag = "open models", "control"
		}
		categories = append(categories, c)
	}
	strategies := append(record.Strategies.Names(), "mine")
	point := func(i int) analysis.Point {
		x := float64(i*7%10) / 10
		return analysis.Point{Category: i % len(models), X: &x, N: 3, Label: "p > 0.999, 3 of 8", Trials: &analysis.Trials{Finished: 3, Planned: 8},
			XRange: &analysis.Span{Low: x * 0.7, High: x + (1-x)*0.4}, XBounds: &analysis.Span{Low: x / 2, High: (1 + x) / 2}}
	}
	rate := analysis.Axis{Label: "success rate", Max: 1}
	full := &analysis.Figure{ID: "models", Title: "Models", Across: 3, Incomplete: strings.Repeat("Incomplete: 3 of 8 planned episodes finished. ", 6), Feet: []string{strings.Repeat("Whiskers: 95% bootstrap intervals. ", 9)}}
	undefined := &analysis.Figure{ID: "undefined", Title: "Nothing", Across: 3}
	many := &analysis.Figure{ID: "scatters", Title: "Scatters", Across: 3}
	for r := range record.Regimes {
		p := analysis.Panel{Title: record.Regimes[r].Label + ": " + models[1], Categories: categories, X: rate, Remarks: []string{"finished: " + strings.Join(models[:3], " 3 of 8, ")}}
		u := analysis.Panel{Title: record.Regimes[r].Label, Categories: categories[:2], X: analysis.Axis{Label: "difference of F1", Min: -1, Max: 1}}
		for i, key := range strategies {
			s := analysis.Series{Key: key, Name: record.Strategies.Label(key), Mark: analysis.Bars}
			n := s
			for j := range models {
				s.Points = append(s.Points, point(12*(i+j)+j))
			}
			n.Points = []analysis.Point{{}, {Category: 1, Trials: &analysis.Trials{Planned: 8}}}
			p.Series, u.Series = append(p.Series, s), append(u.Series, n)
		}
		full.Panels, undefined.Panels = append(full.Panels, p), append(undefined.Panels, u)
	}
	for i, m := range models {
		p := analysis.Panel{Title: m + " (control), L3", X: analysis.Axis{Label: "F1 of the detection task", Max: 1}, Y: rate, Remarks: []string{"Pearson 0.20 [−0.08, 0.45], p = 0.166", "ceiling not estimable: reliability estimated at or below 0"}}
		for j := range models {
			x, y := float64(j)/11, float64((i+j)%12)/11
			p.Series = append(p.Series, analysis.Series{Key: strconv.Itoa(j + 1), Name: models[j], Mark: analysis.Dots, Points: []analysis.Point{{X: &x, Y: &y, N: 1}}})
		}
		if i == 3 {
			p.Series, p.Empty = nil, "0 of 8 finished"
		}
		many.Panels = append(many.Panels, p)
	}
	large := &analysis.Scene{}
	for r := range 64 {
		row := []byte(strings.Repeat("F", 64))
		for c := range row {
			switch {
			case r+c == 0:
				row[c] = 'S'
			case r+c == 126:
				row[c] = 'G'
			case (r*31+c*17+r*c)%4 == 0:
				row[c] = 'H'
			}
			if (r*13+c*7)%9 == 0 {
				large.Thaw = append(large.Thaw, record.Pos{r, c})
			}
		}
		large.Rows = append(large.Rows, string(row))
	}
	for i, outcome := range []string{record.Timeout, record.Death, record.Success} {
		route := analysis.Route{Key: strategies[i], Name: record.Strategies.Label(strategies[i]), Outcome: outcome, Cells: []record.Pos{{}}}
		for at := (record.Pos{}); len(route.Cells) < 450; route.Cells = append(route.Cells, at) {
			// To the lower right corner and back along the rim of what is left.
			if step := len(route.Cells) / (i + 2); step%2 == 0 && at[1] < 63 {
				at[1]++
			} else if at[0] < 63 {
				at[0]++
			}
		}
		large.Routes = append(large.Routes, route)
	}
	wide := analysis.Panel{Title: "stale share over seeds", Wide: true, Categories: categories[:2], X: analysis.Axis{Label: strings.Repeat("a long label of an axis ", 8), Max: 0.25},
		Series: []analysis.Series{{Key: "ours", Name: "ours", Mark: analysis.Dots, Points: []analysis.Point{{X: new(0.1), N: 1, Label: "0.095 ± 0.013"}}}}}
	return map[string]*analysis.Figure{
		"full": full, "undefined": undefined, "many": many,
		"lakes": {ID: "lakes", Title: "Lakes", Across: 2, Panels: []analysis.Panel{{Title: "as remembered", Scene: large}, {Title: "as it is", Scene: large}}},
		"mixed": {ID: "mixed", Title: "Mixed", Across: 4, Panels: []analysis.Panel{{Title: "as remembered", Scene: large}, {Title: "L1", Scene: large}, {Title: "L2", Scene: sample().Panels[2].Scene}, wide}},
		// More panels in a row than a page has room for.
		"crowded": {ID: "crowded", Title: "Crowded", Across: 9, Panels: append(append([]analysis.Panel{}, full.Panels...), full.Panels...)},
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
	begins := map[string]string{"svg": "<?xml ", "png": "\x89PNG", "pdf": "%PDF"}
	for _, format := range Formats {
		for name, theme := range map[string]Theme{"light": Light, "screen": Screen} {
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
	if err := Draw(io.Discard, sample(), "gif", Light); err == nil || !strings.Contains(err.Error(), "svg") {
		t.Errorf("error %v for a form that is none, want one that lists what there is", err)
	}
}

var number = regexp.MustCompile(`-?\d+(\.\d+)?`)

// A drawing changes only where somebody has looked at it. Numbers may differ by
// what the rounding of another machine makes of them.
func TestGolden(t *testing.T) {
	path := filepath.Join("testdata", "sample.svg")
	got := drawn(t, sample(), "svg", Light)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const hint = "%s is not what is drawn; look at it, then run the test with -update"
	if number.ReplaceAllString(string(got), "#") != number.ReplaceAllString(string(want), "#") {
		t.Fatalf(hint, path)
	}
	numbers := number.FindAllString(string(want), -1)
	for i, n := range number.FindAllString(string(got), -1) {
		if math.Abs(numberOf(t, n)-numberOf(t, numbers[i])) > 0.02 {
			t.Fatalf(hint+" (%s in place of %s)", path, n, numbers[i])
		}
	}
}

// What cannot be drawn truthfully is an error, and nothing is written.
func TestDrawRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*analysis.Figure){
		"value":      func(f *analysis.Figure) { f.Panels[0].Series[0].Points[0].X = new(1.5) },
		"NaN":        func(f *analysis.Figure) { f.Panels[1].Series[0].Points[0].Y = new(math.NaN()) },
		"interval":   func(f *analysis.Figure) { f.Panels[0].Series[0].Points[0].XRange.High = math.Inf(1) },
		"reversed":   func(f *analysis.Figure) { f.Panels[0].Series[0].Points[0].XRange.High = -1 },
		"upwards":    func(f *analysis.Figure) { f.Panels[1].Series[0].Points[1].YRange.High = 51 },
		"bounds":     func(f *analysis.Figure) { f.Panels[0].Series[0].Points[0].XBounds = &analysis.Span{High: 1.5} },
		"row":        func(f *analysis.Figure) { f.Panels[0].Series[0].Points[0].Category = 2 },
		"axis":       func(f *analysis.Figure) { f.Panels[1].X.Max = 0 },
		"no axis":    func(f *analysis.Figure) { f.Panels[1].Y.Max = math.NaN() },
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
		err := Draw(&b, f, "svg", Light)
		if err == nil || !strings.Contains(err.Error(), "sample") || b.Len() > 0 {
			t.Errorf("%s: error %v, %d bytes; want an error that names the figure, and none", name, err, b.Len())
		}
		if errors.Is(err, ErrEmpty) != (name == "empty") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("no space left") }

// What the PDF library does in place of returning an error does not end the
// program: it makes its fonts in the folder for temporary files.
func TestPDFErrors(t *testing.T) {
	if err := Draw(panicking{}, sample(), "pdf", Light); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %v for a library that panics", err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	var b bytes.Buffer
	if err := Draw(&b, sample(), "pdf", Light); err == nil || !strings.Contains(err.Error(), "TMPDIR") || b.Len() > 0 {
		t.Errorf("error %v and %d bytes without a folder for temporary files, want one that says what to set", err, b.Len())
	}
}

// A shape is a path of a drawing, with how far right each of its corners is.
type shape struct {
	style string
	xs    []float64
}

// A note is a text of a drawing with its place: x and its base line from below.
type note struct {
	text, style string
	x, y        float64
	turned      bool
}

var corner = regexp.MustCompile(`([\d.]+),[\d.]+(?:[LZA]|$)`)

// parse reads a drawing: its height, paths and texts.
func parse(t rapid.TB, svg []byte) (height float64, shapes []shape, notes []note) {
	t.Helper()
	groups := 0
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return height, shapes, notes
		}
		if err != nil {
			t.Fatalf("the drawing is no XML: %v", err)
		}
		switch e := token.(type) {
		case xml.EndElement:
			if e.Name.Local == "g" {
				groups--
			}
		case xml.CharData:
			if n := len(notes); n > 0 && notes[n-1].text == "" {
				notes[n-1].text = string(e)
			}
		case xml.StartElement:
			a := make(map[string]string)
			for _, at := range e.Attr {
				a[at.Name.Local] = at.Value
			}
			switch e.Name.Local {
			case "svg":
				height = numberOf(t, strings.Fields(a["viewBox"])[3])
			case "g":
				groups++
			case "text":
				notes = append(notes, note{style: a["style"], x: numberOf(t, a["x"]), y: -numberOf(t, a["y"]), turned: groups > 1})
			case "path":
				s := shape{style: a["style"]}
				for _, m := range corner.FindAllStringSubmatch(a["d"], -1) {
					s.xs = append(s.xs, numberOf(t, m[1]))
				}
				shapes = append(shapes, s)
			}
		}
	}
}

func numberOf(t rapid.TB, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// No text leaves the page or lies over another one, however many models there
// are and however long their names.
func TestTextsHaveRoom(t *testing.T) {
	figures := hard()
	figures["sample"] = sample()
	for id, f := range figures {
		height, _, notes := parse(t, drawn(t, f, "svg", Light))
		type box struct{ left, top, right, base float64 }
		var boxes []box
		for _, n := range notes {
			size := numberOf(t, regexp.MustCompile(`font-size:([\d.]+)px`).FindStringSubmatch(n.style)[1])
			width := lettering(vg.Length(size), nil).Width(n.text).Points()
			b := box{n.x, height - n.y - 0.72*size, n.x + width, height - n.y}
			if n.turned {
				b = box{} // the label of an axis that runs upwards
			}
			if b.left < -0.5 || b.right > Width+0.5 || b.top < -0.5 || b.base > height+0.5 {
				t.Errorf("%s: %q leaves the page: %.1f of %d, %g", id, n.text, b, Width, height)
			}
			for i, a := range boxes {
				if a.left < b.right-0.3 && b.left < a.right-0.3 && a.top < b.base-0.3 && b.top < a.base-0.3 {
					t.Errorf("%s: %q lies over %q at %.1f", id, n.text, notes[i].text, b)
				}
			}
			boxes = append(boxes, b)
		}
	}
}

// What a figure says is in the drawing, whatever else is.
func TestDrawnWords(t *testing.T) {
	for name, theme := range map[string]Theme{"light": Light, "screen": Screen} {
		svg := drawn(t, sample(), "svg", theme)
		_, _, notes := parse(t, svg)
		var words []string
		for _, n := range notes {
			words = append(words, n.text)
		}
		for _, want := range []string{
			"OMCD", "NoFilter", "seeds", "died", "reached G", "stale: thaw (SAFE, now a hole)", "stale: freeze (DANGER, now safe)", "what it could be, had lost trials gone either way",
			"rows", "a/b", "(control)", "closed", "open", "3 of 4", "– undefined", "-1", "0.8", "across", "up", "Pearson −0.10", "S", "G", "Incomplete: 3 of 4.", controlsFoot, "5 seeds.",
		} {
			if !slices.Contains(words, want) {
				t.Errorf("%s: the drawing does not say %q: %q", name, want, words)
			}
		}
		for _, want := range []string{`aria-label="A sample &amp; more"`, "Arial"} {
			if !bytes.Contains(svg, []byte(want)) {
				t.Errorf("%s: the drawing lacks %s", name, want)
			}
		}
	}
}

// Every value of a chart of rows has its bar or its mark at its place, 0 a line on
// the positive side, and what is undefined has none.
func TestValuesAreDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		axis := analysis.Axis{Label: "x", Min: rapid.Float64Range(-100, -2).Draw(t, "low"), Max: rapid.Float64Range(2, 100).Draw(t, "high")}
		span := axis.Max - axis.Min
		mark := rapid.SampledFrom([]analysis.Mark{analysis.Bars, analysis.Dots}).Draw(t, "mark")
		// Two series that reach both ends of the axis show where these are.
		s := analysis.Series{Key: "1", Name: "s", Mark: mark}
		ends := analysis.Series{Key: "2", Name: "ends", Mark: analysis.Bars, Points: []analysis.Point{{X: &axis.Max, N: 1}}}
		begin := analysis.Series{Key: "3", Name: "begin", Mark: analysis.Bars, Points: []analysis.Point{{X: &axis.Min, N: 1}}}
		panel := analysis.Panel{Title: "t", X: axis}
		undefined := 0
		var want []float64
		for i := range rapid.IntRange(1, 5).Draw(t, "rows") {
			panel.Categories = append(panel.Categories, analysis.Category{Name: "name", Group: strconv.Itoa(i / 2)})
			pt := analysis.Point{Category: i, Label: rapid.SampledFrom([]string{"", "p = 0.031"}).Draw(t, "label")}
			x := rapid.Float64Range(axis.Min, axis.Max).Draw(t, "x")
			switch rapid.SampledFrom([]string{"", "", "zero", "undefined"}).Draw(t, "kind") {
			case "undefined":
				undefined++
			case "zero":
				x = 0
				fallthrough
			default:
				pt.X, want = &x, append(want, x)
			}
			s.Points = append(s.Points, pt)
		}
		panel.Series = []analysis.Series{s, ends, begin}
		_, shapes, notes := parse(t, drawn(t, &analysis.Figure{ID: "f", Title: "t", Across: 1, Panels: []analysis.Panel{panel}}, "svg", Light))
		// Areas of a key's colour, without the first: it is in the legend.
		areas := func(key string) (out [][2]float64) {
			for _, s := range shapes {
				if strings.HasPrefix(s.style, "fill:"+knownStyle(key, record.Style{}).Color) {
					out = append(out, [2]float64{slices.Min(s.xs), slices.Max(s.xs)})
				}
			}
			return out[1:]
		}
		left, right := areas("3")[0][0], areas("2")[0][1]
		place := func(x float64) float64 { return left + (right-left)*(x-axis.Min)/span }
		got := areas("1")
		if len(got) != len(want) {
			t.Fatalf("%d bars or marks for %d values", len(got), len(want))
		}
		for _, x := range want {
			from, to := min(place(0), place(x)), max(place(0), place(x))
			if mark == analysis.Dots {
				from, to = place(x)-markRadius, place(x)+markRadius
			} else if math.Abs(x) < leastBar*span {
				from, to = place(0), place(leastBar*span)
			}
			if !slices.ContainsFunc(got, func(a [2]float64) bool { return math.Abs(a[0]-from) < 0.05 && math.Abs(a[1]-to) < 0.05 }) {
				t.Fatalf("no bar or mark from %.2f to %.2f for %v: %v", from, to, x, got)
			}
		}
		dashes := 0
		for _, n := range notes {
			if n.text == "– undefined" {
				dashes++
			}
		}
		if dashes != undefined {
			t.Fatalf("%d of %d undefined values are shown", dashes, undefined)
		}
	})
}

// Nothing panics, every place is a number and every drawing is XML, whatever is
// drawn and however it is called.
func TestDrawAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &analysis.Figure{ID: "f", Title: rapid.String().Draw(t, "title"), Across: rapid.IntRange(1, 6).Draw(t, "across"), Controls: true, Feet: []string{rapid.String().Draw(t, "foot")}}
		value := func(a analysis.Axis) *float64 { return new(rapid.Float64Range(a.Min, a.Max).Draw(t, "value")) }
		span := func(a analysis.Axis) *analysis.Span {
			x, y := *value(a), *value(a)
			return rapid.SampledFrom([]*analysis.Span{nil, {Low: min(x, y), High: max(x, y)}}).Draw(t, "span")
		}
		axis := func() analysis.Axis {
			low := rapid.Float64Range(-1e4, 1e4).Draw(t, "low")
			return analysis.Axis{Label: rapid.StringN(0, 80, -1).Draw(t, "label"), Min: low, Max: low + rapid.Float64Range(1e-3, 1e4).Draw(t, "length")}
		}
		for range rapid.IntRange(1, 7).Draw(t, "panels") {
			p := analysis.Panel{Title: rapid.StringN(0, 60, -1).Draw(t, "title"), Wide: rapid.Bool().Draw(t, "wide"), X: axis(), Y: axis(), Empty: rapid.StringN(0, 20, -1).Draw(t, "empty")}
			for range rapid.IntRange(0, 4).Draw(t, "rows") {
				p.Categories = append(p.Categories, analysis.Category{Name: rapid.StringN(0, 90, -1).Draw(t, "name"), Tag: rapid.StringN(0, 9, -1).Draw(t, "tag"), Group: rapid.StringN(0, 9, -1).Draw(t, "group")})
			}
			for range rapid.IntRange(0, 5).Draw(t, "series") {
				s := analysis.Series{Key: rapid.SampledFrom([]string{"1", "12", "omcd", "thaw", "mine", ""}).Draw(t, "key"), Name: rapid.StringN(0, 60, -1).Draw(t, "name"), Mark: rapid.SampledFrom([]analysis.Mark{analysis.Bars, analysis.Dots, analysis.Discs}).Draw(t, "mark")}
				for range rapid.IntRange(0, 6).Draw(t, "points") {
					pt := analysis.Point{X: value(p.X), Y: value(p.Y), N: rapid.IntRange(0, 1000).Draw(t, "n"), Label: rapid.StringN(0, 30, -1).Draw(t, "label"), XRange: span(p.X), YRange: span(p.Y), XBounds: span(p.X)}
					if len(p.Categories) > 0 {
						pt.Category, pt.Y, pt.YRange = rapid.IntRange(0, len(p.Categories)-1).Draw(t, "row"), nil, nil
					}
					if rapid.IntRange(0, 4).Draw(t, "undefined") == 0 {
						pt.X, pt.Y = nil, nil
					}
					s.Points = append(s.Points, pt)
				}
				p.Series = append(p.Series, s)
			}
			f.Panels = append(f.Panels, p)
		}
		svg := drawn(t, f, "svg", Screen)
		if bad := regexp.MustCompile(`="[^"]*[ ,LM](NaN|[+-]?Inf)`).Find(svg); bad != nil {
			t.Fatalf("the drawing holds %q", bad)
		}
		parse(t, svg)
	})
}

// Each series of a figure looks different from every other, without its colour
// too, and the same in every figure: those of the vocabulary, of any number, and
// those that only the study knows.
func TestLooksDiffer(t *testing.T) {
	figure := func(keys ...string) *analysis.Figure {
		f := &analysis.Figure{Panels: []analysis.Panel{{}}}
		for _, k := range keys {
			f.Panels[0].Series = append(f.Panels[0].Series, analysis.Series{Key: k})
		}
		return f
	}
	strategies := append(record.Strategies.Names(), "mine", "another", "a-third", "a-fourth")
	var numbers []string
	for i := range 24 {
		numbers = append(numbers, strconv.Itoa(i+1))
	}
	for _, keys := range [][]string{strategies, numbers, record.Modalities.Names(), {"thaw", "safe", "freeze", "danger"}, {"seeds", "ours", "paper"}} {
		seen := make(map[string]string)
		for key, s := range stylesOf(figure(keys...)) {
			if s.Color == "" {
				t.Errorf("%s has no colour", key)
			}
			look := fmt.Sprint(s)
			if other := seen[look]; other != "" {
				t.Errorf("%s and %s look the same: %s", key, other, look)
			}
			seen[look] = key
		}
	}
	plain := make(map[string]string)
	for key, s := range stylesOf(figure(strategies[:7]...)) {
		s.Color = ""
		if other := plain[fmt.Sprint(s)]; other != "" {
			t.Errorf("%s and %s differ by their colour alone", key, other)
		}
		plain[fmt.Sprint(s)] = key
	}
	first := fmt.Sprint(stylesOf(figure(strategies...))["mine"])
	if again := fmt.Sprint(stylesOf(figure(strategies...))["mine"]); again != first {
		t.Errorf("a strategy of one's own looks like %s, then like %s", first, again)
	}

	// A strategy that becomes a term needs nothing here, and a series may bring
	// its own look.
	old := record.Strategies
	defer func() { record.Strategies = old }()
	record.Strategies = append(slices.Clone(old), record.Term{Name: "mine", Style: record.Style{Color: "#123456", Mark: "square"}})
	vocabularies[0] = record.Strategies
	defer func() { vocabularies[0] = old }()
	f := figure("mine", "own")
	f.Panels[0].Series[1].Style = record.Style{Color: "#654321"}
	if s := stylesOf(f); s["mine"].Color != "#123456" || s["own"].Color != "#654321" {
		t.Errorf("looks %v, want those of the vocabulary and of the series", s)
	}
}

// A page holds two drawings of each figure. Two lakes of 4,096 cells with long
// routes, and 216 bars with hatching and whiskers, are not more than others.
func TestDrawingsAreSmall(t *testing.T) {
	figures := hard()
	for id, most := range map[string]int{"lakes": 250_000, "full": 450_000, "many": 150_000} {
		if n := len(drawn(t, figures[id], "svg", Light)); n > most {
			t.Errorf("%s: %d bytes, want at most %d", id, n, most)
		}
	}
}

// Text is broken so that every line fits, and nothing is lost but spaces.
func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zA-Z0-9/ _\-]{0,60}`).Draw(t, "text")
		width := vg.Length(rapid.Float64Range(12, 200).Draw(t, "width"))
		label := lettering(8, nil)
		lines := wrap(label, text, width)
		for _, line := range strings.Split(lines, "\n") {
			if label.Width(line) > width {
				t.Fatalf("%q is %.1f wide, more than %.1f", line, label.Width(line), width)
			}
		}
		squeeze := strings.NewReplacer(" ", "", "\n", "")
		if squeeze.Replace(lines) != squeeze.Replace(text) {
			t.Fatalf("%q became %q", text, lines)
		}
	})
}
