package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Inspect's library reads the logs of a real run, pictures as well, and its
// viewer shows them without an error.
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
	for _, args := range [][]string{
		{"run", "quick", "--seeds", "1", "--out", "run"},
		{"export", "run", "--out", "lines"},
		{"export", "run", "--format", "inspect", "--out", "logs"},
	} {
		cmd := exec.Command(exe, args...)
		cmd.Env, cmd.Dir = append(os.Environ(), asCommand+"=1"), dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
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
