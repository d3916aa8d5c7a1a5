package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// A Replay is a trial that can be stepped through on a page: its story, and
// what the model said.
type Replay struct {
	Story
	Calls []*record.Call // of the trial; their prompts are not used
}

// Words longer than this many characters are cut, and the page says so.
const (
	replyRoom     = 2_000
	reasoningRoom = 3_000
	auditRoom     = 1_200
)

// A replayFile is what the page's script reads of a replay. Names are short
// because there are many.
type replayFile struct {
	Key     string         `json:"key"`
	Lake    string         `json:"lake"` // id of its replayLake
	Task    string         `json:"task"`
	Title   string         `json:"title"`
	Memory  bool           `json:"memory"` // the agent has one
	Ending  string         `json:"ending"`
	Outcome string         `json:"outcome"`
	Steps   []replayStep   `json:"steps,omitempty"`
	Windows []replayWindow `json:"windows,omitempty"`
}

type replayStep struct {
	From    record.Pos    `json:"from"`
	To      record.Pos    `json:"to"`
	Action  string        `json:"action"`
	Event   []record.Flip `json:"event,omitempty"`
	Dropped []record.Flip `json:"dropped,omitempty"`
	Removed []int         `json:"removed,omitempty"` // entries, by their place in the lake's list
	Visible []string      `json:"visible,omitempty"`
	Note    string        `json:"note,omitempty"`  // why the step was not the model's own
	Entry   string        `json:"entry,omitempty"` // what its memory said of the cell entered
	Reply   string        `json:"reply,omitempty"`
	Thought string        `json:"thought,omitempty"`
}

type replayWindow struct {
	Moves    int               `json:"moves"`    // made before it
	Verdicts string            `json:"verdicts"` // a letter an entry: stale, valid, unanswered, - for not asked
	Summary  string            `json:"summary"`
	Reasons  map[int]string    `json:"reasons,omitempty"` // of entries flagged or missed
	Visible  []string          `json:"visible,omitempty"`
	Words    []replayAuditCall `json:"words,omitempty"`
}

// A replayAuditCall is a reply to an audit that its judgments do not tell
// whole: it was not read in full, or came with reasoning.
type replayAuditCall struct {
	Slot    string `json:"slot"`
	Outcome string `json:"outcome"`
	Reply   string `json:"reply,omitempty"`
	Thought string `json:"thought,omitempty"`
}

// A replayLake is an instance, which several replays share.
type replayLake struct {
	ID      string         `json:"id"`
	Rows    []string       `json:"rows"`
	After   []string       `json:"after"`
	Events  []record.Event `json:"events,omitempty"`
	Texts   []string       `json:"texts"`   // @ stands for the entry's cell
	Entries []replayEntry  `json:"entries"` // in the memory's order
}

type replayEntry struct {
	row, col, text int
	id             string
	safe           bool
}

// MarshalJSON writes [row, column, place in Texts, id, 1 for SAFE].
func (e replayEntry) MarshalJSON() ([]byte, error) {
	safe := 0
	if e.safe {
		safe = 1
	}
	return json.Marshal([]any{e.row, e.col, e.text, e.id, safe})
}

// lakeID names an instance on a page.
func lakeID(in *record.Instance) string {
	return fmt.Sprintf("lake-%d-%dx%d-%s", in.Seed, len(in.Rows), len(in.Rows[0]), in.Regime)
}

func lakeFile(in *record.Instance) *replayLake {
	l := &replayLake{ID: lakeID(in), Rows: in.Rows, After: in.RowsAfter, Events: in.Events}
	texts := map[string]int{}
	for i := range in.Memory {
		e := &in.Memory[i]
		text := strings.Replace(words(e.Text, replyRoom), at(e.Pos).String(), "@", 1)
		n, ok := texts[text]
		if !ok {
			n = len(texts)
			texts[text] = n
			l.Texts = append(l.Texts, text)
		}
		l.Entries = append(l.Entries, replayEntry{e.Pos[0], e.Pos[1], n, e.ID, e.Claim == "SAFE"})
	}
	return l
}

