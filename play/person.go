// Package play lets a person take a model's place: what a model would be sent is
// shown, at a terminal or on a page, and what the person does is the answer. The
// person is a model of the run, named human/NAME, so that what they did is stored,
// resumed, checked and reported like any other's, and stands beside models: the
// human baseline.
//
// It refuses to show anything that a model cannot see.
package play

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/memory"
	"github.com/spatialstale/spatialstale/observe"
)

// A Person is an llm.Model whose answers somebody gives. It has one question at
// a time, and is safe for concurrent use.
type Person struct {
	turn chan struct{} // held by the call that is shown

	mu      sync.Mutex
	asked   *Question // nil while nothing is asked
	answer  chan string
	number  int
	changed chan struct{} // closed when asked changes
}

// New returns a person of whom nothing is asked yet.
func New() *Person {
	return &Person{turn: make(chan struct{}, 1), changed: make(chan struct{})}
}

// A Question is one call of a model, read as far as a person needs it. All of it
// stands in the call.
type Question struct {
	Number  int // counts the person's questions, from 1
	Trial   string
	Slot    string
	Audit   bool     // entries are to be judged, not a step chosen
	Prompt  string   // the words that a model is sent
	Picture []byte   // a PNG; nil where the lake is told in words
	Rows    []string // a letter for each cell, "?" where it is not seen; nil with a picture
	Agent   *lake.Pos
	Goal    lake.Pos
	Left    string  // the line that counts the steps left; empty in an audit
	Entries []Entry // the memory, or of an audit the entries to judge
}

// An Entry is one of the memory.
type Entry struct{ ID, Text string }

// Claims draws the memory as a map: S where an entry says SAFE, D where one says
// DANGER, U where it is said to be unknown, "." where it says nothing.
func (q *Question) Claims(rows, cols int) []string {
	out := make([][]byte, rows)
	for i := range out {
		out[i] = []byte(strings.Repeat(".", cols))
	}
	for _, e := range q.Entries {
		claim, place, ok := strings.Cut(e.Text, " at (")
		var r, c int
		if n, _ := fmt.Sscanf(place, "%d,%d)", &r, &c); !ok || n != 2 || r < 0 || r >= rows || c < 0 || c >= cols {
			continue
		}
		if i := slices.Index([]string{string(memory.Safe), string(memory.Danger), "UNKNOWN"}, claim); i >= 0 {
			out[r][c] = "SDU"[i]
		}
	}
	text := make([]string, rows)
	for i := range out {
		text[i] = string(out[i])
	}
	return text
}

// read makes a question of a call.
func read(req *llm.Request) *Question {
	q := &Question{Trial: req.Trial, Slot: req.Slot, Audit: req.Purpose == "audit"}
	for i := range req.Parts {
		if p := &req.Parts[i]; p.IsImage() {
			q.Picture = p.PNG()
		} else {
			q.Prompt += p.Text()
		}
	}
	if agent, goal, err := observe.ParseWhere(q.Prompt); err == nil {
		q.Agent, q.Goal = &agent, goal
	}
	for line := range strings.Lines(q.Prompt) {
		line = strings.TrimRight(line, "\n")
		if id, text, ok := strings.Cut(line, "] "); ok && strings.HasPrefix(id, "[") {
			q.Entries = append(q.Entries, Entry{id[1:], text})
		}
		if strings.HasPrefix(line, "Steps left: ") {
			q.Left = line
		}
	}
	if scene, err := observe.ParseListing(q.Prompt); err == nil && q.Picture == nil {
		for r, row := range scene.Grid.Rows() {
			letters := []byte(row)
			for c := range letters {
				if !scene.Sees(lake.Pos{Row: r, Col: c}) {
					letters[c] = '?'
				}
			}
			q.Rows = append(q.Rows, string(letters))
		}
	}
	return q
}

// ErrAsked is the error of a call that a person cannot answer.
var ErrAsked = errors.New("a person chooses steps and judges entries, and nothing else")

// Generate implements llm.Model: it waits for the person.
func (p *Person) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	if req.Purpose != "step" && req.Purpose != "audit" {
		return nil, &llm.Error{Kind: llm.KindBadRequest, Slot: req.Slot, Err: fmt.Errorf("%w: not %s", ErrAsked, req.Purpose)}
	}
	gone := func() (*llm.Reply, error) {
		return nil, &llm.Error{Kind: llm.KindCanceled, Slot: req.Slot, Err: ctx.Err()}
	}
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return gone()
	}
	defer func() { <-p.turn }()
	q := read(req)
	answer := make(chan string, 1)
	p.show(q, answer)
	defer p.show(nil, nil)
	select {
	case text := <-answer:
		return &llm.Reply{Text: text, Finish: llm.FinishStop}, nil
	case <-ctx.Done():
		return gone()
	}
}

func (p *Person) show(q *Question, answer chan string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q != nil {
		p.number++
		q.Number = p.number
	}
	p.asked, p.answer = q, answer
	close(p.changed)
	p.changed = make(chan struct{})
}

// Question returns what is asked, nil for nothing, and a channel that is closed
// when that changes.
func (p *Person) Question() (*Question, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked, p.changed
}

// ErrPassed is the error of an answer to a question that is no longer asked.
var ErrPassed = errors.New("this was answered already")

// Step answers a question with a step. Errors: ErrPassed, or that no step is asked.
func (p *Person) Step(number int, a lake.Action) error {
	return p.give(number, false, func(*Question) any { return map[string]string{"action": a.String()} })
}

// Judge answers a question with the ids of the entries that are stale; all others
// are not. Errors: ErrPassed, that no audit is asked, or an id that is not asked.
func (p *Person) Judge(number int, stale []string) error {
	type judgment struct {
		ID    string `json:"memory_id"`
		Stale bool   `json:"is_stale"`
	}
	q, _ := p.Question()
	for _, id := range stale {
		if q != nil && !slices.ContainsFunc(q.Entries, func(e Entry) bool { return e.ID == id }) {
			return fmt.Errorf("there is no entry %q to judge", id)
		}
	}
	return p.give(number, true, func(q *Question) any {
		all := make([]judgment, len(q.Entries))
		for i, e := range q.Entries {
			all[i] = judgment{e.ID, slices.Contains(stale, e.ID)}
		}
		return map[string]any{"judgments": all}
	})
}

func (p *Person) give(number int, audit bool, answer func(*Question) any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.asked == nil || p.asked.Number != number || p.answer == nil:
		return ErrPassed
	case p.asked.Audit != audit:
		return errors.New("the question is another one: an audit wants judgments, a step an action")
	}
	text, err := json.Marshal(answer(p.asked))
	if err != nil {
		return err
	}
	p.answer <- string(text)
	p.answer = nil // one answer is enough
	return nil
}
