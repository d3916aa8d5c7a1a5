package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/reference"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kept is a recorder in memory.
type kept struct {
	mu     sync.Mutex
	calls  map[string]*record.Call // by trial and slot
	trials map[string]*record.Trial
	fail   error

	past    map[string]*record.Call
	durable int // calls that were kept as paid for
}

func newKept() *kept {
	return &kept{calls: map[string]*record.Call{}, trials: map[string]*record.Trial{}}
}

func (k *kept) Lookup(_ context.Context, trial, slot string) (*record.Call, error) {
	return k.past[trial+"/"+slot], nil
}

func (k *kept) DurableCall(ctx context.Context, c *record.Call) error {
	k.mu.Lock()
	k.durable++
	k.mu.Unlock()
	return k.Call(ctx, c)
}

func (k *kept) Call(_ context.Context, c *record.Call) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := c.Trial + "/" + c.Slot
	if k.calls[key] != nil {
		return fmt.Errorf("call %s was made twice", key)
	}
	k.calls[key] = c
	return k.fail
}

func (k *kept) Trial(_ context.Context, t *record.Trial) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.trials[t.Key] != nil {
		return fmt.Errorf("trial %s was made twice", t.Key)
	}
	k.trials[t.Key] = t
	return nil
}

func preset(t testing.TB, name string) *study.Study {
	t.Helper()
	s, err := study.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func controls(t testing.TB, s *study.Study) map[string]llm.Model {
	t.Helper()
	models := map[string]llm.Model{}
	for _, name := range s.Models {
		c, err := reference.New(name)
		if err != nil {
			t.Fatal(err)
		}
		models[name] = c
	}
	return models
}

// TestSameAtAnyConcurrency would fail if a result depended on which trials run
// beside it.
func TestSameAtAnyConcurrency(t *testing.T) {
	s := preset(t, "quick")
	s.Seeds = s.Seeds[:2]
	var want string
	for _, n := range []int{1, 16} {
		k := newKept()
		sum, err := run.Trials(context.Background(), s, run.Workers{
			Models: controls(t, s), Recorder: k, Concurrency: n, Now: func() time.Time { return time.Time{} },
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := s.NumTrials(); sum.Finished != n || len(k.trials) != n {
			t.Fatalf("%d of %d trials finished", sum.Finished, n)
		}
		b, err := json.Marshal([]any{k.trials, k.calls})
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(b)
		} else if string(b) != want {
			t.Error("concurrency 16 gives other records than 1")
		}
		checkTrials(t, s, k)
	}
}

// checkTrials recomputes what the records claim from the instances alone.
func checkTrials(t *testing.T, s *study.Study, k *kept) {
	t.Helper()
	deaths := map[string]int{}
	for _, tr := range k.trials {
		in, err := instance.New(tr.Seed, instance.Regime(tr.Regime), instance.Config{})
		if err != nil {
			t.Fatal(err)
		}
		reader := strings.HasPrefix(tr.Model, "ref/reader")
		switch tr.Task {
		case record.Detect:
			windows := in.Windows()
			if len(tr.Windows) != len(windows) || tr.Counts.Judged() != 64*len(windows) {
				t.Errorf("%v: %d windows with %d judgments, want %d", tr.Spec, len(tr.Windows), tr.Counts.Judged(), len(windows))
			}
			for i, w := range tr.Windows {
				if n := len(w.Replies); n != 7 {
					t.Errorf("%v: %d calls for 64 entries", tr.Spec, n)
				}
				for _, j := range w.Judgments {
					p := lake.Pos{Row: j.Pos[0], Col: j.Pos[1]}
					if want := in.Original.IsHole(p) != windows[i].Grid.IsHole(p); j.Truth != want {
						t.Errorf("%v window %d: %s has truth %v", tr.Spec, i, j.MemoryID, j.Truth)
					}
				}
			}
			if f1 := tr.Counts.F1(); reader && (f1 == nil || *f1 != 1) {
				t.Errorf("the reader scores %+v on %v", tr.Counts, tr.Spec)
			}
		case record.Navigate:
			if reader && tr.Outcome != record.Success && tr.Regime != "L3" {
				t.Errorf("the reader ends in %s on %v", tr.Outcome, tr.Spec)
			}
			if tr.Outcome == record.Death {
				deaths[tr.Model[:8]+" "+tr.Strategy]++
			}
			checkEpisode(t, in, tr)
		}
	}
	if raw, none := deaths["ref/beli no-filter"], deaths["ref/beli no-memory"]; raw <= none {
		t.Errorf("the believer dies %d times with raw memory and %d without", raw, none)
	}
	if raw, oracle := deaths["ref/beli no-filter"], deaths["ref/beli oracle"]; raw <= oracle {
		t.Errorf("the believer dies %d times with raw memory and %d with the oracle's", raw, oracle)
	}
}

// checkEpisode checks the strategy's side of an episode: which memory each step
// was shown, and when it was audited.
func checkEpisode(t *testing.T, in *instance.Instance, tr *record.Trial) {
	t.Helper()
	events := 0
	for i, s := range tr.Steps {
		if i > 0 && len(s.Event) > 0 {
			events++
		}
	}
	audits := map[string]int{"no-memory": 0, "no-filter": 0, "self-verify": 1, "omcd": 1 + events, "oracle": 1 + events}[tr.Strategy]
	if len(tr.Windows) != audits {
		t.Errorf("%v: %d audits in an episode with %d events", tr.Spec, len(tr.Windows), events)
	}
	latest := -1
	for _, s := range tr.Steps {
		for latest+1 < len(tr.Windows) && tr.Windows[latest+1].Step <= s.T-1 {
			latest++
		}
		want := map[string]string{"no-memory": "none", "no-filter": "all"}[tr.Strategy]
		if want == "" {
			want = "filtered"
			var removed []string
			for _, j := range tr.Windows[latest].Judgments {
				if j.Verdict == record.Stale {
					removed = append(removed, j.MemoryID)
				}
			}
			if !slices.Equal(removed, s.Removed) {
				t.Errorf("%v step %d: removed %v, judged stale %v", tr.Spec, s.T, s.Removed, removed)
			}
		}
		if s.Memory != want {
			t.Errorf("%v step %d: memory %s, want %s", tr.Spec, s.T, s.Memory, want)
		}
	}
	if tr.Strategy == "oracle" {
		if c := tr.Counts; c.FP+c.FN+c.Unanswered != 0 {
			t.Errorf("the oracle is wrong: %+v", c)
		}
	}
	if tr.Death != nil && tr.Death.Cause == record.CauseStaleShown {
		p := lake.Pos{Row: tr.Death.Pos[0], Col: tr.Death.Pos[1]}
		if in.Original.IsHole(p) {
			t.Errorf("%v: died at %v of an entry that was true", tr.Spec, p)
		}
	}
}

// TestTruthStaysOut would fail if the structured type of an entry, or the word
// stale beside an id, reached a prompt.
func TestTruthStaysOut(t *testing.T) {
	s := preset(t, "quick")
	s.Seeds, s.Models = s.Seeds[:1], s.Models[1:2]
	k := newKept()
	if _, err := run.Trials(context.Background(), s, run.Workers{Models: controls(t, s), Recorder: k, Concurrency: 2}); err != nil {
		t.Fatal(err)
	}
	for key, c := range k.calls {
		for _, p := range c.Prompt {
			if p.Kind != record.PartText {
				continue
			}
			for line := range strings.Lines(string(p.Data)) {
				if strings.HasPrefix(line, "[mem_") && !entryLine(line) {
					t.Fatalf("%s: a line of the memory reads %q", key, line)
				}
			}
		}
	}
}

func entryLine(line string) bool {
	for _, words := range []string{"Frozen ice - safe to walk\n", "Hole - dangerous, do not step\n", "Start - safe to stand on\n", "Goal - safe, the place to reach\n"} {
		if strings.HasSuffix(line, words) {
			return true
		}
	}
	return false
}

// flaky fails every third call; the others go to a control.
type flaky struct {
	llm.Model
	mu   sync.Mutex
	n    int
	kind llm.Kind
}

func (f *flaky) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	f.mu.Lock()
	f.n++
	bad := f.n%3 == 0
	f.mu.Unlock()
	if bad {
		return nil, &llm.Error{Kind: f.kind, Model: "flaky", Slot: req.Slot, Message: "down"}
	}
	return f.Model.Generate(ctx, req)
}

// TestFailures checks that a failed trial sinks no other, and that an error
// which every call would meet stops the run.
func TestFailures(t *testing.T) {
	s := preset(t, "quick")
	s.Models, s.Seeds = []string{"ref/reader"}, s.Seeds[:1]
	attempt := func(kind llm.Kind, fail error) (run.Summary, *kept, error) {
		k := newKept()
		k.fail = fail
		sum, err := run.Trials(context.Background(), s, run.Workers{
			Models: map[string]llm.Model{"ref/reader": &flaky{Model: controls(t, s)["ref/reader"], kind: kind}}, Recorder: k, Concurrency: 3,
		})
		return sum, k, err
	}
	sum, k, err := attempt(llm.KindServer, nil)
	if err != nil || sum.Failed == 0 || sum.Failed+sum.Finished != sum.Planned || len(k.trials) != sum.Planned || sum.FirstError == nil {
		t.Errorf("summary %+v, %d trials recorded, error %v", sum, len(k.trials), err)
	}
	for _, tr := range k.trials {
		if failed := tr.Outcome == record.Failed; failed != strings.Contains(tr.Error, "down") || failed && tr.Reward() != nil {
			t.Errorf("trial %+v", tr)
		}
	}
	if _, _, err := attempt(llm.KindAuth, nil); llm.KindOf(err) != llm.KindAuth {
		t.Errorf("a refused credential: %v", err)
	}
	full := errors.New("disk full")
	if _, _, err := attempt(llm.KindServer, full); !errors.Is(err, full) {
		t.Errorf("a full disk: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	k = newKept()
	sum, err = run.Trials(ctx, s, run.Workers{Models: controls(t, s), Recorder: k})
	if !errors.Is(err, context.Canceled) || len(k.trials) != sum.Finished || sum.Failed != 0 {
		t.Errorf("stopped at once: %+v, %d trials, %v", sum, len(k.trials), err)
	}
}

// TestSizes runs lakes of other sizes and shapes to the end.
func TestSizes(t *testing.T) {
	s := preset(t, "quick")
	s.Seeds, s.Models = s.Seeds[:1], []string{"ref/reader"}
	s.Sizes = []study.Size{{Rows: 4, Cols: 4}, {Rows: 5, Cols: 9}, {Rows: 33, Cols: 7}}
	k := newKept()
	if _, err := run.Trials(context.Background(), s, run.Workers{Models: controls(t, s), Recorder: k, Concurrency: 2}); err != nil {
		t.Fatal(err)
	}
	for _, tr := range k.trials {
		if f1 := tr.Counts.F1(); tr.Task == record.Detect && (*f1 != 1 || tr.Counts.Judged() != tr.Rows*tr.Cols*len(tr.Windows)) {
			t.Errorf("%v: %+v", tr.Spec, tr.Counts)
		}
	}
}

// TestPartialView checks that masks are recorded and that what is out of view is
// not judged as if it were seen.
func TestPartialView(t *testing.T) {
	s := preset(t, "quick")
	s.Seeds, s.Models, s.ViewRadius = s.Seeds[:1], []string{"ref/reader"}, 2
	k := newKept()
	if _, err := run.Trials(context.Background(), s, run.Workers{Models: controls(t, s), Recorder: k, Concurrency: 2}); err != nil {
		t.Fatal(err)
	}
	for _, tr := range k.trials {
		for _, w := range tr.Windows {
			if len(w.Visible) != 8 {
				t.Fatalf("%v: a partial view without a mask", tr.Spec)
			}
			for _, j := range w.Judgments {
				seen := w.Visible[j.Pos[0]][j.Pos[1]] == '1'
				if tr.Strategy != "oracle" && (j.Verdict == record.Stale) != (j.Truth && seen) {
					t.Errorf("%v: %+v, seen %v", tr.Spec, j, seen)
				}
			}
		}
	}
}

// TestRequests checks that a changed wording reaches every prompt that introduces
// the memory, with the lake and the agent's place beside it.
func TestRequests(t *testing.T) {
	s := preset(t, "quick")
	if err := s.SetPrompt("framing-neutral.txt", "NEUTRAL WORDS"); err != nil {
		t.Fatal(err)
	}
	plan := slices.Collect(s.Plan())
	for _, task := range []string{record.Detect, record.Navigate} {
		i := slices.IndexFunc(plan, func(p study.Trial) bool { return p.Task == task && p.Strategy == "omcd" })
		requests, err := run.Requests(s, &plan[i])
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{record.Detect: 7, record.Navigate: 8}[task]
		if len(requests) != want {
			t.Errorf("%s: %d requests, want %d", task, len(requests), want)
		}
		for _, req := range requests {
			var b strings.Builder
			for j := range req.Parts {
				b.WriteString(req.Parts[j].Text())
			}
			for _, words := range []string{"NEUTRAL WORDS\n", "Row 0: (0,0)=S", "[mem_0", "Agent at (0,0). Goal at (7,7)."} {
				if !strings.Contains(b.String(), words) {
					t.Errorf("%s %s lacks %q:\n%s", task, req.Slot, words, b.String())
				}
			}
		}
	}
}

// TestGivenInstances checks that a study which is handed what its seeds give
// makes the same records.
func TestGivenInstances(t *testing.T) {
	s := preset(t, "quick")
	s.Seeds = s.Seeds[:1]
	all, err := s.Instances()
	if err != nil {
		t.Fatal(err)
	}
	handed := preset(t, "quick")
	if err := handed.Take(all); err != nil {
		t.Fatal(err)
	}
	a, b := newKept(), newKept()
	for _, r := range []struct {
		s *study.Study
		k *kept
	}{{s, a}, {handed, b}} {
		if _, err := run.Trials(context.Background(), r.s, run.Workers{Models: controls(t, r.s), Recorder: r.k, Concurrency: 2}); err != nil {
			t.Fatal(err)
		}
	}
	one, err1 := json.Marshal(a.trials)
	two, err2 := json.Marshal(b.trials)
	if err1 != nil || err2 != nil || string(one) != string(two) {
		t.Errorf("the records differ: %v %v", err1, err2)
	}
}

// TestWordings: a framing with prompts of its own is asked with them and no
// other is, its trials are others, and the run knows its texts when it is
// checked.
func TestWordings(t *testing.T) {
	s := parse(t, `
base: quick
seeds: 1
regimes: L1
framings: [neutral, terse]
models: ref/reader
detection: {modalities: text}
navigation: {episodes: 1, strategies: [no-filter, omcd]}
prompts:
  audit@terse: |
    TERSE AUDIT {{context}}{{observation}}{{entries}} Answer with {"judgments": [{"memory_id": "…", "is_stale": true or false}]}
  navigate@terse: "TERSE STEP {{legend}}{{memory}}{{observation}}{{position}}"
`)
	keys := map[string]bool{}
	for trial := range s.Plan() {
		requests, err := run.Requests(s, &trial)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range requests {
			var text strings.Builder
			for _, p := range r.Parts {
				text.WriteString(p.Text())
			}
			want := "TERSE " + strings.ToUpper(r.Purpose)
			if strings.Contains(text.String(), want) != (trial.Framing == "terse") {
				t.Errorf("%s %s at %s: %.80q", trial.Framing, trial.Task, r.Slot, text.String())
			}
			if trial.Task == record.Navigate && !strings.Contains(text.String(), s.AllPrompts().Framing("neutral")) {
				t.Errorf("%s at %s: the memory has no introduction", trial.Framing, r.Slot)
			}
		}
		keys[trial.Key] = true
	}
	if len(keys) != s.NumTrials() {
		t.Errorf("%d keys of %d trials", len(keys), s.NumTrials())
	}
	stored := made(t, s)
	checked(t, stored)
	if sums := stored.Manifest().Prompts; sums["audit@terse.txt"] == "" || sums["audit@terse.txt"] == sums["audit.txt"] {
		t.Errorf("hashes of prompts: %v", sums)
	}
}

// A fault of the program outside of a trial is an error of the run, and no crash.
func TestFaultEndsTheRun(t *testing.T) {
	s := preset(t, "quick")
	s.Seeds = s.Seeds[:1]
	for name, w := range map[string]run.Workers{
		"while the plan is read": {Ended: func(string) bool { panic("a fault") }},
		"behind a trial":         {GaveUp: func(run.GivenUp) { panic("a fault") }, MaxErrors: 1},
	} {
		w.Models, w.Recorder, w.Concurrency = controls(t, s), newKept(), 4
		if name == "behind a trial" {
			for model := range w.Models {
				w.Models[model] = broken{}
			}
		}
		if _, err := run.Trials(t.Context(), s, w); err == nil || !strings.Contains(err.Error(), "a fault of the program, not yours: a fault") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type broken struct{}

func (broken) Generate(context.Context, *llm.Request) (*llm.Reply, error) {
	return nil, &llm.Error{Kind: llm.KindServer, Message: "broken"}
}
