package run_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spatialstale/spatialstale/run"
)

// A methodServer is a method for tests: it audits by the grid, walks down and
// right, remembers what it sees, and counts what it was asked. Down fails every
// request while it holds.
type methodServer struct {
	mu    sync.Mutex
	first *httptest.Server // of study
	asked map[string]int
	down  func(asked int) bool
	bad   func(request map[string]any) string // an answer in place of a good one
}

var claim = regexp.MustCompile(`^(SAFE|DANGER) at \((\d+),(\d+)\)`)

func (m *methodServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var q map[string]any
	if err := json.Unmarshal(body, &q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.asked[q["id"].(string)]++
	n := len(m.asked)
	m.mu.Unlock()
	if m.down != nil && m.down(n) {
		http.Error(w, "down", http.StatusNotFound)
		return
	}
	if m.bad != nil {
		io.WriteString(w, m.bad(q))
		return
	}
	out := map[string]any{"id": q["id"], "method": "test 1"}
	if q["type"] == "audit" {
		out["cost"] = 0.25
	}
	state, _ := q["state"].(float64)
	switch q["type"] {
	case "act":
		out["action"], out["state"] = []string{"RIGHT", "DOWN"}[int(state)%2], state+1
	case "remember":
		if out["state"] = state + 1; q["step"] != state+1 { // it must be told again what it said
			http.Error(w, "another state", http.StatusBadRequest)
			return
		}
		if state < 2 { // it keeps the last step's memory from then on
			out["entries"] = seen(q)
		}
	default:
		grid := q["observation"].(map[string]any)["grid"].([]any)
		judgments := []any{}
		for _, e := range q["entries"].([]any) {
			e := e.(map[string]any)
			said := claim.FindStringSubmatch(e["text"].(string))
			row, _ := strconv.Atoi(said[2])
			col, _ := strconv.Atoi(said[3])
			hole := grid[row].(string)[col] == 'H'
			judgments = append(judgments, map[string]any{"memory_id": e["memory_id"], "verdict": map[bool]string{true: "stale", false: "valid"}[hole == (said[1] == "SAFE")]})
		}
		out["judgments"] = judgments
	}
	json.NewEncoder(w).Encode(out)
}

// seen is the memory that a grid gives, in the words of a memory; the start's
// entry is left out, and there is a remark that claims nothing.
func seen(q map[string]any) (entries []any) {
	for r, row := range q["observation"].(map[string]any)["grid"].([]any) {
		for c, cell := range row.(string) {
			if words := map[rune]string{'F': "SAFE", 'H': "DANGER", 'G': "SAFE"}[cell]; words != "" {
				entries = append(entries, map[string]any{"memory_id": fmt.Sprintf("seen_%d_%d", r, c), "text": fmt.Sprintf("%s at (%d,%d): seen", words, r, c)})
			}
		}
	}
	return append(entries, map[string]any{"memory_id": "remark", "text": "ice melts"})
}

// study is one with an auditor, an agent and a memory of one's own.
func (m *methodServer) study(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(m)
	m.first = server
	t.Cleanup(server.Close)
	keeper := `{name: keeper, memory: {http: "` + server.URL + `", wants: grid}}`
	mine := `{name: mine, auditor: {http: "` + server.URL + `", wants: grid}}`
	return `
base: quick
seeds: 2
agents: {walker: {http: "` + server.URL + `"}}
models: [ref/reader, agent/walker]
detection: {modalities: [text, vision], detectors: [omcd, ` + mine + `]}
navigation: {episodes: 1, strategies: [no-filter, omcd, ` + mine + `, ` + keeper + `, oracle]}
`
}

// TestMethods: methods are stored, resumed, replayed and checked like models. An
// agent walks by no strategy that would want it to judge, and is told again what
// it said of its state.
func TestMethods(t *testing.T) {
	m := &methodServer{asked: map[string]int{}}
	m.down = func(asked int) bool { return asked > 40 && asked <= 50 }
	dir := filepath.Join(t.TempDir(), "run")
	session, err := run.Start(t.Context(), parse(t, m.study(t)), run.Options{Dir: dir})
	first, _, err := finish(t, session, err)
	if err != nil {
		t.Fatal(err)
	}
	if first.Failed == 0 {
		t.Fatal("no trial failed while the method was down")
	}
	m.first.Close() // it is elsewhere when the run goes on
	moved := httptest.NewServer(m)
	defer moved.Close()
	session, err = run.Resume(t.Context(), dir, run.ResumeOptions{RetryErrors: true, Methods: map[string]string{"auditor/mine": moved.URL, "agent/walker": moved.URL, "memory/keeper": moved.URL}})
	second, _, err := finish(t, session, err)
	if err != nil || second.Failed != 0 {
		t.Fatalf("error %v, %d failed", err, second.Failed)
	}
	audits := 0
	for id := range m.asked {
		if strings.HasSuffix(id, "/method") {
			audits++
		}
	}
	if spent := second.Progress.Spent; spent.USD.Dollars() != 0.25*float64(audits) || spent.Calls != audits {
		t.Errorf("%v of %d calls in the book, want %d for a quarter of a dollar each", spent.USD, spent.Calls, audits)
	}
	again := 0
	for id, n := range m.asked {
		if n > 1 {
			again++
		}
		if n > 2 {
			t.Errorf("%s was asked %d times", id, n)
		}
	}
	if again > 10 {
		t.Errorf("%d requests were made again, of which 10 had failed", again)
	}
	stored, err := run.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	checked(t, stored)
	keepers := 0
	for trial, err := range stored.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if trial.Strategy == "mine" && (trial.Counts.FP+trial.Counts.FN+trial.Counts.Unanswered > 0 || trial.Task == "detect" && trial.Counts.TP == 0) {
			t.Errorf("%s on seed %d: %+v", trial.Regime, trial.Seed, trial.Counts)
		}
		if trial.Strategy == "keeper" {
			keepers++
			for i, step := range trial.Steps {
				if step.Memory != "filtered" || !slices.Contains(step.Removed, "mem_000") || len(step.Removed) > 20 {
					t.Errorf("trial %s, step %d: memory %s without %v; it left out the start's and what is stale", trial.Key, i+1, step.Memory, step.Removed)
				}
			}
		}
		if trial.Model == "agent/walker" {
			if trial.Strategy == "omcd" {
				t.Errorf("trial %s: an agent was to judge the memory", trial.Key)
			}
			for i, step := range trial.Steps {
				if want := []string{"RIGHT", "DOWN"}[i%2]; step.Action != want || step.Fallback {
					t.Errorf("trial %s, step %d: %s, want %s", trial.Key, i+1, step.Action, want)
				}
			}
		}
	}
	if keepers == 0 {
		t.Error("no trial had the memory of one's own")
	}
	session, err = run.Replay(t.Context(), nil, []string{dir}, run.Options{Dir: filepath.Join(t.TempDir(), "again")})
	if _, _, err := finish(t, session, err); err != nil {
		t.Errorf("replay: %v", err)
	}
}

