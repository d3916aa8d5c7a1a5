package run

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/memory"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/record"

	"github.com/spatialstale/spatialstale/study"
)

// A world is a study's lake as trials use it. It does not change once it is
// made.
type world struct {
	*study.Lake
	events  map[string][]record.Event // by regime
	entries []judge.Entry             // the memory as the audit takes it
	byID    map[string]*memory.Entry
	// asked are what detections are asked about: the entries, and the distractors
	// behind them.
	asked       []judge.Entry
	distractors map[string]memory.Distractor
	scenery     *scenery
}

func newWorld(s *study.Study, seed int, size study.Size) (*world, error) {
	l, err := s.Lake(seed, size)
	if err != nil {
		return nil, err
	}
	w := &world{Lake: l, events: map[string][]record.Event{}, byID: map[string]*memory.Entry{}, scenery: newScenery()}
	for regime, in := range l.Instances {
		w.events[regime] = in.Schedule()
	}
	for i := range l.Memory {
		e := &l.Memory[i]
		w.entries = append(w.entries, judge.Entry{ID: e.ID, Parts: []llm.Part{llm.Text(e.Text)}})
		w.byID[e.ID] = e
	}
	w.asked = w.entries
	if d := s.Detection; d != nil && d.Distractors > 0 {
		w.asked, w.distractors = slices.Clone(w.entries), map[string]memory.Distractor{}
		for _, d := range memory.Distract(seed, d.Distractors, l.Memory) {
			w.asked = append(w.asked, judge.Entry{ID: d.ID, Parts: []llm.Part{llm.Text(d.Text)}})
			w.distractors[d.ID] = d
		}
	}
	return w, nil
}

// window records an audit with the truth beside each verdict.
func (w *world) window(index, step int, state *observe.State, res *judge.Result) record.Window {
	out := record.Window{
		Index:     index,
		Step:      step,
		Visible:   state.Visible(),
		Judgments: make([]record.Judgment, 0, len(res.Verdicts)),
		Replies:   res.Replies,
	}
	for _, v := range res.Verdicts {
		if d, ok := w.distractors[v.ID]; ok {
			out.Distractors = append(out.Distractors, record.Distractor{
				MemoryID: d.ID, Kind: d.Kind, Text: d.Text,
				Verdict: v.Status, Score: v.Score, Confidence: v.Confidence, Reason: v.Reason, Repairs: v.Repairs,
			})
			continue
		}
		e := w.byID[v.ID]
		out.Judgments = append(out.Judgments, record.Judgment{
			MemoryID:   v.ID,
			Pos:        position(e.Pos),
			Claim:      string(e.Claim),
			Truth:      e.Stale(&state.Grid),
			Verdict:    v.Status,
			Score:      v.Score,
			Confidence: v.Confidence,
			Reason:     v.Reason,
			Repairs:    v.Repairs,

			StaleLogprob: v.StaleLogprob,
			ValidLogprob: v.ValidLogprob,
		})
	}
	return out
}

func position(p lake.Pos) record.Pos { return record.Pos{p.Row, p.Col} }

// worlds keeps the worlds of the trials in progress. Plans go seed by seed, so
// a few suffice, and memory does not grow with the number of seeds.
type worlds struct {
	study *study.Study
	keep  int
	mu    sync.Mutex
	known map[worldKey]*worldEntry
	order []worldKey // oldest first
}

type worldKey struct {
	seed int
	size study.Size
}

type worldEntry struct {
	once  sync.Once
	world *world
	err   error
}

func newWorlds(s *study.Study, concurrency int) *worlds {
	return &worlds{study: s, keep: concurrency + 2, known: map[worldKey]*worldEntry{}}
}

func (ws *worlds) get(t *study.Trial) (*world, error) {
	key := worldKey{t.Seed, study.Size{Rows: t.Rows, Cols: t.Cols}}
	ws.mu.Lock()
	e := ws.known[key]
	if e == nil {
		e = &worldEntry{}
		ws.known[key] = e
		ws.order = append(ws.order, key)
		if len(ws.order) > ws.keep {
			delete(ws.known, ws.order[0])
			ws.order = ws.order[1:]
		}
	}
	ws.mu.Unlock()
	e.once.Do(func() { e.world, e.err = newWorld(ws.study, key.seed, key.size) })
	return e.world, e.err
}

// scenery renders the states of a world, each once.
type scenery struct {
	mu    sync.Mutex
	parts map[sceneKey]llm.Part
	bytes int // of the parts
}

type sceneKey struct {
	modality string
	state    observe.State
}

// maxSceneBytes bounds what a world keeps; beyond it rendering starts anew.
const maxSceneBytes = 4 << 20

func newScenery() *scenery { return &scenery{parts: map[sceneKey]llm.Part{}} }

// look returns a state as a listing or a picture.
func (s *scenery) look(modality string, state *observe.State) (llm.Part, error) {
	key := sceneKey{modality, *state}
	if modality == record.Text && state.Radius == 0 {
		key.state.Agent = lake.Pos{} // a whole listing does not show the agent
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.parts[key]; ok {
		return p, nil
	}
	p, err := render(modality, state)
	if err != nil {
		return p, err
	}
	if s.bytes > maxSceneBytes {
		clear(s.parts)
		s.bytes = 0
	}
	s.parts[key] = p
	s.bytes += len(p.Text()) + len(p.PNG()) + 1<<10
	return p, nil
}

func render(modality string, state *observe.State) (llm.Part, error) {
	switch modality {
	case record.Text:
		return llm.Text(state.Listing()), nil
	case record.Vision:
		img := observe.Render(state, nil)
		data, err := observe.EncodePNG(img)
		if err != nil {
			return llm.Part{}, err
		}
		return llm.Image(img, data), nil
	}
	return llm.Part{}, fmt.Errorf("unknown modality %q; there are text and vision", modality)
}

// audited returns a state as an audit sees it: a text says where the agent is,
// a picture shows it.
func (s *scenery) audited(modality string, state *observe.State) ([]llm.Part, error) {
	p, err := s.look(modality, state)
	if err != nil || modality != record.Text {
		return []llm.Part{p}, err
	}
	return []llm.Part{p, llm.Text(state.Where())}, nil
}

// observer shows a world to a navigator.
type observer struct {
	scenery  *scenery
	modality string
}

// Observe implements navigate.Observer.
func (o *observer) Observe(state *observe.State) ([]llm.Part, error) {
	p, err := o.scenery.look(o.modality, state)
	return []llm.Part{p}, err
}

// lakeWords begin the audit's prompt.
const lakeWords = "An agent walks on a frozen lake, a grid of cells.\n"

// writeLines writes entries as the paper does, one line each.
func writeLines(entries []judge.Entry) []llm.Part {
	var b strings.Builder
	for i := range entries {
		e := &entries[i]
		b.WriteString("[" + e.ID + "] ")
		for j := range e.Parts {
			b.WriteString(e.Parts[j].Text())
		}
		b.WriteByte('\n')
	}
	return []llm.Part{llm.Text(b.String())}
}
