package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// runControls runs controls on a study's first seeds.
func runControls(t *testing.T, seeds int, change func(*study.Study), models ...string) map[string]*record.Trial {
	t.Helper()
	s := preset(t, "quick")
	s.Seeds, s.Models = instance.Seeds(seeds), models
	change(s)
	k := newKept()
	if _, err := run.Trials(context.Background(), s, run.Workers{Models: controls(t, s), Recorder: k, Concurrency: 2}); err != nil {
		t.Fatal(err)
	}
	return k.trials
}

func detectionOnly(s *study.Study) { s.Navigation = nil }

// TestFlagEverythingOrNothing shows what the two constant detectors are for:
// recall and precision alone each make one of them look good.
func TestFlagEverythingOrNothing(t *testing.T) {
	for _, tr := range runControls(t, 5, detectionOnly, "ref/always-stale", "ref/never-stale") {
		c := tr.Counts
		always := tr.Model == "ref/always-stale"
		if always && (*c.Recall() != 1 || *c.FPR() != 1) || !always && (*c.Recall() != 0 || *c.FPR() != 0 || c.Precision() != nil || *c.F1() != 0) {
			t.Errorf("%s: %+v", tr.Model, c)
		}
	}
	outcomes := map[string]int{}
	for _, tr := range runControls(t, 20, func(s *study.Study) {
		s.Detection = nil
		s.Navigation.Strategies = []study.Strategy{study.NoFilter, study.OMCD}
		s.Regimes = []instance.Regime{instance.L2}
	}, "ref/always-stale", "ref/never-stale") {
		outcomes[tr.Model+" "+tr.Strategy+" "+tr.Outcome]++
		if tr.Strategy == "omcd" && tr.Model == "ref/always-stale" && len(tr.Steps[0].Removed) != 64 {
			t.Errorf("always-stale left %d entries in view", 64-len(tr.Steps[0].Removed))
		}
	}
	if outcomes["ref/always-stale no-filter death"] == 0 {
		t.Error("always-stale never dies of the raw memory that it walks by")
	}
	if n := outcomes["ref/always-stale omcd success"]; n != 40 {
		t.Errorf("always-stale reaches the goal %d times of 40 once it has emptied its memory", n)
	}
	if n := outcomes["ref/never-stale no-filter success"] + outcomes["ref/never-stale omcd success"]; n != 80 {
		t.Errorf("never-stale, which does not believe its memory, reaches the goal %d times of 80", n)
	}
}

// TestChance shows where chance lies.
func TestChance(t *testing.T) {
	var sum record.Counts
	for _, tr := range runControls(t, 20, detectionOnly, "ref/random") {
		sum = sum.Plus(tr.Counts)
	}
	for what, rate := range map[string]float64{"recall": *sum.Recall(), "false-positive rate": *sum.FPR()} {
		if math.Abs(rate-0.5) > 0.03 {
			t.Errorf("the %s of chance is %.3f over %d judgments", what, rate, sum.Judged())
		}
	}
}

// TestScores runs the score ablation: the scores are kept, the verdicts follow
// from them at the threshold, and the ceiling is exact under both.
func TestScores(t *testing.T) {
	s := preset(t, "score")
	s.Seeds = s.Seeds[:10]
	k := newKept()
	if _, err := run.Trials(context.Background(), s, run.Workers{Models: controls(t, s), Recorder: k, Concurrency: 2}); err != nil {
		t.Fatal(err)
	}
	atSix := 0
	for _, tr := range k.trials {
		for _, j := range tr.Windows[0].Judgments {
			if (j.Score != nil) != (tr.Strategy == "score") {
				t.Fatalf("%v: %+v", tr.Spec, j)
			}
			if j.Score != nil && (*j.Score >= study.ScoreThreshold) != (j.Verdict == record.Stale) {
				t.Errorf("score %v is judged %s", *j.Score, j.Verdict)
			}
			if j.Score != nil && *j.Score == 0.6 {
				atSix++
			}
		}
		if f1 := tr.Counts.F1(); tr.Model == "ref/reader" && *f1 != 1 {
			t.Errorf("the reader scores %v by %s", *f1, tr.Strategy)
		}
	}
	if atSix == 0 {
		t.Error("the knob gives no score between the thresholds")
	}
}

