package play_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/play"
	"github.com/spatialstale/spatialstale/run"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// question waits for the next one.
func question(t *testing.T, p *play.Person, session *run.Session) *play.Question {
	t.Helper()
	ended := make(chan struct{})
	go func() { defer close(ended); session.Wait() }()
	for {
		q, changed := p.Question()
		if q != nil {
			return q
		}
		select {
		case <-changed:
		case <-ended:
			return nil
		}
	}
}

// A game that is left and gone on with asks nothing twice, and ends as its actions
// say; two answers to one question count once.
func TestGame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "game")
	game := &play.Game{Name: "anna", Regimes: []string{"L3"}, Radius: 2, Size: "5x6"}
	ctx, leave := context.WithCancel(t.Context())
	p := play.New()
	session, err := play.Begin(ctx, dir, game, p)
	if err != nil {
		t.Fatal(err)
	}
	first := question(t, p, session)
	if first.Audit || len(first.Entries) != 30 || *first.Agent != (lake.Pos{}) || first.Goal != (lake.Pos{Row: 4, Col: 5}) || len(first.Rows) != 5 || first.Rows[4] != "??????" || first.Rows[0][3] != '?' {
		t.Errorf("%+v", first)
	}
	claims := first.Claims(5, 6)
	if strings.Count(strings.Join(claims, ""), "S")+strings.Count(strings.Join(claims, ""), "D") != 30 {
		t.Errorf("%q", claims)
	}
	if err := p.Judge(first.Number, nil); err == nil {
		t.Error("a step was answered with judgments")
	}
	if err := p.Step(first.Number, lake.Up); err != nil { // off the grid
		t.Fatal(err)
	}
	if err := p.Step(first.Number, lake.Down); !errors.Is(err, play.ErrPassed) {
		t.Errorf("a second answer: %v", err)
	}
	for q := first; q.Number == first.Number; {
		q = question(t, p, session)
	}
	leave()
	if _, err := session.Wait(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if q, _ := p.Question(); q != nil {
		t.Errorf("%+v is still asked", q)
	}

	p = play.New()
	if session, err = play.Begin(t.Context(), dir, game, p); err != nil {
		t.Fatal(err)
	}
	steps := 1
	for q := question(t, p, session); q != nil; q = question(t, p, session) {
		if steps == 1 && q.Left != "Steps left: 27." && !strings.HasSuffix(q.Slot, "2") {
			t.Errorf("it went on with %s", q.Slot)
		}
		if err := p.Step(q.Number, lake.Up); err != nil && !errors.Is(err, play.ErrPassed) {
			t.Fatal(err)
		} else if err == nil {
			steps++
		}
	}
	if _, err := session.Wait(); err != nil {
		t.Fatal(err)
	}
	stored, err := run.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	for trial, err := range stored.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if trial.Outcome != "timeout" || len(trial.Steps) != steps || trial.Model != "human/anna" || trial.Fallbacks() != 0 {
			t.Errorf("%s after %d steps, %d were chosen", trial.Outcome, len(trial.Steps), steps)
		}
	}
	if _, err := play.Begin(t.Context(), dir, game, p); !errors.Is(err, run.ErrFinished) {
		t.Errorf("a game that is over: %v", err)
	}
}

func TestGameRefused(t *testing.T) {
	for name, g := range map[string]play.Game{
		"strategy": {Name: "a", Strategy: []string{"nothing"}}, "regime": {Name: "a", Regimes: []string{"L9"}}, "seeds": {Name: "a", Seeds: []string{"x"}},
		"name": {Name: "no such/name"}, "size": {Name: "a", Size: "1x1"}, "setting": {Name: "a", Seeds: []string{"1], models: [openai/gpt-4o"}},
	} {
		var usage run.UsageError
		if _, err := play.Begin(t.Context(), filepath.Join(t.TempDir(), "game"), &g, play.New()); !errors.As(err, &usage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What no person can answer is an error at once, and a call that is given up asks
// nobody any more.
func TestPersonIsNotAsked(t *testing.T) {
	p := play.New()
	if _, err := p.Generate(t.Context(), &llm.Request{Purpose: "transcribe"}); !errors.Is(err, play.ErrAsked) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := p.Generate(ctx, &llm.Request{Purpose: "audit", Parts: []llm.Part{llm.Text("[a] one\n[b] two\n")}})
		done <- err
	}()
	var q *play.Question
	for q == nil {
		var changed <-chan struct{}
		if q, changed = p.Question(); q == nil {
			<-changed
		}
	}
	if want := []play.Entry{{ID: "a", Text: "one"}, {ID: "b", Text: "two"}}; !slices.Equal(q.Entries, want) || !q.Audit {
		t.Errorf("%+v", q)
	}
	if err := p.Judge(q.Number, []string{"c"}); err == nil {
		t.Error("an entry that is not asked was judged")
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := p.Judge(q.Number, nil); !errors.Is(err, play.ErrPassed) {
		t.Error(err)
	}
}
