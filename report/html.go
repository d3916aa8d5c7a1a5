package report

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"slices"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// A Page is what an HTML report shows.
type Page struct {
	Runs    []PageRun
	Tables  []analysis.Table
	Figures []PageFigure
	Trials  *Trials
	// Replay returns a trial of the outline to be replayed.
	Replay func(key string) (*Replay, error)
	// AllReplays asks for a replay of every trial that is listed, whatever the
	// size of the page.
	AllReplays bool
}

// A PageRun is one of the runs behind a page.
type PageRun struct {
	Name     string // of its folder, without the way there
	Manifest record.Manifest
	Prompts  map[string]string // texts of prompt files, those at hand
	Sent     []SentPrompt
}

// A SentPrompt is a prompt as it was sent, with its reply.
type SentPrompt struct {
	About string // which one it is
	Trial string
	Slot  string
	Parts []record.Part
	Reply string
}

// A PageFigure is a figure with its drawing as SVG, which is nil for one
// without panels, and another for dark screens.
type PageFigure struct {
	*analysis.Figure
	Light, Dark []byte
}

//go:embed assets/page.html
var pageHTML string

//go:embed assets/page.css
var pageCSS string

//go:embed assets/page.js
var pageJS string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// HTML writes a page that stands alone: its styles, its script, its figures and
// its replays are in it, and a policy in its head forbids it to load anything.
// It works without the script, except for replays. It has no more than 5 MB
// unless it is told to have all replays: what does not fit is left out, and the
// page says so. The same records give the same bytes. Its errors are those of w
// and of Page.Replay.
func HTML(w io.Writer, p *Page) error {
	return htmlWithin(w, p, pageBytes)
}

func htmlWithin(w io.Writer, p *Page, bytes int) error {
	art, left := newArtwork(p), newLeftOut(p)
	room, err := left.fit(p, art, bytes)
	if err != nil {
		return err
	}
	replays, err := gather(p, room)
	if err != nil {
		return err
	}
	view, err := newPageView(p, art, replays, left)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if err := pageTemplate.ExecuteTemplate(out, "head", view); err != nil {
		return err
	}
	if err := replays.write(out); err != nil {
		return err
	}
	if err := pageTemplate.ExecuteTemplate(out, "foot", template.JS(pageJS)); err != nil {
		return err
	}
	return out.Flush()
}

// policy is the page's content security policy: nothing is loaded, and no style
// or script runs but the page's own.
func policy() string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; img-src data:; style-src " + hash(pageCSS) + "; script-src " + hash(pageJS) + "; base-uri 'none'; form-action 'none'"
}

// A replaySet is the replays of a page.
type replaySet struct {
	page    *Page
	chosen  []string          // by the rule
	ready   map[string][]byte // of the chosen ones, those that fit
	titles  map[string]string
	lakes   map[string][]byte
	order   []string // of the lakes
	left    int      // chosen ones without room
	listing map[string]bool
	fatal   map[string]int // steps to death, of the chosen ones that end so
}

func newReplaySet(p *Page) *replaySet {
	return &replaySet{page: p, ready: map[string][]byte{}, titles: map[string]string{}, lakes: map[string][]byte{}, listing: map[string]bool{}, fatal: map[string]int{}}
}

// gather reads the chosen replays, as many as have room.
func gather(p *Page, room int) (*replaySet, error) {
	s := newReplaySet(p)
	if p.Replay == nil {
		return s, nil
	}
	if p.AllReplays {
		for _, g := range p.Trials.settings {
			for i := range g.lines {
				s.listing[g.lines[i].key] = true
			}
		}
	}
	for _, key := range p.Trials.Chosen() {
		r, err := p.Replay(key)
		if err != nil {
			return nil, err
		}
		script, lake, err := s.encode(r)
		if err != nil {
			return nil, err
		}
		// A block, a link from the list, and a choice: the key is in each of them.
		size := len(script) + len(lake) + 3*len(url.QueryEscape(key)) + 2*len(replayTitle(r.Trial)) + 300
		if size > room && !p.AllReplays {
			s.left++
			continue
		}
		room -= size
		s.keepLake(r, lake)
		s.ready[key], s.titles[key] = script, replayTitle(r.Trial)
		s.chosen = append(s.chosen, key)
		s.listing[key] = true
		if r.Trial.Outcome == record.Death {
			s.fatal[key] = len(r.Trial.Steps)
		}
	}
	return s, nil
}

// encode returns a replay as JSON that can stand in a page, and its lake, which
// is nil when the page has it already.
func (s *replaySet) encode(r *Replay) (script, lake []byte, err error) {
	f, err := r.file()
	if err != nil {
		return nil, nil, err
	}
	if script, err = json.Marshal(f); err != nil { // escapes <, > and &
		return nil, nil, fmt.Errorf("replay of trial %s: %w", r.Trial.Key, err)
	}
	if _, ok := s.lakes[f.Lake]; ok {
		return script, nil, nil
	}
	if lake, err = json.Marshal(lakeFile(r.Instance)); err != nil {
		return nil, nil, fmt.Errorf("replay of trial %s: %w", r.Trial.Key, err)
	}
	return script, lake, nil
}

func (s *replaySet) keepLake(r *Replay, lake []byte) {
	if lake != nil {
		id := lakeID(r.Instance)
		s.lakes[id] = lake
		s.order = append(s.order, id)
	}
}

// write writes the replays as data blocks, which no browser runs.
func (s *replaySet) write(out *bufio.Writer) error {
	block := func(id string, data []byte) {
		fmt.Fprintf(out, "<script type=\"application/json\" id=\"%s\">%s</script>\n", template.HTMLEscapeString(id), data)
	}
	for _, key := range s.chosen {
		block("replay-"+key, s.ready[key])
	}
	if s.page.AllReplays && s.page.Replay != nil {
		for _, g := range s.page.Trials.groups() {
			for i := range g.lines {
				key := g.lines[i].key
				if s.ready[key] != nil {
					continue
				}
				r, err := s.page.Replay(key)
				if err != nil {
					return err
				}
				script, lake, err := s.encode(r)
				if err != nil {
					return err
				}
				s.keepLake(r, lake)
				block("replay-"+key, script)
			}
		}
	}
	for _, id := range slices.Sorted(slices.Values(s.order)) {
		block(id, s.lakes[id])
	}
	return nil
}

// embedded reports whether the page has a trial's replay.
func (s *replaySet) embedded(key string) bool { return s.listing[key] }
