package main

import (
	"bufio"
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm/llmtest"
)

// served starts the command rehearse as a process of its own and returns its
// base URL.
func served(t *testing.T, args ...string) string {
	t.Helper()
	cmd := command(t, append([]string{"rehearse"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// TestKilledInAStorm kills a run again and again while its server refuses half
// of all requests as too many, and counts call by call at the server, a process
// of its own. It would fail if a refusal or a kill lost a call, had one paid for
// twice whose answer was stored, or changed what comes out.
func TestKilledInAStorm(t *testing.T) {
	notShort(t)
	const inFlight, kills = 6, 4
	dir := t.TempDir()
	study := []string{"run", "quick", "--seeds", "2", "--episodes", "1", "--model", "openai-api/rehearse/ref/mixed"}
	limits := []string{"--concurrency", "12", "--in-flight", "6", "--max-retries", "40"}

	calm, storm := filepath.Join(dir, "calm.jsonl"), filepath.Join(dir, "storm.jsonl")
	p := &paid{t: t, server: &llmtest.Server{URL: served(t, "--control", "ref/mixed", "--ledger", calm)}}
	whole, dead := filepath.Join(dir, "whole"), filepath.Join(dir, "run")
	if code, stderr := p.run(0, append(append(study, limits...), "--out", whole)...); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	want := entriesOf(t, calm)

	p.server.URL = served(t, "--control", "ref/mixed", "--ledger", storm, "--delay", "10ms", "--faults", "429-ms=0.5,529=0.01,seed=4", "--retry-after", "50ms")
	before := map[string]bool{}
	seen, hits := 0, 0
	for code := -1; code != exitDone; {
		args, kill := append([]string{"resume", dead}, limits...), 1200*time.Millisecond
		if _, err := os.Stat(filepath.Join(dead, "run.db")); err != nil { // not begun, or killed at its very start
			if err := os.RemoveAll(dead); err != nil {
				t.Fatal(err)
			}
			args = append(append(study, limits...), "--out", dead)
		}
		if hits == kills {
			kill = 0
		}
		var stderr string
		if code, stderr = p.run(kill, args...); code == -1 {
			hits++
		} else if code != exitDone {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		entries := entriesOf(t, storm)
		for _, e := range entries[seen:] {
			if before[e.Call] {
				t.Errorf("%s was asked again, though its answer was stored", e.Call)
			}
		}
		seen, before = len(entries), p.stored(dead)
	}
	entries := entriesOf(t, storm)
	got, all := llmtest.Count(entries), llmtest.Count(want)
	refused := 0
	for _, e := range entries {
		if e.Status == http.StatusTooManyRequests || e.Status == 529 {
			refused++
		}
	}
	t.Logf("killed %d times; %+v, %d of them refused", hits, got, refused)
	if hits == 0 || refused < got.Answered/2 {
		t.Errorf("no storm: killed %d times, %d refused for %d answered", hits, refused, got.Answered)
	}
	if got.Distinct != all.Distinct || all.Repeated != 0 {
		t.Errorf("%d different calls, undisturbed %+v", got.Distinct, all)
	}
	if got.Repeated > inFlight*hits {
		t.Errorf("%d answers were paid for twice; at most the %d in flight at each of %d kills can be", got.Repeated, inFlight, hits)
	}
	if got.Answered != got.Distinct+got.Repeated || got.Asked != got.Answered+refused {
		t.Errorf("%+v and %d refused do not add up", got, refused)
	}
	sameFiles(t, "killed in a storm", exported(t, dead), exported(t, whole))
}

func entriesOf(t *testing.T, path string) []llmtest.Entry {
	t.Helper()
	entries, err := llmtest.ReadLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// A gauge is a server that refuses a stretch of its requests, and knows how many
// were here at once before it, just after it and at the end.
type gauge struct {
	behind http.Handler
	mu     sync.Mutex
	asked  int // in all
	inside int
	most   [3]int
}

// The stretch that is refused, how many requests behind it count as just after,
// and from which on the limit must be back.
const (
	stormBegins = 200
	stormEnds   = stormBegins + 60
	justAfter   = stormEnds + 12
	longAfter   = stormEnds + 400
)

func (g *gauge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.asked++
	g.inside++
	n := g.asked
	switch {
	case n <= stormBegins:
		g.most[0] = max(g.most[0], g.inside)
	case n > stormEnds && n <= justAfter:
		g.most[1] = max(g.most[1], g.inside)
	case n > longAfter:
		g.most[2] = max(g.most[2], g.inside)
	}
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.inside--
		g.mu.Unlock()
	}()
	if n > stormBegins && n <= stormEnds {
		time.Sleep(20 * time.Millisecond)
		w.Header().Set("Retry-After-Ms", "100")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	g.behind.ServeHTTP(w, r)
}

// TestLimitInAStorm would fail if a run went on at full speed at a server that
// refuses it, or never came back to it.
func TestLimitInAStorm(t *testing.T) {
	control, err := llmtest.New(llmtest.Options{Control: "ref/mixed", Delay: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	g := &gauge{behind: control}
	server := httptest.NewServer(g)
	defer server.Close()
	cmd := command(t, "run", "quick", "--seeds", "2", "--episodes", "2", "--model", "openai-api/storm/m", "--out", filepath.Join(t.TempDir(), "run"),
		"--concurrency", "40", "--in-flight", "16", "--max-retries", "30")
	cmd.Env = append(cmd.Env, "STORM_BASE_URL="+server.URL+"/v1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitDone {
		t.Fatalf("exit %d: %s", code, &errs)
	}
	t.Logf("%d requests; at once: %d before, %d just after, %d long after", g.asked, g.most[0], g.most[1], g.most[2])
	if g.asked < longAfter+100 {
		t.Fatalf("only %d requests: too few to see the limit come back", g.asked)
	}
	// A request can reach the server a moment before the end of another does.
	if g.most[0] < 15 || g.most[0] > 18 || g.most[1] > 9 || g.most[2] < 15 || g.most[2] > 18 {
		t.Errorf("at once: %d before, %d just after, %d long after; want 16, at most 8, 16", g.most[0], g.most[1], g.most[2])
	}
	if n := strings.Count(errs.String(), "retrying in"); n == 0 || n > 6 {
		t.Errorf("%d lines of waits: %s", n, &errs)
	}
}