// file makes what the page's script reads.
func (r *Replay) file() (*replayFile, error) {
	t := r.Trial
	f := &replayFile{
		Key: t.Key, Lake: lakeID(r.Instance), Task: t.Task, Title: replayTitle(t), Outcome: t.Outcome,
		Memory: t.Task == record.Detect || t.Strategy != "no-memory",
	}
	teller, err := r.begin()
	if err != nil {
		return nil, err
	}
	place := map[string]int{}
	for i := range r.Instance.Memory {
		place[r.Instance.Memory[i].ID] = i
	}
	calls := map[string]*record.Call{}
	for _, c := range r.Calls {
		calls[c.Slot] = c
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		teller.apply(s.Event)
		step := replayStep{
			From: s.Pos, To: s.Next, Action: s.Action, Event: s.Event, Dropped: s.Dropped, Visible: s.Visible,
			Entry: teller.memoryOf(s),
		}
		for _, id := range s.Removed {
			if n, ok := place[id]; ok {
				step.Removed = append(step.Removed, n)
			}
		}
		if s.Fallback {
			step.Note = fmt.Sprintf("The reply gave no action (%s), so this step is the fallback’s.", s.Reply)
		}
		if c := calls[fmt.Sprintf("step%d", s.T)]; c != nil {
			step.Reply, step.Thought = words(c.Reply, replyRoom), words(c.Reasoning, reasoningRoom)
		}
		f.Steps = append(f.Steps, step)
	}
	for i := range t.Windows {
		f.Windows = append(f.Windows, windowFile(&t.Windows[i], place, len(r.Instance.Memory), r.Calls))
	}
	f.Ending = words(teller.end(), replyRoom)
	return f, nil
}

func windowFile(w *record.Window, place map[string]int, entries int, calls []*record.Call) replayWindow {
	out := replayWindow{Moves: w.Step, Summary: judged(w), Visible: w.Visible, Reasons: map[int]string{}}
	verdicts := bytes.Repeat([]byte{'-'}, entries)
	for i := range w.Judgments {
		j := &w.Judgments[i]
		n, ok := place[j.MemoryID]
		if !ok {
			continue
		}
		verdicts[n] = map[string]byte{record.Stale: 's', record.Valid: 'v', record.Unanswered: 'u'}[j.Verdict]
		if j.Reason != "" && (j.Verdict == record.Stale || j.Truth) {
			out.Reasons[n] = words(j.Reason, auditRoom)
		}
	}
	out.Verdicts = string(verdicts)
	prefix := fmt.Sprintf("window%d/", w.Index)
	for _, c := range calls {
		if !strings.HasPrefix(c.Slot, prefix) {
			continue
		}
		read := slices.IndexFunc(w.Replies, func(p record.Parsed) bool { return p.Slot == c.Slot })
		outcome := "answered"
		if read >= 0 {
			outcome = w.Replies[read].Outcome
		}
		if outcome == "answered" && c.Reasoning == "" {
			continue
		}
		said := replayAuditCall{Slot: c.Slot, Outcome: outcome, Thought: words(c.Reasoning, auditRoom)}
		if outcome != "answered" {
			said.Reply = words(c.Reply, auditRoom)
		}
		out.Words = append(out.Words, said)
	}
	return out
}

// replayTitle names a trial without its model.
func replayTitle(t *record.Trial) string {
	strategy := analysis.StrategyName(t.Strategy)
	if t.Task == record.Detect {
		return fmt.Sprintf("%s, detection from %s by %s, seed %d", t.Regime, t.Modality, strategy, t.Seed)
	}
	return fmt.Sprintf("%s, navigation from %s, %s, seed %d, episode %d", t.Regime, t.Modality, strategy, t.Seed, t.Episode)
}

// words makes what a model said safe to show, and cuts it to so many
// characters: it may hold anything, marks that turn the direction of writing
// and broken UTF-8 among it.
func words(s string, room int) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return -1
		case r == utf8.RuneError, unicode.IsControl(r), isBidi(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
	if len(clean) <= room {
		return clean
	}
	runes := []rune(clean)
	if len(runes) <= room {
		return clean
	}
	return fmt.Sprintf("%s… [%d more characters]", string(runes[:room]), len(runes)-room)
}

// isBidi reports whether a rune moves the letters around it.
func isBidi(r rune) bool {
	return r == '\u200e' || r == '\u200f' || r == '\u061c' || '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}
