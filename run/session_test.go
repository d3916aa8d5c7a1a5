package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

func parse(t testing.TB, text string) *study.Study {
	t.Helper()
	s, err := study.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// finish waits for a session to end and returns its notices.
func finish(t *testing.T, session *run.Session, err error) (result *run.Result, notices []string, ended error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for e := range session.Events(0) {
		if e.Kind == run.Notice {
			notices = append(notices, e.Text)
		}
	}
	result, ended = session.Wait()
	return result, notices, ended
}

// server answers as a control would, with faults of one's choice, and returns
// its options to reach it.
func server(t *testing.T, o llmtest.Options) run.Options {
	t.Helper()
	s, err := llmtest.Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return run.Options{Dir: filepath.Join(t.TempDir(), "run"), Getenv: func(name string) string {
		return map[string]string{"REHEARSE_BASE_URL": s.URL, "REHEARSE_API_KEY": "none"}[name]
	}}
}

const served = "openai-api/rehearse/ref/reader"

// What one session does must be told to every reader of its events, and the last
// word must be the whole.
func TestEvents(t *testing.T) {
	s := parse(t, "{base: quick, seeds: 1, tasks: detect, models: [ref/reader, ref/messy]}")
	session, err := run.Start(t.Context(), s, run.Options{Dir: filepath.Join(t.TempDir(), "run")})
	if err != nil {
		t.Fatal(err)
	}
	var trials []string
	var last run.Event
	for e := range session.Events(0) {
		if e.Kind == run.TrialEnded {
			trials = append(trials, e.Trial.Key)
		}
		last = e
	}
	if last.Kind != run.Ended || last.Progress.Done != 12 || len(last.Models) != 2 || last.Models[1].Model != "ref/messy" || last.Models[1].Done != 6 {
		t.Errorf("the last event is %+v", last)
	}
	slices.Sort(trials)
	if n := len(slices.Compact(trials)); n != 12 {
		t.Errorf("%d different trials were told of, want 12", n)
	}
	for e := range session.Events(0) { // one who comes late
		last = e
	}
	if last.Kind != run.Ended {
		t.Errorf("a late reader's last event is %+v", last)
	}
}

// A run that was stopped goes on as it was begun: with its study, its pace and
// its prompts, and to the records of a run that was never disturbed.
func TestStopAndResume(t *testing.T) {
	text := "{base: quick, seeds: 2, tasks: detect, models: " + served + "}"
	o := server(t, llmtest.Options{})
	o.Concurrency = 3
	o.Models = map[string]run.ModelOptions{served: {RPM: 60_000}}
	session, err := run.Start(t.Context(), parse(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	for e := range session.Events(0) {
		if e.Kind == run.TrialEnded {
			session.Stop()
		}
	}
	result, err := session.Wait()
	if !errors.Is(err, run.ErrStopped) || result.Progress.Done == 0 || result.Progress.Done == result.Planned {
		t.Fatalf("%d of %d trials, %v", result.Progress.Done, result.Planned, err)
	}
	stored, err := run.Open(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	m := stored.Manifest()
	if err := stored.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(m.Execution), `"concurrency": 3`) && !strings.Contains(string(m.Execution), `"concurrency":3`) || !strings.Contains(string(m.Execution), "60000") {
		t.Errorf("the manifest does not say how the run was begun: %s", m.Execution)
	}
	again := run.ResumeOptions{Options: run.Options{Getenv: o.Getenv}}
	if _, err := run.Resume(t.Context(), o.Dir, run.ResumeOptions{Options: again.Options, Set: []string{"again=true"}}); err == nil || !strings.Contains(err.Error(), "again: the run has false, asked is true") {
		t.Errorf("another setting: %v", err)
	}
	session, err = run.Resume(t.Context(), o.Dir, again)
	result, _, ended := finish(t, session, err)
	if ended != nil || result.Progress.Done != result.Planned || result.Progress.Before == 0 {
		t.Fatalf("%+v, %v", result.Progress, ended)
	}
	if _, err := run.Resume(t.Context(), o.Dir, again); !errors.Is(err, run.ErrFinished) {
		t.Errorf("a finished run: %v", err)
	}
	replayed := filepath.Join(t.TempDir(), "replayed")
	session, err = run.Replay(t.Context(), nil, []string{o.Dir}, run.Options{Dir: replayed})
	if _, _, err := finish(t, session, err); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(trialsOf(t, o.Dir), trialsOf(t, replayed)); diff != "" {
		t.Errorf("a replay gives other records: %s", diff)
	}
	if _, err := run.Resume(t.Context(), replayed, run.ResumeOptions{RetryErrors: true}); err == nil || !strings.Contains(err.Error(), "no model was asked") {
		t.Errorf("a replay that goes on: %v", err)
	}
}

// trialsOf reads a run's trials, having checked it.
func trialsOf(t *testing.T, dir string) (all []string) {
	t.Helper()
	stored, err := run.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	v, err := stored.Check(t.Context(), "", func(problem string) { t.Error(problem) })
	if err != nil || v.Replayed != v.Planned || v.Parts == 0 {
		t.Errorf("checked: %+v, %v", v, err)
	}
	for tr, err := range stored.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(tr)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(b))
	}
	return all
}

// A model that says nothing must not pass for one that sees nothing.
func TestSilentModel(t *testing.T) {
	faults, err := llmtest.Script("filter=1")
	if err != nil {
		t.Fatal(err)
	}
	o := server(t, llmtest.Options{Faults: faults})
	session, err := run.Start(t.Context(), parse(t, "{base: quick, seeds: 1, tasks: detect, detection: {modalities: text}, models: ["+served+", ref/reader]}"), o)
	result, notices, ended := finish(t, session, err)
	if ended != nil || !slices.Equal(result.Silent, []string{served}) {
		t.Errorf("silent: %v, %v", result.Silent, ended)
	}
	if n := len(notices); n == 0 || !strings.Contains(notices[n-1], served+" gave no usable answer in any of its trials") {
		t.Errorf("notices: %q", notices)
	}
}

// What cannot be right is refused before a folder is made.
func TestStartRefuses(t *testing.T) {
	for want, o := range map[string]run.Options{
		"--concurrency 10000000: want a number of trials at once from 1 to 4096": {Pace: run.Pace{Concurrency: 10_000_000}},
		"--max-errors -1": {Pace: run.Pace{MaxErrors: new(-1)}},
	} {
		o.Dir = filepath.Join(t.TempDir(), "run")
		_, err := run.Start(t.Context(), parse(t, "{base: quick, seeds: 1}"), o)
		var usage run.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := os.Stat(o.Dir); err == nil {
			t.Error("a refused run left a folder")
		}
	}
	_, err := run.Start(t.Context(), parse(t, "{base: quick, models: openai/gpt-4o}"), run.Options{Dir: filepath.Join(t.TempDir(), "run"), Getenv: func(string) string { return "" }})
	if err == nil || !strings.Contains(err.Error(), "--env-file") {
		t.Errorf("without a key: %v", err)
	}
}

// The end of its context ends a run at once, and leaves it resumable.
func TestCancelled(t *testing.T) {
	o := server(t, llmtest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	session, err := run.Start(ctx, parse(t, "{base: quick, seeds: 1, tasks: detect, models: "+served+"}"), o)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := session.Wait(); !errors.Is(err, context.Canceled) && llm.KindOf(err) != llm.KindCanceled {
		t.Errorf("ended with %v", err)
	}
	session, err = run.Resume(t.Context(), o.Dir, run.ResumeOptions{Options: run.Options{Getenv: o.Getenv}})
	if result, _, err := finish(t, session, err); err != nil || result.Progress.Done != result.Planned {
		t.Errorf("%+v, %v", result, err)
	}
	for _, tr := range trialsOf(t, o.Dir) {
		if strings.Contains(tr, `"outcome":"`+record.Failed) {
			t.Errorf("a trial failed: %s", tr)
		}
	}
}

// A model that does not see must not be measured as if it did, unless that is
// wanted; and a run that was refused leaves nothing.
func TestBlindModel(t *testing.T) {
	o := server(t, llmtest.Options{Control: "ref/reader", Blind: true})
	text := "{base: quick, seeds: 1, tasks: detect, detection: {modalities: vision}, models: openai-api/rehearse/some-model}"
	_, err := run.Start(t.Context(), parse(t, text), o)
	if !errors.Is(err, llm.ErrBlind) || !strings.Contains(err.Error(), "--blind") {
		t.Errorf("a blind model: %v", err)
	}
	if _, err := os.Stat(o.Dir); err == nil {
		t.Error("a refused run left a folder")
	}
	o.Blind = true
	session, err := run.Start(t.Context(), parse(t, text), o)
	if result, _, err := finish(t, session, err); err != nil || result.Finished != result.Planned {
		t.Errorf("%+v, %v", result, err)
	}
}

// made runs a study and opens the run.
func made(t *testing.T, s *study.Study) *run.Stored {
	t.Helper()
	session, err := run.Start(t.Context(), s, run.Options{Dir: filepath.Join(t.TempDir(), "run")})
	if _, _, err := finish(t, session, err); err != nil {
		t.Fatal(err)
	}
	stored, err := run.Open(session.Dir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stored.Close() })
	return stored
}

// checked wants a run in which nothing is wrong, and every trial of which is the
// same when it is made again.
func checked(t *testing.T, stored *run.Stored) {
	t.Helper()
	v, err := stored.Check(t.Context(), "", func(problem string) { t.Error(problem) })
	if err != nil || v.Replayed != v.Planned {
		t.Errorf("error %v, %d of %d trials made again", err, v.Replayed, v.Planned)
	}
}
