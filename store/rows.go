package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/spatialstale/spatialstale/record"
)

// What stands here says how records become rows. A list of pointers to a row's
// values serves three: to write them, to read them, and to sum them.

const specColumns = "key, task, model, modality, regime, seed, rows, cols, strategy, batch, framing, episode"

func specFields(s *record.Spec) []any {
	return []any{&s.Key, &s.Task, &s.Model, &s.Modality, &s.Regime, &s.Seed, &s.Rows, &s.Cols, &s.Strategy, &s.Batch, &s.Framing, &s.Episode}
}

// A resultRow is a trial that has ended, as it stands in results.
type resultRow struct {
	version                 int
	outcome, errorText      string
	counts                  record.Counts
	deathRow, deathCol      *int
	deathMemory, deathCause *string
	moves                   *int
	fallbacks, droppedFlips int
	windows, steps          []byte // nil for none
}

const resultColumns = "version, outcome, error, tp, fp, fn, tn, unanswered, death_row, death_col, death_memory_id, death_cause, moves, fallbacks, dropped_flips, windows, steps"

func (r *resultRow) fields() []any {
	n := &r.counts
	return []any{
		&r.version, &r.outcome, &r.errorText, &n.TP, &n.FP, &n.FN, &n.TN, &n.Unanswered,
		&r.deathRow, &r.deathCol, &r.deathMemory, &r.deathCause, &r.moves, &r.fallbacks, &r.droppedFlips,
		&r.windows, &r.steps,
	}
}

func newResultRow(t *record.Trial) (*resultRow, error) {
	r := &resultRow{
		version: t.Version, outcome: t.Outcome, errorText: t.Error, counts: t.Counts,
		moves: t.Moves(), fallbacks: t.Fallbacks(), droppedFlips: t.DroppedFlips(),
	}
	if d := t.Death; d != nil {
		r.deathRow, r.deathCol, r.deathMemory, r.deathCause = &d.Pos[0], &d.Pos[1], d.MemoryID, &d.Cause
	}
	if t.Windows != nil {
		stored, err := storedWindows(t.Windows)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(stored)
		if err != nil {
			return nil, err
		}
		r.windows = pack(text)
	}
	if t.Steps != nil {
		steps := make([]storedStep, len(t.Steps))
		for i := range t.Steps {
			steps[i] = storedStep(t.Steps[i])
		}
		text, err := json.Marshal(steps)
		if err != nil {
			return nil, err
		}
		r.steps = pack(text)
	}
	return r, nil
}

