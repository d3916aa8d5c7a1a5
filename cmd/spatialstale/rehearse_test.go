package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/run"
)

// rehearse starts the command and returns its base URL, and how to stop it.
func rehearse(t *testing.T, args ...string) (url string, stop func() (code int, said string)) {
	t.Helper()
	out, in := io.Pipe()
	stopped := make(chan struct{})
	done := make(chan int)
	var stderr bytes.Buffer
	go func() {
		code := execute(append([]string{"rehearse"}, args...), env{ctx: context.Background(), stop: stopped, stdout: in, stderr: &stderr, now: time.Now})
		_ = in.CloseWithError(fmt.Errorf("it ended with %d: %s", code, stderr.String()))
		done <- code
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		<-done
		t.Fatal(err)
	}
	return strings.TrimSpace(url), func() (int, string) {
		close(stopped)
		code := <-done
		return code, stderr.String()
	}
}

// inProcess runs a command to its end, here, and returns its standard output.
func inProcess(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := execute(args, env{ctx: context.Background(), stop: nil, stdout: &stdout, stderr: &stderr, now: time.Now}); code != exitDone {
		t.Fatalf("%v ended with %d: %s", args, code, &stderr)
	}
	return stdout.String()
}

// A run over the wire, through refusals, must give what the control gives when
// it is asked directly, with each call answered once; and what it leaves behind
// must not hold the key.
func TestRehearsal(t *testing.T) {
	t.Run("chat", func(t *testing.T) { rehearsed(t, "openai-api/rehearse/", "REHEARSE") })
	t.Run("anthropic", func(t *testing.T) { rehearsed(t, "anthropic/", "ANTHROPIC") })
	t.Run("gemini", func(t *testing.T) { rehearsed(t, "google/", "GOOGLE") })
	t.Run("ollama", func(t *testing.T) { rehearsed(t, "ollama/", "OLLAMA") })
}

func rehearsed(t *testing.T, prefix, variable string) {
	dir := t.TempDir()
	ledger := filepath.Join(dir, "ledger.jsonl")
	url, stop := rehearse(t, "--faults", "429-ms=0.2,seed=1", "--retry-after", "1ms", "--refuse", "response_format", "--ledger", ledger)
	const key = "sk-rehearsal-Q7w8E9r0T1"
	t.Setenv(variable+"_BASE_URL", url)
	t.Setenv(variable+"_HOST", url)
	t.Setenv(variable+"_API_KEY", key)
	t.Setenv(run.NameCallsVar, "1")
	model := prefix + "ref/reader"
	study := []string{"quick", "--seeds", "1", "--regime", "L1,L3", "--episodes", "1"}
	files := func(name, model string) map[string]string {
		run, out := filepath.Join(dir, name), filepath.Join(dir, name+"-files")
		inProcess(t, append([]string{"run", "--out", run, "--model", model, "--concurrency", "4"}, study...)...)
		inProcess(t, "export", run, "--format", "jsonl", "--out", out)
		got := map[string]string{}
		for _, file := range []string{"trials.jsonl", "steps.jsonl", "judgments.jsonl"} {
			b, err := os.ReadFile(filepath.Join(out, file))
			if err != nil {
				t.Fatal(err)
			}
			got[file] = withoutTrial(string(b), model)
		}
		return got
	}
	wire, direct := files("wire", model), files("direct", "ref/reader")
	if diff := cmp.Diff(direct, wire); diff != "" {
		t.Errorf("over the wire it comes out otherwise (-direct +wire):\n%s", diff)
	}
	code, said := stop()
	entries, err := llmtest.ReadLedger(ledger)
	if err != nil {
		t.Fatal(err)
	}
	all := llmtest.Count(entries)
	totals := llmtest.Count(withoutSight(entries))
	calls, err := os.ReadFile(filepath.Join(dir, "wire-files", "calls.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(calls, []byte("\n")); totals.Distinct != n || totals.Answered != n || totals.Asked < n*6/5 || totals.Repeated != 0 {
		t.Errorf("%+v for %d calls", totals, n)
	}
	for _, e := range entries {
		if strings.Count(e.Call, "/") < 1 {
			t.Fatalf("a call without a name: %+v", e)
		}
	}
	if want := fmt.Sprintf("%d different calls, 0 repeated", all.Distinct); code != exitDone || !strings.Contains(said, want) {
		t.Errorf("it ended with %d and %q, want %q", code, said, want)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(key)) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// withoutSight leaves out the question whether a model sees, which comes before
// a run and is no call of it.
func withoutSight(entries []llmtest.Entry) []llmtest.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e llmtest.Entry) bool { return strings.HasPrefix(e.Call, "sight/") })
}

