package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/report/figure"
)

// A table with rows is a file of its own, a figure with panels one of each form,
// and with data formats its numbers too.
func TestFiles(t *testing.T) {
	tables := sample()
	figures := page(t).Figures
	for format, extension := range map[string]string{"text": ".txt", "md": ".md", "csv": ".csv", "json": ".json", "latex": ".tex"} {
		dir := filepath.Join(t.TempDir(), "new", "folder")
		names, err := (&report.Output{Tables: tables, Format: format, Figures: figures, Drawings: figure.Formats}).Write(dir)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"detection" + extension, "contrasts" + extension}
		if format == "text" || format == "csv" { // which do not say themselves what made them
			want = append(want, "program.txt")
		}
		want = append(want, "figure-3-detection.svg", "figure-3-detection.png", "figure-3-detection.pdf")
		if format == "csv" || format == "json" {
			want = append(want, "figure-3-detection"+extension)
		}
		for i, name := range names {
			names[i] = filepath.Base(name)
			if info, err := os.Stat(name); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
	dir := t.TempDir()
	if _, err := (&report.Output{Tables: tables, Format: "md"}).Write(dir); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "contrasts.md")); err != nil || string(b) != markdown(t, tables[1]) {
		t.Errorf("the file is not the table alone (%v):\n%s", err, b)
	}
}

// A file that is there stays as it is, and no other is written beside it.
func TestFilesOverwriteNothing(t *testing.T) {
	dir := t.TempDir()
	last := filepath.Join(dir, "contrasts.csv")
	if err := os.WriteFile(last, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	names, err := (&report.Output{Tables: sample(), Format: "csv"}).Write(dir)
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), last) || len(names) != 0 {
		t.Errorf("files %q, error %v; want none and one that names %s", names, err, last)
	}
	entries, _ := os.ReadDir(dir)
	if b, err := os.ReadFile(last); err != nil || len(entries) != 1 || string(b) != "mine" {
		t.Errorf("%d files, and the one that was there holds %q (%v)", len(entries), b, err)
	}
	for _, out := range []report.Output{{Format: "pdf"}, {Format: "csv", Drawings: []string{"gif"}}} {
		if _, err := out.Write(dir); err == nil || !strings.Contains(err.Error(), "there are [") {
			t.Errorf("error %v for a format that is none, want one that lists what there is", err)
		}
	}
}

