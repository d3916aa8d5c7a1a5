package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/analysis"
)

func TestFiles(t *testing.T) {
	tables := broken().all(t)
	for format, extension := range extensions {
		t.Run(format, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new", "folder")
			names, err := (&Output{Tables: tables, Format: format}).Write(dir)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, table := range tables {
				if len(table.Rows) > 0 {
					want = append(want, filepath.Join(dir, table.ID+extension))
				}
			}
			if !slices.Equal(names, want) || len(want) == len(tables) {
				t.Errorf("files %q, want one for each table with rows, %q", names, want)
			}
			for i, name := range names {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				var alone strings.Builder
				table := tables[slices.IndexFunc(tables, func(t analysis.Table) bool { return filepath.Join(dir, t.ID+extension) == want[i] })]
				if err := writeAs(&alone, []analysis.Table{table}, format); err != nil {
					t.Fatal(err)
				}
				if string(b) != alone.String() || len(b) == 0 {
					t.Errorf("%s is not the table alone", name)
				}
			}
		})
	}
}

// A file that is there stays as it is, and no other is written beside it.
func TestFilesOverwriteNothing(t *testing.T) {
	tables := broken().tables(t)
	dir := t.TempDir()
	last := filepath.Join(dir, tables[len(tables)-1].ID+".csv")
	if err := os.WriteFile(last, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	names, err := (&Output{Tables: tables, Format: "csv"}).Write(dir)
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), last) || len(names) != 0 {
		t.Errorf("files %q, error %v; want none and one that names %s", names, err, last)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || string(b) != "mine" {
		t.Errorf("%d files, and the one that was there holds %q", len(entries), b)
	}
	if _, err := (&Output{Tables: tables, Format: "pdf"}).Write(dir); err == nil || !strings.Contains(err.Error(), "csv") {
		t.Errorf("error %v for a format that is none, want one that lists what there is", err)
	}
}

// A table without rows is not shown as an empty one: it says what it needs.
func TestTablesWithoutRows(t *testing.T) {
	tables := []analysis.Table{
		{ID: "one", Title: "One", Need: "more", Columns: []analysis.Column{{Key: "a", Heading: "heading", Kind: analysis.Label}}},
		{ID: "two", Title: "Two", Paper: "Table 9"},
	}
	var md strings.Builder
	if err := Markdown(&md, tables); err != nil {
		t.Fatal(err)
	}
	for form, out := range map[string]string{"text": textOf(t, tables, TextOptions{}), "Markdown": md.String()} {
		for _, want := range []string{absentTitle, "one needs more.", "two (the paper’s Table 9)"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s lacks %q:\n%s", form, want, out)
			}
		}
		if strings.Contains(out, "heading") || strings.Contains(out, "One") {
			t.Errorf("%s shows an empty table:\n%s", form, out)
		}
	}
}

// Where numbers leave no room, labels take several lines, whole and in order.
func TestLongLabelsFold(t *testing.T) {
	value := 0.5
	table := analysis.Table{
		ID: "x", Title: "x",
		Columns: []analysis.Column{
			{Key: "a", Heading: "what", Kind: analysis.Label, Align: analysis.Left},
			{Key: "b", Heading: "value", Kind: analysis.Mean, Decimals: 3, Align: analysis.Right},
		},
		Rows: [][]analysis.Cell{
			{{Label: "a label of many short words that cannot stay in one line"}, {Value: &value, SD: &value}},
			{{Label: "short"}, {Value: &value, SD: &value}},
		},
	}
	out := textOf(t, []analysis.Table{table}, TextOptions{Width: 40})
	want := `what                            value
────────────────────────────────────────
a label of many short words  0.500±0.500
that cannot stay in one
line
short                        0.500±0.500
`
	if !strings.Contains(out, want) {
		t.Errorf("got\n%s\nwant in it\n%s", out, want)
	}
	// In less room the deviations go as well, and are named.
	out = textOf(t, []analysis.Table{table}, TextOptions{Width: 24})
	if strings.Contains(out, "±0") || !strings.Contains(out, "0.500") || !strings.Contains(strings.Join(strings.Fields(out), " "), "standard deviations (±)") {
		t.Errorf("at 24 columns:\n%s", out)
	}
}
