package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/store"
)

// killsVar says how often TestPaidCalls kills a run; scripts/check-all sets it
// higher.
const killsVar = "SPATIALSTALE_TEST_KILLS"

// paid is a study whose every call goes to a server that keeps a ledger.
type paid struct {
	t      *testing.T
	server *llmtest.Server
	args   []string
}

func newPaid(t *testing.T, opts llmtest.Options, args ...string) *paid {
	t.Helper()
	opts.Control, opts.Ledger = "ref/mixed", filepath.Join(t.TempDir(), "ledger.jsonl")
	s, err := llmtest.Listen("127.0.0.1:0", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &paid{t, s, append([]string{"--model", "openai-api/rehearse/ref/mixed", "--concurrency", "8"}, args...)}
}

// run starts run or resume and returns its exit code, or kills it after a while
// and returns -1.
func (p *paid) run(kill time.Duration, args ...string) (code int, stderr string) {
	p.t.Helper()
	cmd := command(p.t, args...)
	cmd.Env = append(cmd.Env, "REHEARSE_BASE_URL="+p.server.URL, run.NameCallsVar+"=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	if kill > 0 {
		timer := time.AfterFunc(kill, func() { cmd.Process.Signal(syscall.SIGKILL) })
		defer timer.Stop()
	}
	cmd.Wait()
	return cmd.ProcessState.ExitCode(), errs.String()
}

// ledger is what the server has answered so far.
func (p *paid) ledger() []llmtest.Entry { return p.server.Entries() }

// stored returns the slots whose answers a run folder holds.
func (p *paid) stored(dir string) map[string]bool {
	p.t.Helper()
	run, err := store.Open(dir)
	if errors.Is(err, store.ErrNoRun) || errors.Is(err, os.ErrNotExist) {
		return nil // killed before the folder was made
	}
	if err != nil {
		p.t.Fatal(err)
	}
	defer run.Close()
	slots := map[string]bool{}
	for c, err := range run.Calls() {
		if err != nil {
			p.t.Fatal(err)
		}
		slots[c.Trial+"/"+c.Slot] = true
	}
	return slots
}

// TestPaidCalls kills a run of a served model at random moments, resumes it
// each time, and counts at the server. It would fail if an answer that was
// stored were asked for again, if a call were lost, or if the result were not
// that of an undisturbed run.
func TestPaidCalls(t *testing.T) {
	kills := 4
	if v := os.Getenv(killsVar); v != "" {
		var err error
		if kills, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	study := []string{"run", "quick", "--seeds", fmt.Sprint(1 + kills/8), "--episodes", "1"}
	undisturbed := newPaid(t, llmtest.Options{})
	whole := filepath.Join(t.TempDir(), "whole")
	if code, stderr := undisturbed.run(0, append(append(study, undisturbed.args...), "--out", whole)...); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	want := llmtest.Count(undisturbed.ledger())
	if want.Repeated != 0 || want.Distinct < 300 {
		t.Fatalf("the undisturbed run: %+v", want)
	}

	p := newPaid(t, llmtest.Options{Delay: 40 * time.Millisecond})
	dir := filepath.Join(t.TempDir(), "run")
	rng := rand.New(rand.NewPCG(7, 7)) // moments only; the result must not depend on them
	hits, finished := 0, false
	var before map[string]bool
	seen := 0
	for !finished {
		args := []string{"resume", dir, "--concurrency", "8"}
		if _, err := os.Stat(filepath.Join(dir, "run.db")); err != nil {
			if err := os.RemoveAll(dir); err != nil { // killed at its very start
				t.Fatal(err)
			}
			args = append(append(study, p.args...), "--out", dir)
		}
		kill := time.Duration(0)
		if hits < kills {
			kill = 100*time.Millisecond + time.Duration(rng.IntN(500))*time.Millisecond
		}
		code, stderr := p.run(kill, args...)
		switch code {
		case -1:
			hits++
		case exitDone:
			finished = true
		default:
			t.Fatalf("exit %d: %s", code, stderr)
		}
		entries := p.ledger()
		for _, e := range entries[seen:] {
			if before[e.Call] {
				t.Errorf("%s was asked again, though its answer was stored", e.Call)
			}
		}
		seen, before = len(entries), p.stored(dir)
	}
	t.Logf("killed %d times", hits)
	if hits == 0 {
		t.Error("no kill came in time")
	}
	got := llmtest.Count(p.ledger())
	if got.Distinct != want.Distinct {
		t.Errorf("%d different calls, undisturbed %d", got.Distinct, want.Distinct)
	}
	if got.Repeated > 8*hits {
		t.Errorf("%d answers were paid for twice; at most the 8 under way at each of %d kills can be", got.Repeated, hits)
	}
	sameFiles(t, "killed", exported(t, dir), exported(t, whole))
}

// TestInterruptedWait interrupts a run whose every call is told to come back in
// a minute. It would fail if the run sat the minute out, or took what it never
// answered for failed.
func TestInterruptedWait(t *testing.T) {
	faults, err := llmtest.Script("429=1")
	if err != nil {
		t.Fatal(err)
	}
	p := newPaid(t, llmtest.Options{Faults: faults, RetryAfter: time.Minute})
	dir := filepath.Join(t.TempDir(), "run")
	cmd := command(t, append([]string{"run", "quick", "--seeds", "1", "--task", "detect", "--blind", "--out", dir}, p.args...)...)
	cmd.Env = append(cmd.Env, "REHEARSE_BASE_URL="+p.server.URL)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for len(p.ledger()) == 0 { // until the first call has been refused
		time.Sleep(10 * time.Millisecond)
	}
	hung := time.AfterFunc(50*time.Second, func() { cmd.Process.Kill() })
	defer hung.Stop()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitStopped || !strings.Contains(errs.String(), "Stopping: calls under way are waited for") {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	run, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if missing, err := run.Missing(); err != nil || missing != 6 {
		t.Errorf("%d of 6 trials are unfinished, %v", missing, err)
	}
}

// TestInterruptedBeginning interrupts a run that waits to ask its model whether
// it sees. It would fail if the interrupt were not heard before the run is under
// way, or left a folder.
func TestInterruptedBeginning(t *testing.T) {
	faults, err := llmtest.Script("429=1")
	if err != nil {
		t.Fatal(err)
	}
	p := newPaid(t, llmtest.Options{Faults: faults, RetryAfter: time.Hour})
	t.Setenv("REHEARSE_BASE_URL", p.server.URL)
	stop := make(chan struct{})
	go func() {
		for len(p.ledger()) == 0 { // until the question has been refused
			time.Sleep(time.Millisecond)
		}
		close(stop)
	}()
	dir := filepath.Join(t.TempDir(), "run")
	var stderr bytes.Buffer
	code := execute(append([]string{"run", "quick", "--seeds", "1", "--task", "detect", "--out", dir}, p.args...),
		env{ctx: t.Context(), stop: stop, stdout: io.Discard, stderr: &stderr, now: time.Now})
	if _, err := os.Stat(dir); code != exitStopped || !strings.Contains(stderr.String(), "nothing was made") || err == nil {
		t.Errorf("exit %d: %s", code, &stderr)
	}
}

// TestFailedTrials runs against a server that refuses some calls for good, so
// that about half of the trials fail: none sinks another, and what failed is
// made good without paying again for what had succeeded.
func TestFailedTrials(t *testing.T) {
	faults, err := llmtest.Script("too-long=0.02") // a refusal that is not tried again
	if err != nil {
		t.Fatal(err)
	}
	p := newPaid(t, llmtest.Options{Faults: faults})
	dir := filepath.Join(t.TempDir(), "run")
	// The cap is given, so that a shorter one is not tried.
	code, stderr := p.run(0, append([]string{"run", "quick", "--seeds", "1", "--episodes", "1", "--max-tokens", "4000", "--out", dir}, p.args...)...)
	if code != exitStopped || !bytes.Contains([]byte(stderr), []byte("--retry-errors")) {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	calls := len(p.stored(dir))
	for i := 0; code == exitStopped && i < 60; i++ {
		code, stderr = p.run(0, "resume", dir, "--retry-errors", "--concurrency", "8")
	}
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if got := llmtest.Count(p.ledger()); got.Repeated != 0 || got.Distinct < calls {
		t.Errorf("%+v after %d calls of the first run", got, calls)
	}
	if code, stdout, stderr := finish(t, command(t, "check", dir)); code != exitDone {
		t.Errorf("check: exit %d: %s%s", code, stdout, stderr)
	}
}

// TestDeletedRunStops deletes the folder of a run that pays for its answers. It
// would fail if the run went on asking: what comes then is lost.
func TestDeletedRunStops(t *testing.T) {
	const inFlight = 8 * 7 // trials in progress, times the batches of an audit
	p := newPaid(t, llmtest.Options{Delay: 20 * time.Millisecond})
	dir := filepath.Join(t.TempDir(), "run")
	cmd := command(t, append([]string{"run", "quick", "--seeds", "5", "--out", dir}, p.args...)...)
	cmd.Env = append(cmd.Env, "REHEARSE_BASE_URL="+p.server.URL)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer hung.Stop()
	for len(p.ledger()) < 100 {
		time.Sleep(5 * time.Millisecond)
	}
	if err := os.Rename(dir, dir+"-away"); err != nil { // nobody sees half of it
		t.Fatal(err)
	}
	asked := len(p.ledger())
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code == exitDone || !strings.Contains(errs.String(), "moved, deleted or replaced") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	if after := len(p.ledger()) - asked; after > inFlight {
		t.Errorf("%d calls were asked after the folder had gone; at most %d were under way", after, inFlight)
	}
	// What was committed before is where the folder is now.
	if code, stderr := p.run(0, "resume", dir+"-away", "--concurrency", "8"); code != exitDone {
		t.Errorf("resume: exit %d: %s", code, stderr)
	}
	if got := llmtest.Count(p.ledger()); got.Repeated > inFlight {
		t.Errorf("%d answers were paid for twice", got.Repeated)
	}
}