// The numbers behind a figure are those that are drawn, a line each, and JSON
// reads back whole.
func TestFigureData(t *testing.T) {
	f := &analysis.Figure{ID: "f", Title: "F", Topic: analysis.TopicLakes, Warnings: []string{}, Notes: []string{}, Feet: []string{}, Across: 1, Panels: []analysis.Panel{
		{Title: "=L1", Categories: []analysis.Category{{Name: "gpt-4o"}, {Name: "+x"}}, Series: []analysis.Series{{Key: "text", Mark: analysis.Bars, Points: []analysis.Point{
			{Category: 0, X: new(0.5), XRange: &analysis.Span{Low: 0.25, High: 0.75}, N: 50, Trials: &analysis.Trials{Finished: 3, Planned: 4}, XBounds: &analysis.Span{Low: 0.1, High: 0.9}},
			{Category: 1, N: 0, Label: "none"}}}}},
		{Title: "a lake", Scene: &analysis.Scene{Rows: []string{"SF", "HG"}, Thaw: []record.Pos{{1, 0}}, Freeze: []record.Pos{},
			Routes: []analysis.Route{{Key: "omcd", Name: "OMCD", Outcome: "success", Cells: []record.Pos{{0, 0}, {0, 1}}}}}},
	}}
	var b, j bytes.Buffer
	if err := errors.Join(report.FigureCSV(&b, f), report.FigureJSON(&j, f)); err != nil {
		t.Fatal(err)
	}
	want := `panel,series,category,x,x_low,x_high,y,y_low,y_high,n,label,finished,planned,x_least,x_most
'=L1,text,gpt-4o,0.5,0.25,0.75,,,,50,,3,4,0.1,0.9
'=L1,text,'+x,,,,,,,0,none,,,,
a lake,cells,S,0,,,0,,,1,,,,,
a lake,cells,F,1,,,0,,,1,,,,,
a lake,cells,H,0,,,1,,,1,thaw,,,,
a lake,cells,G,1,,,1,,,1,,,,,
a lake,omcd,success,0,,,0,,,1,0,,,,
a lake,omcd,success,1,,,0,,,1,1,,,,
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("CSV (-want +got):\n%s", diff)
	}
	if _, err := csv.NewReader(&b).ReadAll(); err != nil {
		t.Error(err)
	}
	var doc struct {
		Version int
		Figure  analysis.Figure
	}
	if err := json.Unmarshal(j.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*f, doc.Figure); diff != "" || doc.Version != report.FormatVersion {
		t.Errorf("JSON does not read back (version %d):\n%s", doc.Version, diff)
	}
}

// What a terminal shows at the end of a run.
func TestSummary(t *testing.T) {
	s := page(t).Summary
	s.Names = []string{"[1] ref/mixed?trust=0.5&tpr=0.9"}
	hints := []string{"", "all tables: spatialstale report 'runs/my run' --table contrasts,detection,navigation-text", "the page:   runs/my run/report.html"}
	var b bytes.Buffer
	if err := report.Summary(&b, s, report.SummaryOptions{Width: 60, Hints: hints}); err != nil {
		t.Fatal(err)
	}
	want := `Study paper
· Stale memory costs gpt-4o 0.50 of its success [0.31,
  0.72].
· The reader loses nothing.
! 2 of 300 trials failed.
[1] ref/mixed?trust=0.5&tpr=0.9

all tables: spatialstale report 'runs/my run' --table contrasts,detection,navigation-text
the page:   runs/my run/report.html
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A summary never fills more than a screen, says how much it leaves out, and
// keeps every hint as it is.
func TestSummaryKeepsItsLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.Map(rapid.StringOfN(rapid.RuneFrom([]rune("abc 漢\x1b\n")), 1, 200, -1), func(s string) string { return "x" + s })
		s := analysis.Summary{Title: rapid.StringOfN(rapid.RuneFrom([]rune("abc ")), 0, 40, -1).Draw(t, "title"), Lost: rapid.SliceOfN(word, 0, 9).Draw(t, "lost"), Names: rapid.SliceOfN(word, 0, 9).Draw(t, "names")}
		for _, words := range rapid.SliceOfN(word, 0, 60).Draw(t, "findings") {
			s.Findings = append(s.Findings, analysis.Finding{Text: words})
		}
		opts := report.SummaryOptions{Width: rapid.IntRange(0, 120).Draw(t, "width"), Hints: []string{"hint one", "hint two"}}
		var b bytes.Buffer
		if err := report.Summary(&b, s, opts); err != nil {
			t.Fatal(err)
		}
		out := b.String()
		if n := strings.Count(out, "\n"); n > report.SummaryLines {
			t.Fatalf("%d lines:\n%s", n, out)
		}
		if !strings.HasSuffix(out, "hint one\nhint two\n") || strings.Contains(out, "\x1b") {
			t.Fatalf("hints or names are not as they should be:\n%q", out)
		}
		shown := strings.Count("\n"+out, "\n· ")
		if shown < len(s.Findings) && !strings.Contains(out, "more findings") {
			t.Fatalf("%d of %d findings, and not a word about the others:\n%s", shown, len(s.Findings), out)
		}
	})
}

// One trial as a terminal shows it.
func TestTrace(t *testing.T) {
	episode := walk()
	detection := walk()
	detection.Task, detection.Outcome, detection.Steps, detection.Death = record.Detect, record.Done, nil, nil
	failed := walk()
	failed.Outcome, failed.Error, failed.Death, failed.Steps, failed.Model = record.Failed, "no answer", nil, nil, "evil\x1b[2J"
	var b bytes.Buffer
	for _, trial := range []*record.Trial{episode, detection, failed} {
		trace := report.Trace{Trial: trial, Instance: lakeOf(7)}
		if err := trace.Write(&b, report.TraceOptions{}); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n----\n")
	}
	golden(t, "trace.txt", b.Bytes())
	var coloured bytes.Buffer
	trace := report.Trace{Trial: episode, Instance: lakeOf(7)}
	if err := trace.Write(&coloured, report.TraceOptions{Color: true}); err != nil || !strings.Contains(coloured.String(), "\x1b[") {
		t.Errorf("nothing is coloured (%v)", err)
	}
	if err := trace.Write(fullDisk{}, report.TraceOptions{}); !errors.Is(err, errFull) {
		t.Errorf("error %v, want the writer's", err)
	}
	broken := lakeOf(7)
	broken.Rows = []string{"S"}
	trace.Instance = broken
	if err := trace.Write(io.Discard, report.TraceOptions{}); err == nil || !slices.Contains(strings.Fields(err.Error()), episode.Key+":") {
		t.Errorf("error %v for a lake that is none, want one that names the trial", err)
	}
}
