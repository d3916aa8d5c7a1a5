package main

import (
	"github.com/spatialstale/spatialstale/results"

	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The page that a run leaves behind works in a real browser: no error, no
// request, no overflow on a phone, and replays that show each step as the
// records have it.
func TestPageInBrowser(t *testing.T) {
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
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(exe, args...)
		cmd.Env, cmd.Dir = append(os.Environ(), asCommand+"=1"), dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	run("run", "quick", "--seeds", "2", "--out", "run")
	run("export", "run", "--out", "lines")
	args := []string{filepath.Join("testdata", "browser", "browse.py"), filepath.Join(dir, "run", results.PageName), filepath.Join(dir, "lines")}
	if shots := os.Getenv("SPATIALSTALE_SCREENSHOTS"); shots != "" { // for people who want to look
		args = append(args, shots)
	}
	out, err := exec.Command(python, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)

	// A run of models with long names.
	run("run", "quick", "--seeds", "1", "--model", "ref/reader", "--model", "ref/mixed?trust=0.5&tpr=0.9&fpr=0.02&vision_tpr=0.6&vision_fpr=0.05&slip=0.02", "--out", "named")
	if out, err := exec.Command(python, filepath.Join("testdata", "browser", "browse.py"), filepath.Join(dir, "named", results.PageName)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
