package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages are the pages whose snippets are run, those in sh and in python, in the
// order in which they stand, in one empty folder a page.
var pages = []string{"export", "datasets", "python", "inspect"}

// Would fail if a snippet of the documentation did not work.
func TestSnippets(t *testing.T) {
	python := os.Getenv("SPATIALSTALE_TEST_PYTHON")
	if python == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("SPATIALSTALE_TEST_PYTHON is not set")
		}
		t.Skip("set SPATIALSTALE_TEST_PYTHON to a Python that has the packages of python/requirements-test.txt")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "spatialstale"), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env := append(os.Environ(),
		"PATH="+bin+string(os.PathListSeparator)+filepath.Dir(python)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"PYTHONPATH="+filepath.Join(root, "python"), "PYTHONDONTWRITEBYTECODE=1", "HF_HUB_OFFLINE=1", "HF_HOME="+t.TempDir())
	block := regexp.MustCompile("(?ms)^```(sh|python)\n(.*?)^```$")
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, "docs", page+".md"))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			blocks := block.FindAllStringSubmatch(string(text), -1)
			if len(blocks) == 0 {
				t.Fatal("no snippet")
			}
			for i, b := range blocks {
				cmd := exec.Command("bash", "-eu", "-o", "pipefail", "-s")
				if b[1] == "python" {
					cmd = exec.Command(python, "-")
				}
				cmd.Dir, cmd.Env, cmd.Stdin = dir, env, strings.NewReader(b[2])
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("snippet %d:\n%s\n%v\n%s", i+1, b[2], err, out)
				}
			}
		})
	}
}