// withoutTrial takes the trials' keys, which hold the model's name, out of a
// file, and the name itself.
func withoutTrial(lines, model string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		head, rest, _ := strings.Cut(line, ",")
		if !strings.HasPrefix(head, `{"trial":`) {
			rest = line
		}
		b.WriteString(strings.ReplaceAll(rest, model, "MODEL"))
	}
	return b.String()
}

// Would fail if a key that the server refuses did not stop the run at once, or
// were shown.
func TestRefusedKeyStopsTheRun(t *testing.T) {
	url, stop := rehearse(t, "--faults", "bad-key=1")
	t.Setenv("REHEARSE_BASE_URL", url)
	t.Setenv("REHEARSE_API_KEY", "sk-rehearsal-Q7w8E9r0T1")
	var stderr bytes.Buffer
	code := execute([]string{"run", "quick", "--seeds", "1", "--model", "openai-api/rehearse/m", "--concurrency", "1", "--out", filepath.Join(t.TempDir(), "run")},
		env{ctx: context.Background(), stop: nil, stdout: io.Discard, stderr: &stderr, now: time.Now})
	if code != exitFailed || !strings.Contains(stderr.String(), "auth: HTTP 401: Incorrect API key provided.") || strings.Contains(stderr.String(), "Q7w8E9r0T1") {
		t.Errorf("ended with %d: %s", code, &stderr)
	}
	if _, said := stop(); !strings.HasPrefix(lastLine(said), "1 requests") {
		t.Error(said)
	}
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// A study over a server that never stops by itself would fail if a call were
// listened to beyond what was asked, or a result came out otherwise.
func TestEndlessServer(t *testing.T) {
	dir := t.TempDir()
	files := func(name, model string) (results, calls string) {
		run, out := filepath.Join(dir, name), filepath.Join(dir, name+"-files")
		inProcess(t, "run", "small", "--seeds", "1", "--out", run, "--model", model, "--stream")
		inProcess(t, "export", run, "--format", "jsonl", "--out", out)
		read := func(file string) string {
			b, err := os.ReadFile(filepath.Join(out, file))
			if err != nil {
				t.Fatal(err)
			}
			return withoutTrial(string(b), model)
		}
		return read("trials.jsonl") + read("steps.jsonl"), read("calls.jsonl")
	}
	url, stop := rehearse(t, "--faults", "endless=1", "--delay", "0s")
	defer stop()
	t.Setenv("REHEARSE_BASE_URL", url)
	t.Setenv(run.NameCallsVar, "1")
	wire, calls := files("wire", "openai-api/rehearse/ref/reader")
	direct, _ := files("direct", "ref/reader")
	if diff := cmp.Diff(direct, wire); diff != "" {
		t.Errorf("it comes out otherwise (-direct +wire):\n%s", diff)
	}
	for purpose, finish := range map[string]string{"audit": "done", "step": "repeats"} {
		for call := range strings.Lines(calls) {
			if strings.Contains(call, `"purpose":"`+purpose+`"`) && !strings.Contains(call, `"finish":"`+finish+`"`) {
				t.Errorf("want it to end by %s: %.400s", finish, call)
			}
		}
	}
	if strings.Count(calls, `"audit"`) == 0 || strings.Count(calls, `"step"`) == 0 {
		t.Error("no audit or no step was asked for")
	}
}

// Would fail if vision were measured on a server that drops the pictures.
func TestBlindServer(t *testing.T) {
	url, stop := rehearse(t, "--blind", "--delay", "0s")
	defer stop()
	t.Setenv("REHEARSE_BASE_URL", url)
	study := []string{"run", "quick", "--seeds", "1", "--task", "detect", "--modality", "vision", "--regime", "L1", "--model", "openai-api/rehearse/ref/reader", "--out", filepath.Join(t.TempDir(), "run")}
	var stderr bytes.Buffer
	code := execute(study, env{ctx: context.Background(), stdout: io.Discard, stderr: &stderr, now: time.Now})
	if code != exitFailed || !strings.Contains(stderr.String(), "--blind") {
		t.Errorf("it ended with %d: %s", code, &stderr)
	}
	inProcess(t, append(study, "--blind")...)
}