// TestFallbackAlone shows what the fallbacks do without a model: always greedy,
// the agent dies in nearly every lake after about four steps, which looks just
// like rushing into a hole.
func TestFallbackAlone(t *testing.T) {
	deaths, steps, episodes := 0, 0, 0
	for _, tr := range runControls(t, 200, func(s *study.Study) {
		s.Detection.Modalities = []string{record.Text}
		s.Navigation.Strategies = []study.Strategy{study.NoMemory}
		s.Navigation.Episodes = 1
		s.Regimes = []instance.Regime{instance.L1}
	}, "ref/silent") {
		if tr.Task == record.Detect {
			if c := tr.Counts; c.Unanswered != 64 || c.TP+c.FP != 0 {
				t.Errorf("silence is judged %+v", c)
			}
			continue
		}
		episodes++
		if tr.Fallbacks() != len(tr.Steps) {
			t.Errorf("%d of %d steps are fallbacks", tr.Fallbacks(), len(tr.Steps))
		}
		if tr.Outcome == record.Death {
			deaths++
			steps += len(tr.Steps)
			if tr.Death.Cause != record.CauseFallback {
				t.Errorf("cause %s", tr.Death.Cause)
			}
		}
	}
	rate, mean := float64(deaths)/float64(episodes), float64(steps)/float64(deaths)
	if rate < 0.93 || rate == 1 || mean < 3.3 || mean > 4.7 {
		t.Errorf("always greedy dies in %.3f of the lakes after %.1f steps, want about 0.97 and 4", rate, mean)
	}
}

// TestMessy would fail if the form of a reply changed what it says: wherever
// messy answers completely, it scores as the reader does.
func TestMessy(t *testing.T) {
	outcomes, repaired := map[string]int{}, 0
	for _, tr := range runControls(t, 30, func(s *study.Study) {
		s.Detection.Modalities = []string{record.Text}
		s.Navigation.Strategies = []study.Strategy{study.NoFilter, study.OMCD}
		s.Navigation.Episodes = 1
	}, "ref/messy") {
		for _, w := range tr.Windows {
			for _, r := range w.Replies {
				outcomes[r.Outcome]++
			}
			for _, j := range w.Judgments {
				if j.Verdict != record.Unanswered && (j.Verdict == record.Stale) != j.Truth {
					t.Fatalf("%v %s: %+v", tr.Spec, w.Replies[0].Slot, j)
				}
				if len(j.Repairs) > 0 {
					repaired++
				}
			}
		}
		for _, s := range tr.Steps {
			if s.Fallback {
				outcomes["fallback "+s.Reply]++
			}
		}
		if tr.Outcome == record.Death && tr.Death.Cause != record.CauseFallback && tr.Regime != "L3" {
			t.Errorf("%v: died of %s", tr.Spec, tr.Death.Cause)
		}
	}
	for _, want := range []string{"answered", "partial", "truncated", "refusal", "fallback undecided", "fallback truncated"} {
		if outcomes[want] == 0 {
			t.Errorf("no reply was %s: %v", want, outcomes)
		}
	}
	if repaired == 0 {
		t.Error("nothing was repaired")
	}
	if strings.Contains(strings.Join(keys(outcomes), " "), "unparsed") {
		t.Errorf("some replies were not read: %v", outcomes)
	}
}

func keys(m map[string]int) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

