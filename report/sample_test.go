package report_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/stats"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

// golden compares with a file that people read when it changes.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got); -update accepts it:\n%s", name, diff)
	}
}

func text(t interface{ Fatal(...any) }, tables []analysis.Table, opts report.TextOptions) string {
	var b bytes.Buffer
	if err := report.Text(&b, tables, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func markdown(t interface{ Fatal(...any) }, tables ...analysis.Table) string {
	var b bytes.Buffer
	if err := report.Markdown(&b, tables); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Words that a name must not be able to be, in any format.
const hostile = "=evil/\x1b[2J\nname\u202e|<script>alert(1)</script>&\\input{x}"

// sample has every kind of column and cell: a table of means under sections, one
// of differences and tests, and one without rows.
func sample() []analysis.Table {
	label := func(key, heading string) analysis.Column {
		return analysis.Column{Key: key, Heading: heading, Kind: analysis.Label, Align: analysis.Left}
	}
	number := func(key, heading, unit string, kind analysis.Kind, priority int) analysis.Column {
		return analysis.Column{Key: key, Heading: heading, Unit: unit, Kind: kind, Decimals: 3, Align: analysis.Right, Priority: priority}
	}
	mean := func(v, sd float64) analysis.Cell { return analysis.Cell{Value: &v, SD: &sd, N: 50} }
	model := label("model", "model")
	model.Section = true
	recall := number("recall", "recall=TPR", "share", analysis.Rate, 0)
	recall.Group = "over all entries"
	none := number("unanswered", "no answer", "share", analysis.Share, 2)
	none.Group = "over all entries"
	steps := number("steps", "steps", "steps", analysis.Average, 3)
	steps.Decimals = 1
	detection := analysis.Table{
		ID: "detection", Title: "Detection by regime", Topic: analysis.TopicDetection, Paper: "Figure 3",
		About:    "The model audits every memory entry against the current observation.",
		Warnings: []string{"Incomplete: of 300 planned trials, 2 failed. They are in no figure."},
		Notes:    []string{"± is the sample standard deviation over seeds.", "[1] ref/mixed?trust=0.7&tpr=0.9"},
		Columns: []analysis.Column{model, label("regime", "regime"), label("modality", "modality"), number("seeds", "seeds", "seeds", analysis.Count, 1),
			number("f1", "F1", "F1", analysis.Mean, 0), recall, none, steps},
	}
	for i, name := range []string{"openai/gpt-4o", "ref/mixed?trust=0.7&tpr=0.9"} {
		for k, regime := range []string{"L1", "L2"} {
			one := analysis.Cell{Label: name}
			if i == 1 {
				one.Short, one.Tag = "ref/mixed [1]", "control"
			}
			x := float64(3*i+k) / 10
			f1, rate := mean(0.9141-x, 0.0204), mean(1-x, 0.1)
			f1.Best, rate.Count, rate.Of = i == 0 && k == 0, 300-i, 300
			share := analysis.Cell{Value: new(float64(k) / 3200), Count: k, Of: 3200}
			row := []analysis.Cell{one, {Label: regime, Short: record.Regimes.Label(regime)}, {Label: "text"}, {Count: 50 - k, Of: 50}, f1, rate, share, {Value: new(8.5), N: 12}}
			if i == 1 && k == 1 { // a detector that flags nothing has no precision, and no F1 here
				row[4] = analysis.Cell{Undefined: 50}
				row[7] = analysis.Cell{}
			}
			detection.Rows = append(detection.Rows, row)
		}
	}
	pairs := []analysis.SeedPair{{Seed: 1734, A: new(1.0), B: new(0.5)}, {Seed: 4810, A: new(1.0)}}
	contrasts := analysis.Table{
		ID: "contrasts", Title: "Contrasts of strategies", Topic: analysis.TopicNavigation,
		About: "Differences of success on the same seeds.", Notes: []string{"a: few seeds"},
		Columns: []analysis.Column{label("contrast", "contrast"), number("difference", "difference", "share", analysis.Paired, 0),
			number("interval", "interval", "share", analysis.Interval, 0), number("p", "p", "", analysis.PValue, 1), {Key: "says", Heading: "says", Kind: analysis.Verdict, Align: analysis.Left, Priority: 2}},
		Rows: [][]analysis.Cell{
			{{Label: "no-filter-no-memory", Short: "NoFilter − NoMemory"}, {Value: new(-0.5), N: 1, Undefined: 1, Pairs: pairs, Sides: [2]string{"no-memory", "no-filter"}},
				{Low: new(-0.72), High: new(-0.31), Level: 0.95, Method: "bootstrap"}, {Value: new(1e-9), Method: "sign flips", Least: new(1e-15), Mark: "*"}, {Label: "worse"}},
			{{Label: "omcd-no-filter", Short: "OMCD − NoFilter"}, {Undefined: 2, Sides: [2]string{"no-filter", "omcd"}},
				{}, {Footnotes: "a", Warnings: []stats.Warning{{Code: "few", Text: "few seeds"}}}, {}},
		},
	}
	return []analysis.Table{detection, contrasts,
		{ID: "sizes", Title: "Sizes", Topic: analysis.TopicAblations, Paper: "Table 6", Need: "lakes of several sizes: spatialstale run sizes"}}
}

// drawTable draws a table of any shape that analysis could make.
func drawTable(t *rapid.T) analysis.Table {
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abc /?&=0×…漢")), 0, 60, -1)
	number := func(label string) *float64 {
		if rapid.IntRange(0, 4).Draw(t, label+" defined") == 0 {
			return nil
		}
		return new(rapid.Float64Range(-1, 1).Draw(t, label))
	}
	kinds := []analysis.Kind{analysis.Count, analysis.Number, analysis.Mean, analysis.Rate, analysis.Share, analysis.Average, analysis.Paired, analysis.PValue, analysis.Interval, analysis.Verdict}
	table := analysis.Table{ID: "x", Title: word.Draw(t, "title"), Paper: "Table 9", About: word.Draw(t, "about"), Notes: []string{word.Draw(t, "note")}}
	for i := range rapid.IntRange(2, 9).Draw(t, "columns") {
		col := analysis.Column{Key: fmt.Sprint("k", i), Heading: fmt.Sprint("heading ", i), Kind: analysis.Label, Align: analysis.Left, Section: i == 0 && rapid.Bool().Draw(t, "section")}
		if i > 1 {
			col.Kind, col.Align, col.Decimals = rapid.SampledFrom(kinds).Draw(t, "kind"), analysis.Right, 3
			col.Group = rapid.SampledFrom([]string{"", "", "some group"}).Draw(t, "group")
			col.Priority = rapid.IntRange(0, 3).Draw(t, "priority")
			col.Brief = rapid.Bool().Draw(t, "brief")
			col.Base = rapid.Bool().Draw(t, "base")
			col.DataOnly = rapid.IntRange(0, 5).Draw(t, "data only") == 0
		}
		table.Columns = append(table.Columns, col)
	}
	for range rapid.IntRange(0, 6).Draw(t, "rows") {
		var row []analysis.Cell
		for _, col := range table.Columns {
			c := analysis.Cell{}
			if col.Kind == analysis.Label {
				c.Label = word.Draw(t, "label")
			} else {
				c.Value, c.SD = number("value"), number("sd")
				c.N, c.Undefined = rapid.IntRange(0, 99).Draw(t, "n"), rapid.IntRange(0, 2).Draw(t, "undefined")
				c.Count, c.Of = rapid.IntRange(0, 99999).Draw(t, "count"), rapid.IntRange(0, 99999).Draw(t, "of")
				c.Decimals = rapid.IntRange(-1, 4).Draw(t, "decimals")
				c.Low, c.High = number("low"), number("high")
				c.Mark = rapid.SampledFrom([]string{"", "*", "*†"}).Draw(t, "mark")
				c.Footnotes = rapid.StringOfN(rapid.RuneFrom([]rune("abcz")), 0, 3, -1).Draw(t, "footnotes")
				if col.Kind == analysis.Verdict {
					c.Label = rapid.SampledFrom([]string{"", "shown", "not shown"}).Draw(t, "verdict")
				}
			}
			row = append(row, c)
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}
