package report

import (
	"bytes"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/report/figure"
)

// A page is to be sent by mail and opened on a phone, so it is bounded. Replays
// take what the rest leaves, at most replayBytes; where the rest is large it is
// made smaller until replayLeast are free.
const (
	pageBytes   = 5_000_000
	replayBytes = 2_500_000
	replayLeast = 500_000
	// slack is for the choices and links of replays, which come with them.
	slack = 50_000
)

// Figures larger than this are embedded as pictures where that makes them
// smaller, also on a page with room.
const figureBytes = 1_000_000

// No picture is smaller than a drawing of less than this.
const pictureBytes = 100_000

// A leftOut is what a page shows in a shorter form or not at all, for want of
// room. What is left out has its place on the page, and says how it is had.
type leftOut struct {
	runs     string          // as a command names all of them
	run      string          // and one
	pictures map[string]bool // figures, by id, that stand as pictures
	figures  map[string]bool // by id
	tables   map[string]bool // by id
	lists    map[string]bool // settings' lists of trials, by id
	sent     bool            // prompts as they were sent
	trials   bool            // all lists of trials
}

func newLeftOut(p *Page) *leftOut {
	l := &leftOut{runs: "RUN", run: "RUN", pictures: map[string]bool{}, figures: map[string]bool{}, tables: map[string]bool{}, lists: map[string]bool{}}
	var names []string
	for i := range p.Runs {
		names = append(names, quoted(p.Runs[i].Name))
	}
	if len(names) > 0 {
		l.runs = clean(strings.Join(names, " "))
	}
	if len(names) == 1 {
		l.run = l.runs
	}
	return l
}

// left says that something is not on the page, and what to do.
func (l *leftOut) left(what, command string) string {
	return fmt.Sprintf("%s left out for want of room: a page has at most %s MB. %s", what, thousands(pageBytes/1_000_000), command)
}

// file says where a table or a figure is instead.
func (l *leftOut) file(id string) string {
	return l.left("It is", fmt.Sprintf("This writes it as a file: spatialstale report %s --table %s --out DIR", l.runs, id))
}

// A piece is a part of a page that can be made smaller.
type piece struct {
	id    string
	bytes int // what doing so frees
}

// more leaves out more of a page, to free a number of bytes: first what costs
// the reader least, and of that the largest. It reports whether there was
// anything.
func (l *leftOut) more(v *pageView, art *artwork, bytes int) (bool, error) {
	choose := func(into map[string]bool, pieces []piece) bool {
		slices.SortStableFunc(pieces, func(a, b piece) int { return b.bytes - a.bytes })
		some := false
		for _, one := range pieces {
			if bytes > 0 && one.bytes > 0 && !into[one.id] {
				into[one.id], some = true, true
				bytes -= one.bytes
			}
		}
		return some
	}
	var pictures, figures, tables, lists []piece
	for i := range v.Results {
		if t := v.Results[i].Table; t != nil && t.Left == "" {
			tables = append(tables, pieceOfTable(t))
		}
		if f := v.Results[i].Figure; f != nil && f.Left == "" && f.Need == "" {
			size := len(f.Light) + len(f.Dark)
			figures = append(figures, piece{f.ID, size})
			if l.pictures[f.ID] || size < pictureBytes {
				continue
			}
			light, dark, err := art.picture(f.ID)
			if err != nil {
				return false, err
			}
			pictures = append(pictures, piece{f.ID, size - len(light) - len(dark)})
		}
	}
	if v.Headline != nil && v.Headline.Left == "" {
		tables = append(tables, pieceOfTable(v.Headline))
	}
	for _, task := range v.Tasks {
		for _, m := range task.Models {
			for i := range m.Sets {
				lists = append(lists, piece{m.Sets[i].ID, len(m.Sets[i].Rows)})
			}
		}
	}
	switch {
	case choose(l.pictures, pictures):
	case !l.sent && slices.ContainsFunc(v.Runs, func(r htmlRun) bool { return len(r.Sent) > 0 }):
		l.sent = true
	case choose(l.lists, lists):
	case !l.trials && len(lists) > 0:
		l.trials = true
	case choose(l.tables, tables):
	case choose(l.figures, figures):
	default:
		return false, nil
	}
	return true, nil
}

// fit leaves out what a page has no room for, and returns the room for replays.
func (l *leftOut) fit(p *Page, art *artwork, bytes int) (room int, err error) {
	least := min(replayLeast, bytes/4)
	if p.Replay == nil || p.AllReplays {
		least = 0
	}
	for {
		v, err := newPageView(p, art, newReplaySet(p), l)
		if err != nil {
			return 0, err
		}
		size, err := v.size()
		if err != nil {
			return 0, err
		}
		over := size + least + slack - bytes
		if over > 0 {
			some, err := l.more(v, art, over)
			if err != nil {
				return 0, err
			}
			if some {
				continue
			}
		}
		return min(replayBytes, bytes-slack-size), nil
	}
}