// trial is the record that the row was made from.
func (r *resultRow) trial(spec record.Spec, p *parser) (*record.Trial, error) {
	if r.version > record.Version {
		return nil, fmt.Errorf("record version %d: %w", r.version, ErrNewer)
	}
	t := &record.Trial{Version: r.version, Spec: spec, Outcome: r.outcome, Error: r.errorText, Counts: r.counts}
	if r.deathRow != nil && r.deathCol != nil && r.deathCause != nil {
		t.Death = &record.DeathRecord{Pos: record.Pos{*r.deathRow, *r.deathCol}, MemoryID: r.deathMemory, Cause: *r.deathCause}
	}
	if r.windows != nil {
		text, err := unpack(r.windows)
		if err != nil {
			return nil, err
		}
		if t.Windows, err = p.windows(text); err != nil {
			return nil, err
		}
	}
	if r.steps != nil {
		text, err := unpack(r.steps)
		if err != nil {
			return nil, err
		}
		if t.Steps, err = parseSteps(text); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// A storedStep is a record.Step whose JSON leaves out what is false or absent.
type storedStep struct {
	T        int           `json:"t"`
	Pos      record.Pos    `json:"pos"`
	Action   string        `json:"action"`
	Next     record.Pos    `json:"next"`
	Cell     string        `json:"cell"`
	Fallback bool          `json:"fallback,omitzero"`
	Event    []record.Flip `json:"event,omitzero"`
	Dropped  []record.Flip `json:"dropped,omitzero"`
	Memory   string        `json:"memory"`
	Removed  []string      `json:"removed,omitzero"`
	Visible  []string      `json:"visible,omitzero"`
	Reply    string        `json:"reply,omitzero"`
}

// A storedWindow is a record.Window whose judgments are a table by columns: the
// names of their fields are not said again for every entry, which makes it
// half as long and three times as fast to read.
type storedWindow struct {
	Index     int             `json:"window"`
	Step      int             `json:"step"`
	Visible   []string        `json:"visible,omitzero"`
	Judgments *judgments      `json:"judgments,omitzero"`
	Replies   []record.Parsed `json:"replies,omitzero"`

	Distractors []record.Distractor `json:"distractors,omitzero"`
}

// judgments hold one value an entry in each column; a column in which every
// value is absent is left out. Entries are entryColumns, in a text of their own
// because window after window has the same ones, which need reading only once.
type judgments struct {
	Entries      json.RawMessage `json:"entries"`
	Truth        []bool          `json:"truth"`
	Verdict      []string        `json:"verdict"`
	Score        []*float64      `json:"score,omitzero"`
	Confidence   []*float64      `json:"confidence,omitzero"`
	Reason       []string        `json:"reason,omitzero"`
	StaleLogprob []*float64      `json:"stale_logprob,omitzero"`
	ValidLogprob []*float64      `json:"valid_logprob,omitzero"`
	Repairs      [][]string      `json:"repairs,omitzero"`
}

// entryColumns say what was judged.
type entryColumns struct {
	MemoryID []string     `json:"memory_id"`
	Pos      []record.Pos `json:"pos"`
	Claim    []string     `json:"claim"`
}

func storedWindows(all []record.Window) (stored []storedWindow, err error) {
	stored = make([]storedWindow, len(all))
	for i := range all {
		w := &all[i]
		stored[i] = storedWindow{Index: w.Index, Step: w.Step, Visible: w.Visible, Replies: w.Replies, Distractors: w.Distractors}
		if w.Judgments != nil {
			if stored[i].Judgments, err = columns(w.Judgments); err != nil {
				return nil, err
			}
		}
	}
	return stored, nil
}

func columns(all []record.Judgment) (j *judgments, err error) {
	j = &judgments{Truth: make([]bool, len(all)), Verdict: make([]string, len(all))}
	e := entryColumns{make([]string, len(all)), make([]record.Pos, len(all)), make([]string, len(all))}
	for i := range all {
		e.MemoryID[i], e.Pos[i], e.Claim[i] = all[i].MemoryID, all[i].Pos, all[i].Claim
		j.Truth[i], j.Verdict[i] = all[i].Truth, all[i].Verdict
		keep(&j.Score, len(all), i, finite(all[i].Score), all[i].Score != nil)
		keep(&j.Confidence, len(all), i, finite(all[i].Confidence), all[i].Confidence != nil)
		keep(&j.Reason, len(all), i, all[i].Reason, all[i].Reason != "")
		keep(&j.StaleLogprob, len(all), i, finite(all[i].StaleLogprob), all[i].StaleLogprob != nil)
		keep(&j.ValidLogprob, len(all), i, finite(all[i].ValidLogprob), all[i].ValidLogprob != nil)
		keep(&j.Repairs, len(all), i, all[i].Repairs, all[i].Repairs != nil)
	}
	j.Entries, err = json.Marshal(e)
	return j, err
}

// keep puts a value that is present into its column.
func keep[T any](column *[]T, n, i int, value T, present bool) {
	if !present {
		return
	}
	if *column == nil {
		*column = make([]T, n)
	}
	(*column)[i] = value
}

// finite returns a number that JSON has a word for, nil for any other.
func finite(p *float64) *float64 {
	if p == nil || math.IsInf(*p, 0) || math.IsNaN(*p) {
		return nil
	}
	return p
}

var errMalformed = errors.New("malformed record")

func (p *parser) windows(text []byte) ([]record.Window, error) {
	var stored []storedWindow
	if err := json.Unmarshal(text, &stored); err != nil {
		return nil, err
	}
	windows := make([]record.Window, len(stored))
	for i := range stored {
		w := &stored[i]
		windows[i] = record.Window{Index: w.Index, Step: w.Step, Visible: w.Visible, Replies: w.Replies, Distractors: w.Distractors}
		if w.Judgments != nil {
			var err error
			if windows[i].Judgments, err = p.judgments(w.Judgments); err != nil {
				return nil, err
			}
		}
	}
	return windows, nil
}

func parseSteps(text []byte) ([]record.Step, error) {
	var stored []storedStep
	if err := json.Unmarshal(text, &stored); err != nil {
		return nil, err
	}
	steps := make([]record.Step, len(stored))
	for i := range stored {
		steps[i] = record.Step(stored[i])
	}
	return steps, nil
}

// A parser reads windows; it remembers what it has read of entries. Many
// goroutines may use it.
type parser struct {
	mu    sync.Mutex
	known *recent[string, *entryColumns]
}

// rememberedEntries is how much text of entries a parser remembers, a generation.
const rememberedEntries = 4 << 20

func newParser() *parser {
	return &parser{known: newRecent[string](rememberedEntries, func(e *entryColumns) int { return 50 * len(e.MemoryID) })}
}

func (p *parser) entries(text []byte) (*entryColumns, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.known.get(string(text)); ok {
		return e, nil
	}
	e := new(entryColumns)
	if err := json.Unmarshal(text, e); err != nil {
		return nil, err
	}
	p.known.put(string(text), e)
	return e, nil
}

// judgments undoes columns.
func (p *parser) judgments(j *judgments) ([]record.Judgment, error) {
	e, err := p.entries(j.Entries)
	if err != nil {
		return nil, err
	}
	n := len(e.MemoryID)
	for _, length := range []int{len(e.Pos), len(e.Claim), len(j.Truth), len(j.Verdict)} {
		if length != n {
			return nil, fmt.Errorf("%w: columns of %d and %d entries", errMalformed, n, length)
		}
	}
	for _, length := range []int{len(j.Score), len(j.Confidence), len(j.Reason), len(j.StaleLogprob), len(j.ValidLogprob), len(j.Repairs)} {
		if length != n && length != 0 {
			return nil, fmt.Errorf("%w: columns of %d and %d entries", errMalformed, n, length)
		}
	}
	all := make([]record.Judgment, n)
	for i := range all {
		all[i] = record.Judgment{
			MemoryID: e.MemoryID[i], Pos: e.Pos[i], Claim: e.Claim[i], Truth: j.Truth[i], Verdict: j.Verdict[i],
			Score: at(j.Score, i), Confidence: at(j.Confidence, i), Reason: at(j.Reason, i),
			StaleLogprob: at(j.StaleLogprob, i), ValidLogprob: at(j.ValidLogprob, i), Repairs: at(j.Repairs, i),
		}
	}
	return all, nil
}

// at is a value of a column that may have been left out.
func at[T any](column []T, i int) (value T) {
	if len(column) == 0 {
		return value
	}
	return column[i]
}

// mostPacked is the longest text that is compressed, and so the most that a
// compressed one may grow to: a few bytes of zstd may stand for gigabytes. A
// longer text is kept as it is.
const mostPacked = 4 << 20

var (
	compressor   = must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true)))
	decompressor = must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(mostPacked)))
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // the options are constants
	}
	return v
}

// pack returns JSON as it is kept: compressed where that saves something.
func pack(text []byte) []byte {
	if len(text) <= mostPacked {
		if packed := compressor.EncodeAll(text, nil); len(packed) < len(text) {
			return packed
		}
	}
	return text
}

// zstdMagic begins what is compressed, and no JSON.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// unpack undoes pack.
func unpack(kept []byte) ([]byte, error) {
	if bytes.HasPrefix(kept, zstdMagic) {
		return decompressor.DecodeAll(kept, nil)
	}
	return kept, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum sums the values of a row, given by pointers as to Scan.
func checksum(fields []any) int64 {
	text, err := json.Marshal(fields)
	if err != nil {
		panic(fmt.Sprintf("store: a row does not marshal: %v", err)) // plain values: cannot happen
	}
	return int64(crc32.Checksum(text, castagnoli))
}