// TestPolicies shows by an agent that walks by its memory what each policy does
// to a stale entry that is surely found: a mark leaves the claim, UNKNOWN takes
// it away as removal does, and a correction makes the memory true again.
func TestPolicies(t *testing.T) {
	with := func(policy study.Policy) study.Strategy {
		by := study.Oracle
		by.Name, by.Policy = "oracle-"+string(policy), policy
		return by
	}
	trials := runControls(t, 10, func(s *study.Study) {
		s.Detection = nil
		s.Navigation.Strategies = []study.Strategy{study.NoFilter, study.Oracle, with(study.Mark), with(study.Unknown), with(study.Correct)}
	}, "ref/believer")
	type episode struct {
		seed, number int
		regime       string
	}
	walks := map[string]map[episode]*record.Trial{}
	for _, tr := range trials {
		if walks[tr.Strategy] == nil {
			walks[tr.Strategy] = map[episode]*record.Trial{}
		}
		walks[tr.Strategy][episode{tr.Seed, tr.Episode, tr.Regime}] = tr
	}
	path := func(tr *record.Trial) (out []record.Pos) {
		for _, s := range tr.Steps {
			out = append(out, s.Next)
		}
		return out
	}
	died := 0
	for at, plain := range walks["no-filter"] {
		removed, marked, unknown, correct := walks["oracle"][at], walks["oracle-mark"][at], walks["oracle-unknown"][at], walks["oracle-correct"][at]
		if plain.Outcome == record.Death {
			died++
		}
		if !slices.Equal(path(marked), path(plain)) || slices.ContainsFunc(marked.Steps, func(s record.Step) bool { return len(s.Removed) > 0 }) {
			t.Errorf("%v: marks changed the walk of an agent that does not heed them", at)
		}
		if !slices.Equal(path(unknown), path(removed)) {
			t.Errorf("%v: UNKNOWN %v, removed %v", at, path(unknown), path(removed))
		}
		for i, s := range unknown.Steps {
			if !slices.Equal(s.Removed, removed.Steps[i].Removed) {
				t.Errorf("%v, step %d: UNKNOWN leaves out %v, removal %v", at, i+1, s.Removed, removed.Steps[i].Removed)
			}
		}
		if correct.Outcome != record.Success {
			t.Errorf("%v: %s with a memory that is true again", at, correct.Outcome)
		}
	}
	if died == 0 {
		t.Error("nobody died of the memory as it was")
	}
}

// TestCorrections: what a stale entry says under the policy correct is what its
// auditor proposes, where that is a claim on the same cell, and else the
// opposite of what it said.
func TestCorrections(t *testing.T) {
	const claims = "SAFE at (0,1): crossed just now"
	for proposed, want := range map[string]string{
		claims:               claims,
		" " + claims + "\n":  claims,
		"":                   "DANGER at (0,1): Hole - dangerous, do not step",
		"SAFE at (0,2)":      "DANGER at (0,1): Hole - dangerous, do not step",
		"a hole":             "DANGER at (0,1): Hole - dangerous, do not step",
		claims + "\n[x] now": "DANGER at (0,1): Hole - dangerous, do not step",
	} {
		shown := ""
		m := &methodServer{asked: map[string]int{}}
		m.bad = func(q map[string]any) string {
			if q["type"] != "audit" {
				shown = q["memory"].(map[string]any)["entries"].([]any)[1].(map[string]any)["text"].(string)
				return `{"action":"DOWN"}`
			}
			b, _ := json.Marshal(map[string]any{"judgments": []any{map[string]any{"memory_id": "mem_001", "verdict": "stale", "correction": proposed}}})
			return string(b)
		}
		server := httptest.NewServer(m)
		defer server.Close()
		s := parse(t, `{base: quick, seeds: 1, regimes: L1, tasks: navigate, models: agent/walker, agents: {walker: {http: "`+server.URL+`"}},
navigation: {episodes: 1, strategies: [{name: mine, policy: correct, auditor: {http: "`+server.URL+`"}}]}}`)
		session, err := run.Start(t.Context(), s, run.Options{Dir: filepath.Join(t.TempDir(), "run")})
		if _, _, err := finish(t, session, err); err != nil {
			t.Fatal(err)
		}
		if shown != want {
			t.Errorf("proposed %q: shown %q, want %q", proposed, shown, want)
		}
	}
}