func pieceOfTable(t *htmlTable) piece {
	var n counter
	if err := pageTemplate.ExecuteTemplate(&n, "table", t); err != nil || len(t.Bodies) == 0 {
		return piece{t.ID, 0}
	}
	return piece{t.ID, int(n)}
}

// A counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// size returns the bytes of a page without its replays.
func (v *pageView) size() (int, error) {
	var n counter
	if err := pageTemplate.ExecuteTemplate(&n, "head", v); err != nil {
		return 0, err
	}
	err := pageTemplate.ExecuteTemplate(&n, "foot", template.JS(pageJS))
	return int(n), err
}

// An artwork is the figures of a page as addresses of drawings, each made when
// it is first asked for.
type artwork struct {
	figures  map[string]*PageFigure
	drawings map[string][2]string // light, dark
	pictures map[string][2]string
}

func newArtwork(p *Page) *artwork {
	a := &artwork{figures: map[string]*PageFigure{}, drawings: map[string][2]string{}, pictures: map[string][2]string{}}
	for i := range p.Figures {
		a.figures[p.Figures[i].ID] = &p.Figures[i]
	}
	return a
}

// drawing returns a figure as SVG.
func (a *artwork) drawing(id string) (light, dark string) {
	d, ok := a.drawings[id]
	if !ok {
		f := a.figures[id]
		d = [2]string{dataURL("image/svg+xml", slim(f.Light)), dataURL("image/svg+xml", slim(f.Dark))}
		a.drawings[id] = d
	}
	return d[0], d[1]
}

// picture returns a figure as PNG.
func (a *artwork) picture(id string) (light, dark string, err error) {
	d, ok := a.pictures[id]
	if ok {
		return d[0], d[1], nil
	}
	f := a.figures[id]
	for i, theme := range []figure.Theme{figure.Light, figure.Dark} {
		if i == 1 && f.Dark == nil {
			continue
		}
		small, err := picture(f.Figure, theme)
		if err != nil {
			return "", "", fmt.Errorf("figure %s: %w", id, err)
		}
		d[i] = dataURL("image/png", small)
	}
	a.pictures[id] = d
	return d[0], d[1], nil
}

// picture draws a figure in at most 256 colours.
func picture(f *analysis.Figure, theme figure.Theme) ([]byte, error) {
	var b bytes.Buffer
	if err := figure.Draw(&b, f, "png", theme); err != nil {
		return nil, err
	}
	full, err := png.Decode(&b)
	if err != nil {
		return nil, err
	}
	var small bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&small, paletted(full)); err != nil {
		return nil, err
	}
	return small.Bytes(), nil
}

// paletted keeps of colours that are much alike the most frequent, of these the
// 256 that most of a drawing has, and takes the nearest of them for the others,
// which are on the edges of its shapes.
func paletted(full image.Image) *image.Paletted {
	bounds := full.Bounds()
	at := func(x, y int) color.RGBA {
		r, g, b, _ := full.At(x, y).RGBA()
		return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}
	}
	number := func(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }
	counts := map[color.RGBA]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	colors := make([]color.RGBA, 0, len(counts))
	for c := range counts {
		colors = append(colors, c)
	}
	slices.SortFunc(colors, func(a, b color.RGBA) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return number(a) - number(b)
	})
	// Alike are those whose upper four bits are the same.
	like := func(c color.RGBA) color.RGBA { return color.RGBA{c.R >> 4, c.G >> 4, c.B >> 4, 0} }
	alike := map[color.RGBA]int{}
	for _, c := range colors {
		alike[like(c)] += counts[c]
	}
	var first []color.RGBA // of those alike
	seen := map[color.RGBA]bool{}
	for _, c := range colors {
		if !seen[like(c)] {
			seen[like(c)] = true
			first = append(first, c)
		}
	}
	slices.SortStableFunc(first, func(a, b color.RGBA) int { return alike[like(b)] - alike[like(a)] })
	var palette color.Palette
	for _, c := range first[:min(len(first), 256)] {
		palette = append(palette, c)
	}
	out := image.NewPaletted(bounds, palette)
	nearest := map[color.RGBA]uint8{}
	for _, c := range colors {
		nearest[c] = uint8(palette.Index(c))
	}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			out.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	return out
}
