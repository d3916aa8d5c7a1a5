package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"
	"regexp"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report/figure"
)

// lakes is a figure of several large lakes, drawn as a page takes it.
func lakes(tb testing.TB, id string, panels, side int) PageFigure {
	tb.Helper()
	f := &analysis.Figure{ID: id, Title: "Lakes", About: "Many cells.", Across: 3}
	for n := range panels {
		s := &analysis.Scene{}
		for r := range side {
			row := make([]byte, side)
			for c := range row {
				row[c] = 'F'
				switch h := (r*7919 + c*104729 + n*31) % 97; {
				case h < 25:
					row[c] = 'H'
					if h < 9 {
						s.Thaw = append(s.Thaw, record.Pos{r, c})
					}
				case h > 90:
					s.Freeze = append(s.Freeze, record.Pos{r, c})
				}
			}
			s.Rows = append(s.Rows, string(row))
		}
		s.Routes = []analysis.Route{{Name: "OMCD", Key: "omcd", Outcome: record.Death, Cells: []record.Pos{{0, 0}, {0, 1}, {1, 1}}}}
		f.Panels = append(f.Panels, analysis.Panel{Title: fmt.Sprint("lake ", n), Scene: s})
	}
	out := PageFigure{Figure: f}
	for _, one := range []struct {
		into  *[]byte
		theme figure.Theme
	}{{&out.Light, figure.Light}, {&out.Dark, figure.Dark}} {
		var b bytes.Buffer
		if err := figure.Draw(&b, f, "svg", one.theme); err != nil {
			tb.Fatal(err)
		}
		*one.into = b.Bytes()
	}
	return out
}

// repeated makes a table as large as that of a run with many models.
func repeated(t analysis.Table, rows int) analysis.Table {
	few := t.Rows
	for len(t.Rows) < rows {
		t.Rows = append(t.Rows, few...)
	}
	return t
}

// A page keeps its bound whatever it is to hold: large lakes, long tables, many
// settings, replays of talkative models. What it leaves out has its place and
// says how it is had.
func TestPageKeepsItsBound(t *testing.T) {
	if testing.Short() {
		t.Skip("makes large pages")
	}
	talk := func(string) string { return strings.Repeat("I see a hole. ", 200) }
	t.Run("lakes", func(t *testing.T) {
		p := broken().page(t, talk)
		p.Figures = append(p.Figures, lakes(t, "large", 12, 64))
		page := htmlOf(t, p)
		if len(page) > pageBytes {
			t.Errorf("%d bytes", len(page))
		}
		if !bytes.Contains(page, []byte(`src="data:image/png;base64,`)) {
			t.Error("no figure became a picture")
		}
		if bytes.Contains(page, []byte("left out for want of room: a page")) {
			t.Error("something is left out although pictures make room for all")
		}
	})
	t.Run("tables", func(t *testing.T) {
		p := named().page(t, talk)
		for i := range p.Tables {
			if rows := map[string]int{"contrasts": 3_000, "headline": 500}[p.Tables[i].ID]; rows > 0 {
				p.Tables[i] = repeated(p.Tables[i], rows)
			}
		}
		const bound = 1_400_000
		var b bytes.Buffer
		if err := htmlWithin(&b, p, bound); err != nil {
			t.Fatal(err)
		}
		page := b.Bytes()
		if len(page) > bound {
			t.Errorf("%d bytes", len(page))
		}
		for _, want := range []string{
			`spatialstale report some-run --table contrasts --out DIR`, `spatialstale export some-run --format jsonl --out DIR`, `id="contrasts"`, `id="detection"`, `<script type="application/json" id="replay-`,
			`The first 90 of `,
		} {
			if !bytes.Contains(page, []byte(want)) {
				t.Errorf("the page lacks %q", want)
			}
		}
	})
	// Each step of leaving out, down to a page that cannot be smaller.
	t.Run("steps", func(t *testing.T) {
		p := broken().page(t, talk)
		p.Figures = append(p.Figures, lakes(t, "large", 3, 32))
		whole := len(htmlOf(t, p))
		for bound := whole; bound > 500_000; bound -= whole / 3 {
			var b bytes.Buffer
			if err := htmlWithin(&b, p, bound); err != nil {
				t.Fatal(err)
			}
			if b.Len() > bound {
				t.Errorf("%d bytes in room for %d", b.Len(), bound)
			}
			hrefs := regexp.MustCompile(`href="#([^"]+)"`).FindAllSubmatch(b.Bytes(), -1)
			for _, h := range hrefs {
				if !bytes.Contains(b.Bytes(), []byte(`id="`+strings.ReplaceAll(string(h[1]), "%2f", "/")+`"`)) && !bytes.HasPrefix(h[1], []byte("replay-")) {
					t.Errorf("with room for %d a link leads nowhere: %s", bound, h[1])
				}
			}
		}
	})
}

