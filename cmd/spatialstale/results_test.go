package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/analysis"
)

const resultsPage = "../../docs/results.md"

// exampleRun is a command on the page that makes one of its examples.
var exampleRun = regexp.MustCompile(`(?m)^spatialstale (run .* --out runs/\w+)$`)

// excerpt is a table on the page: the command that shows it, and its output as
// far as the last rule, without the notes.
var excerpt = regexp.MustCompile("(?s)<!-- ((?:report|compare) .*?) -->\n```text\n(.*?)```\n")

// picture is a figure on the page.
var picture = regexp.MustCompile(`\]\(images/(figure-[\w-]+)\.svg\)`)

// What the page shows is what the program says and draws. -update writes it
// anew.
func TestResultsPageIsRealOutput(t *testing.T) {
	notShort(t)
	path, err := filepath.Abs(resultsPage)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	say := func(command string) string {
		var out, errs bytes.Buffer
		args := strings.Fields(strings.ReplaceAll(command, "'", ""))
		if code := execute(args, env{ctx: context.Background(), stdout: &out, stderr: &errs, now: time.Now}); code != exitDone {
			t.Fatalf("spatialstale %s: exit %d: %s", command, code, errs.String())
		}
		return out.String()
	}
	runs := exampleRun.FindAllSubmatch(page, -1)
	if len(runs) == 0 {
		t.Fatal("the page has no command that makes its example")
	}
	for _, run := range runs {
		say(string(run[1]))
	}
	found := 0
	got := excerpt.ReplaceAllStringFunc(string(page), func(block string) string {
		found++
		command := excerpt.FindStringSubmatch(block)[1]
		out := say(command)
		if end := strings.LastIndex(out, "─\n"); end >= 0 {
			out = out[:end] + "─\n"
		}
		return "<!-- " + command + " -->\n```text\n" + out + "```\n"
	})
	if found == 0 {
		t.Error("the page has no excerpts")
	}
	pictures := picture.FindAllStringSubmatch(string(page), -1)
	if len(pictures) == 0 {
		t.Error("the page has no figures")
	}
	say("report runs/example --out drawn")
	for _, p := range pictures {
		drawn, err := os.ReadFile(filepath.Join("drawn", p[1]+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		kept := filepath.Join(filepath.Dir(path), "images", p[1]+".svg")
		if *update {
			if err := os.WriteFile(kept, drawn, 0o644); err != nil {
				t.Fatal(err)
			}
		} else if old, err := os.ReadFile(kept); err != nil || !bytes.Equal(old, drawn) {
			t.Errorf("%s is not what the program draws (%v); look at it, then -update", kept, err)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(page), got); diff != "" {
		t.Errorf("the page's excerpts are not what the program says; read the text around them, then -update (-page +program):\n%s", diff)
	}
}

// Every table and every figure has its line on the page.
func TestResultsPageNamesEverything(t *testing.T) {
	page, err := os.ReadFile(resultsPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range new(analysis.Frame).Tables() {
		if !regexp.MustCompile("(?m)^\\|.*`" + regexp.QuoteMeta(table.ID) + "`.*\\|$").Match(page) {
			t.Errorf("docs/results.md has no line for the table %s", table.ID)
		}
	}
	for _, f := range new(analysis.Frame).Figures() {
		if !regexp.MustCompile("(?m)^\\|.*`" + regexp.QuoteMeta(f.ID) + "`.*\\|$").Match(page) {
			t.Errorf("docs/results.md has no line for the figure %s", f.ID)
		}
	}
}
