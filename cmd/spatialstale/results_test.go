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

// What the page shows is what the program says. -update writes it anew.
func TestResultsPageIsRealOutput(t *testing.T) {
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
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(page), got); diff != "" {
		t.Errorf("the page's excerpts are not what the program says; read the text around them, then -update (-page +program):\n%s", diff)
	}
}

// Every table has its line on the page.
func TestResultsPageNamesEveryTable(t *testing.T) {
	page, err := os.ReadFile(resultsPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range new(analysis.Collector).All() {
		if !regexp.MustCompile("(?m)^\\|.*`" + regexp.QuoteMeta(table.ID) + "`.*\\|$").Match(page) {
			t.Errorf("docs/results.md has no line for the table %s", table.ID)
		}
	}
}