// TestBadMethods: what a method gets wrong is that trial's, is counted, and the
// run goes on.
func TestBadMethods(t *testing.T) {
	for name, c := range map[string]struct {
		answer   string
		fails    bool // every trial of the method
		answered int  // entries with a verdict, of each trial
		unknown  int  // judgments on other entries
	}{
		"nothing":       {`{"judgments":[]}`, false, 0, 0},
		"no judgments":  {`{"hello":1}`, false, 0, 0},
		"one of them":   {`{"judgments":[{"memory_id":"mem_003","verdict":"valid"}]}`, false, 1, 0},
		"a stranger":    {`{"judgments":[{"memory_id":"mem_900","verdict":"stale"},{"memory_id":"mem_003","verdict":"valid"}]}`, false, 1, 1},
		"twice, unlike": {`{"judgments":[{"memory_id":"mem_003","verdict":"valid"},{"memory_id":"mem_003","verdict":"stale"}]}`, false, 0, 0},
		"another word":  {`{"judgments":[{"memory_id":"mem_003","verdict":"perhaps"}]}`, false, 0, 0},
		"no JSON":       {`well`, true, 0, 0},
		"its trouble":   {`{"error":"out of memory"}`, true, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := &methodServer{asked: map[string]int{}, bad: func(map[string]any) string { return c.answer }}
			text := strings.NewReplacer("seeds: 2", "seeds: 1\nregimes: L1", "models: [ref/reader, agent/walker]", "models: ref/reader", "text, vision", "text").Replace(m.study(t))
			text = regexp.MustCompile(`agents: .*\n`).ReplaceAllString(text, "")
			dir := filepath.Join(t.TempDir(), "run")
			session, err := run.Start(t.Context(), parse(t, text), run.Options{Dir: dir})
			result, _, err := finish(t, session, err)
			if err != nil || (result.Failed > 0) != c.fails {
				t.Fatalf("error %v, %d failed (%v)", err, result.Failed, result.FirstError)
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
				if trial.Task != "detect" || trial.Strategy != "mine" {
					continue
				}
				if (trial.Outcome == "error") != c.fails {
					t.Errorf("outcome %s: %s", trial.Outcome, trial.Error)
				}
				for _, w := range trial.Windows {
					answered := 0
					for _, j := range w.Judgments {
						if j.Verdict != "unanswered" {
							answered++
						}
					}
					if answered != c.answered || w.Replies[0].UnknownIDs != c.unknown {
						t.Errorf("%d answered, %d unknown; want %d and %d", answered, w.Replies[0].UnknownIDs, c.answered, c.unknown)
					}
				}
			}
		})
	}
}
