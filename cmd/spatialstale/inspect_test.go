package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Inspect's library reads the logs of a real run, pictures as well, and its
// viewer shows them without an error, and the words of those that failed.
func TestInspectViewer(t *testing.T) {
	python := os.Getenv("SPATIALSTALE_TEST_PYTHON")
	_, err := exec.LookPath("chromium")
	if python == "" || err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("SPATIALSTALE_TEST_PYTHON is %q; chromium: %v", python, err)
		}
		t.Skip("needs Chromium, and SPATIALSTALE_TEST_PYTHON set to a Python that has the packages of python/requirements-test.txt")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	url, stop := rehearse(t, "--faults", "too-long=0.2") // a refusal that is not tried again: trials of both tasks fail
	for _, args := range [][]string{
		{"run", "quick", "--seeds", "1", "--model", "ref/mixed", "--model", "openai-api/rehearse/ref/reader", "--out", "run"},
		{"export", "run", "--out", "lines"},
		{"export", "run", "--format", "inspect", "--out", "logs"},
	} {
		cmd := exec.Command(exe, args...)
		cmd.Env, cmd.Dir = append(os.Environ(), asCommand+"=1", "REHEARSE_API_KEY=none", "REHEARSE_BASE_URL="+url), dir
		// The run says by its exit code that some of its trials failed.
		if out, err := cmd.CombinedOutput(); err != nil && args[0] != "run" {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	stop()
	logs, lines := filepath.Join(dir, "logs"), filepath.Join(dir, "lines")
	view := []string{filepath.Join("testdata", "browser", "view_inspect.py"), logs, lines}
	if shots := os.Getenv("SPATIALSTALE_SCREENSHOTS"); shots != "" { // for people who want to look
		view = append(view, shots)
	}
	for _, args := range [][]string{{filepath.Join("..", "..", "export", "testdata", "read_inspect.py"), logs, lines}, view} {
		out, err := exec.Command(python, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		t.Logf("%s", out)
	}
}
