package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spatialstale/spatialstale/llm/llmtest"
)

// A model behind two addresses, one of which dies in the middle, gives the run that
// it gives behind one: no trial fails, and both were asked.
func TestEndpoints(t *testing.T) {
	dir := t.TempDir()
	serve := func(name string) (*llmtest.Server, string) {
		t.Helper()
		ledger := filepath.Join(dir, name)
		s, err := llmtest.Listen("127.0.0.1:0", llmtest.Options{Delay: 5 * time.Millisecond, Ledger: ledger})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s, ledger
	}
	first, firstLedger := serve("first")
	second, secondLedger := serve("second")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	arguments := []string{"run", "quick", "--seeds", "2", "--modality", "text", "--regime", "L1", "--model", "openai-api/v/ref/reader"}
	run := func(out string, more ...string) *exec.Cmd {
		cmd := exec.Command(exe, append(append(arguments, "--out", filepath.Join(dir, out)), more...)...)
		cmd.Env = append(os.Environ(), asCommand+"=1", "V_API_KEY=none", "V_BASE_URL="+first.URL)
		return cmd
	}
	if out, err := run("one").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := run("two", "--endpoint", first.URL, "--endpoint", second.URL)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	asked := func(ledger string) int {
		text, err := os.ReadFile(ledger)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte("\n"))
	}
	for end := time.Now().Add(30 * time.Second); asked(secondLedger) < 30 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
	}
	second.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	if n := asked(secondLedger); n < 30 || asked(firstLedger) <= n {
		t.Errorf("the first was asked %d times, the second %d", asked(firstLedger), n)
	}
	for _, file := range []string{"trials", "steps", "judgments"} {
		var texts []string
		for _, name := range []string{"one", "two"} {
			out := filepath.Join(dir, name+"-jsonl")
			if _, err := os.Stat(out); err != nil {
				toldBy(t, "export", filepath.Join(dir, name), "--format", "jsonl", "--out", out)
			}
			text, err := os.ReadFile(filepath.Join(out, file+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
		if texts[0] != texts[1] || texts[0] == "" {
			t.Errorf("%s differ", file)
		}
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "two", "manifest.json"))
	if err != nil || !strings.Contains(string(manifest), first.URL) || !strings.Contains(string(manifest), second.URL) {
		t.Errorf("the manifest names not both addresses: %v", err)
	}
	for want, more := range map[string][]string{
		"is given twice":          {"--endpoint", first.URL, "--endpoint", first.URL},
		"is none; want one like":  {"--endpoint", "nowhere"},
		"is no model of this run": {"--endpoint", "openai/x=" + first.URL},
		"say whose address it is": {"--endpoint", first.URL, "--model", "openai-api/w/ref/reader"},
	} {
		if out, err := run("none", more...).CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", want, err, out)
		}
	}
}