// TestBaselines holds the built-in methods at their ends: where the whole lake is
// listed a text diff finds what is stale and nothing else, and a planner by a
// memory without it gets as far as by the oracle's, while it dies of the memory as
// it was. They are the examples' twins.
func TestBaselines(t *testing.T) {
	s := preset(t, "baselines")
	s.Seeds = instance.Seeds(8)
	s.Navigation.Episodes = 1
	s.Navigation.Strategies = append(s.Navigation.Strategies, study.Strategy{
		Name: "twin", Memory: study.MemoryAll, Auditor: study.AuditMethod, When: study.OnEvent, Policy: study.Remove,
		Method: &study.Method{Exec: []string{"python3", "../examples/methods/diff.py"}},
	})
	s.Models = []string{"ref/reader", "agent/planner", "agent/twin"}
	s.Agents["twin"] = &study.Method{Exec: []string{"python3", "../examples/methods/planner.py"}}
	stored := made(t, s)
	outcomes := map[string]int{}
	walks, lengths := map[string][]record.Step{}, map[string]int{}
	for tr, err := range stored.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if tr.Task == record.Detect && tr.Strategy == "diff" && (*tr.Counts.F1() != 1 || tr.Counts.Unanswered > 0) {
			t.Errorf("diff on seed %d, %s: %+v", tr.Seed, tr.Regime, tr.Counts)
		}
		if tr.Task != record.Navigate || tr.Model == "ref/reader" {
			continue
		}
		if tr.Model == "agent/planner" {
			outcomes[tr.Strategy+" "+tr.Outcome]++
		}
		for i := range tr.Steps {
			tr.Steps[i].Reply = ""
		}
		strategy := strings.Replace(tr.Strategy, "twin", "diff", 1)
		same := fmt.Sprint(tr.Seed, tr.Regime, strategy, tr.Model)
		if other, ok := walks[same]; ok && !reflect.DeepEqual(other, tr.Steps) {
			t.Errorf("%s: %s is another auditor than its twin", same, tr.Strategy)
		}
		walks[same] = tr.Steps
		if tr.Regime == "L3" || tr.Strategy != "oracle" || tr.Outcome != record.Success {
			continue // of equal ways they may prefer others, which may lead elsewhere
		}
		length := fmt.Sprint(tr.Seed, tr.Regime)
		if other, ok := lengths[length]; ok && other != len(tr.Steps) {
			t.Errorf("%s: %d steps, and %d of the twin", length, len(tr.Steps), other)
		}
		lengths[length] = len(tr.Steps)
	}
	// A cell whose entry was removed is like any other that nothing is known of.
	if outcomes["diff success"] < 20 || outcomes["diff success"] != outcomes["oracle success"] || outcomes["no-filter death"] == 0 {
		t.Errorf("the planner: %v", outcomes)
	}
}

// TestOnSight: with a view of two cells the entries of what comes into view are
// audited, each once for each look of its cell, and no other. The reader is a
// ceiling there; audited at changes only, and of all entries, it misses what it
// does not see. What it found stays found when it is out of view.
func TestOnSight(t *testing.T) {
	s := preset(t, "partial")
	s.Seeds, s.Models, s.Navigation.Episodes = instance.Seeds(6), []string{"ref/reader"}, 1
	stored := made(t, s)
	checked(t, stored)
	all := map[string]record.Counts{}
	audits, found := 0, 0
	for tr, err := range stored.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		all[tr.Strategy] = all[tr.Strategy].Plus(tr.Counts)
		if tr.Strategy != "omcd-on-sight" {
			continue
		}
		stale := map[string]bool{}
		audited := map[string]bool{}
		for i, w := range tr.Windows {
			audits++
			for _, j := range w.Judgments {
				if w.Visible[j.Pos[0]][j.Pos[1]] != '1' {
					t.Errorf("trial %s, window %d: %s was audited out of view", tr.Key, i, j.MemoryID)
				}
				if audited[j.MemoryID] && tr.Regime != "L3" {
					t.Errorf("trial %s, window %d: %s was audited again, and its cell does not change", tr.Key, i, j.MemoryID)
				}
				audited[j.MemoryID], stale[j.MemoryID] = true, j.Verdict == record.Stale
			}
			removed := 0
			for id := range stale {
				if stale[id] {
					removed++
					if w.Step < len(tr.Steps) && !slices.Contains(tr.Steps[w.Step].Removed, id) {
						t.Errorf("trial %s, step %d: %s was found stale and is in view again", tr.Key, w.Step+1, id)
					}
				}
			}
			if w.Step < len(tr.Steps) && len(tr.Steps[w.Step].Removed) != removed {
				t.Errorf("trial %s, step %d: %d removed, %d found stale", tr.Key, w.Step+1, len(tr.Steps[w.Step].Removed), removed)
			}
			found += removed
		}
	}
	if c := all["omcd-on-sight"]; c.FN+c.FP+c.Unanswered > 0 || c.TP == 0 || found == 0 || audits < 50 {
		t.Errorf("%d audits of what comes into view: %+v", audits, c)
	}
	if c := all["omcd"]; c.FN == 0 {
		t.Errorf("audits of all entries missed nothing out of view: %+v", c)
	}
	calls, err := run.CallsOf(s)
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, c := range calls {
		if c.Strategy == "omcd-on-sight" {
			most += c.Most
		}
	}
	if most < audits {
		t.Errorf("%d calls were planned at the most, and %d audits made", most, audits)
	}
}

