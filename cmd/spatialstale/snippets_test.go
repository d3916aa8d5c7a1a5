package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/audit/audittest"
)

// pages are the pages whose snippets are run, those in sh and in python, in the
// order in which they stand, in one empty folder a page. One that is marked
// "sh checkout" is run in a folder that has all of the repository's.
var pages = []string{"export", "datasets", "python", "inspect", "methods", "audit", "serve"}

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
	local := (&audittest.Model{Rule: missingFile}).Serve() // what docs/audit.md calls a model on this machine
	defer local.Close()
	env = append(env, "LOCAL_BASE_URL="+local.URL, "LOCAL_API_KEY=none")
	block := regexp.MustCompile("(?ms)^```(sh|sh checkout|python)\n(.*?)^```$")
	// A program between blank lines, and no line of JSON.
	indented := regexp.MustCompile("(?m)^\n    [^{ ]")
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, "docs", page+".md"))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if indented.MatchString(string(text)) {
				t.Error("a snippet stands indented, where nothing runs it; fence it")
			}
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
				if b[1] == "sh checkout" {
					cmd.Dir, cmd.Env = checkout(t, root), append(env, "PATH="+pretendPip(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
				}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("snippet %d:\n%s\n%v\n%s", i+1, b[2], err, out)
				}
			}
		})
	}
}

// checkout returns a folder in which the repository's files lie, to build in.
func checkout(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); name[0] != '.' && name != "spatialstale" {
			if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// pretendPip returns a folder with a pip that installs nothing, and looks that
// what it is told to install has the extra that is named.
func pretendPip(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	script := `#!/bin/bash -eu
[ "$1" = install ]
folder=${2%%[*} extra=${2##*[}
grep -q "^${extra%]} = " "$folder/pyproject.toml"
`
	if err := os.WriteFile(filepath.Join(dir, "pip"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// missingFile is a rule of audits: an entry is stale when it names a file that the
// observation does not, valid when it does.
func missingFile(entry, observation string) string {
	_, name, ok := strings.Cut(entry, "the file ")
	switch name = strings.TrimSuffix(name, "."); {
	case !ok:
		return "not_covered"
	case strings.Contains(observation, name):
		return "valid"
	}
	return "stale"
}