// Numbers of a path, by hand: points become steps of hundredths, level and
// upright lines one number, and rounding does not add up.
func TestSlimPath(t *testing.T) {
	for d, want := range map[string]string{
		"M1,2L3,2L3,5Z":                  "M1 2h2v3z",
		"M0.5,0.25L0.504,0.254L1.5,2.25": "M.5 .25h0l1 2",
		"M0,0L1,1L2,1L1,0":               "M0 0l1 1h1l-1-1",
		"M1,1L2,2M3,3L3,4":               "M1 1l1 1M3 3v1",
		"M1,1C1,2,2,3,3,3":               "M1 1c0 1 1 2 2 2",
		"M5,5L6,5ZL5,6":                  "M5 5h1zv1",
		"M0,0L0.333,0L0.666,0L0.999,0":   "M0 0h.33 .34 .33",
		"M1,1A3,3,0,1,1,4,4":             "M1,1A3,3,0,1,1,4,4", // not known: as it is
		"M-1.5,-0.05L-1.5,-3":            "M-1.5-.05v-2.95",
	} {
		if got := slimPath(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}

// Slimming keeps every element but lines that become one, every word and every
// style.
func TestSlim(t *testing.T) {
	const svg = `<svg width="9"><title>a <b</title>
<g transform="scale(1, -1)">
<path d="M0,0L1,0Z" style="fill:#FFF" />
<path d="M0,0L1,0Z" style="fill:#FFF" />
<path d="M0,0L1,0" style="fill:none;stroke:#000" />
<path d="M0,1L1,1" style="fill:none;stroke:#000" />
<text x="1" y="2" transform="scale(1, -1)"
	style="font-size:8px">two  words</text>
<path d="M0,2L1,2" style="fill:none;stroke:#000" />
</g>
</svg>`
	const want = `<svg width="9"><style>.a{fill:#FFF}.b{fill:none;stroke:#000}.c{font-size:8px}</style><title>a <b</title><g transform="scale(1, -1)">` +
		`<path class="a" d="M0 0h1z"/><path class="a" d="M0 0h1z"/><path class="b" d="M0 0h1M0 1h1"/>` +
		`<text x="1" y="2" transform="scale(1, -1)" class="c">two  words</text><path class="b" d="M0 2h1"/></g></svg>`
	if got := string(slim([]byte(svg))); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if slim(nil) != nil {
		t.Error("no drawing became one")
	}
	f := lakes(t, "lake", 1, 12)
	if small := slim(f.Light); len(small)*5 > len(f.Light)*4 {
		t.Errorf("%d bytes of %d", len(small), len(f.Light))
	}
}

// A picture of a figure has its colours and its size.
func TestPicture(t *testing.T) {
	f := lakes(t, "lake", 2, 16)
	small, err := picture(f.Figure, figure.Light)
	if err != nil {
		t.Fatal(err)
	}
	var full bytes.Buffer
	if err := figure.Draw(&full, f.Figure, "png", figure.Light); err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(bytes.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	want, err := png.Decode(&full)
	if err != nil || got.Bounds() != want.Bounds() {
		t.Fatalf("%v, want %v, %v", got.Bounds(), want.Bounds(), err)
	}
	worst := 0
	for y := range got.Bounds().Dy() {
		for x := range got.Bounds().Dx() {
			r, g, b, _ := got.At(x, y).RGBA()
			r2, g2, b2, _ := want.At(x, y).RGBA()
			for _, d := range []int{int(r) - int(r2), int(g) - int(g2), int(b) - int(b2)} {
				worst = max(worst, max(d, -d)>>8)
			}
		}
	}
	if worst > 40 {
		t.Errorf("a colour is off by %d of 255", worst)
	}
	if _, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(dataURL("image/png", small), "data:image/png;base64,")); err != nil {
		t.Error(err)
	}
}