// TestTranscripts: what is seen is told from what is made of it. A control that
// sees all and flags little has the audit of a reader in its transcript, and its
// own beside it; one that says nothing has neither.
func TestTranscripts(t *testing.T) {
	const half = "ref/mixed?trust=0.5&tpr=0.5&fpr=0&vision_tpr=0.1&vision_fpr=0&slip=0"
	s := preset(t, "seeing")
	s.Seeds, s.Models = instance.Seeds(4), []string{"ref/reader", half, "ref/silent"}
	stored := made(t, s)
	checked(t, stored)
	sums := map[string]record.Counts{}
	for tr, err := range stored.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		key := tr.Model + " " + tr.Strategy
		sums[key] = sums[key].Plus(tr.Counts)
	}
	for _, model := range []string{"ref/reader", half} {
		if c := sums[model+" transcribe"]; *c.F1() != 1 || c.Unanswered > 0 {
			t.Errorf("the transcript of %s: %+v", model, c)
		}
	}
	if c := sums[half+" omcd"]; *c.Recall() > 0.6 {
		t.Errorf("the audit of %s: %+v", half, c)
	}
	if c := sums["ref/silent transcribe"]; c.Unanswered != c.Judged() {
		t.Errorf("silence: %+v", c)
	}
	for trial := range s.Plan() {
		if trial.Strategy != "transcribe" {
			continue
		}
		requests, err := run.Requests(s, &trial)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range requests {
			for _, p := range r.Parts {
				if strings.Contains(p.Text(), "mem_") || strings.Contains(p.Text(), "SAFE at") {
					t.Fatalf("the memory is in the prompt of a transcript: %q", p.Text())
				}
			}
		}
	}
	if _, there := study.DefaultPrompts()[study.TranscribeFile]; there {
		t.Error("runs without transcripts have their prompt")
	}
}

// saying is a model that always says the same.
type saying string

func (s saying) Generate(context.Context, *llm.Request) (*llm.Reply, error) {
	return &llm.Reply{Text: string(s), Finish: llm.FinishStop}, nil
}

// TestReadTranscripts holds what is read of what models write.
func TestReadTranscripts(t *testing.T) {
	rows := []string{"SFFF", "F?HF", "FFFF", "FFFG"}
	quoted := `{"rows": ["` + strings.Join(rows, `", "`) + `"]}`
	for text, want := range map[string]string{
		quoted:                               "answered",
		strings.Join(rows, "\n"):             "answered",
		"S F F F\nF ? H F\nF F F F\nF F F G": "answered",
		"First SFFF FFFF?\n```json\n" + quoted + "\n```": "answered",
		`{"rows": ["SFFF", "FFFF", "FFFG"]}`:             "unparsed",
		`{"rows": ["SFF", "FFF", "FFF", "FFG"]}`:         "unparsed",
		"I see a lake.":                                  "unparsed",
		"":                                               "empty",
	} {
		s := preset(t, "seeing")
		s.Seeds, s.Models, s.Regimes, s.Sizes = instance.Seeds(1), []string{"ref/reader"}, []instance.Regime{instance.L1}, []study.Size{{Rows: 4, Cols: 4}}
		s.Detection.Modalities, s.Detection.Detectors = []string{record.Text}, []study.Strategy{study.Transcribe}
		k := newKept()
		if _, err := run.Trials(t.Context(), s, run.Workers{Models: map[string]llm.Model{"ref/reader": saying(text)}, Recorder: k}); err != nil {
			t.Fatal(err)
		}
		for _, tr := range k.trials {
			w := tr.Windows[0]
			if w.Replies[0].Outcome != want {
				t.Errorf("%q is %s, want %s", text, w.Replies[0].Outcome, want)
			}
			for i, j := range w.Judgments {
				letter := rows[i/4][i%4]
				verdict := record.Valid
				switch {
				case want != "answered":
					verdict = record.Unanswered
				case letter == '?':
					verdict = record.NotCovered
				case (letter == 'H') != (j.Claim == "DANGER"):
					verdict = record.Stale
				}
				if j.Verdict != verdict {
					t.Errorf("%q: %s (%s) is %s, want %s", text, j.MemoryID, j.Claim, j.Verdict, verdict)
				}
			}
		}
	}
}
