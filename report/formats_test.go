package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"
	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/report"
)

// What people and programs get is in testdata, to be read when it changes.
func TestGolden(t *testing.T) {
	tables := sample()
	asText := func(opts report.TextOptions) func(io.Writer) error {
		return func(w io.Writer) error { return report.Text(w, tables, opts) }
	}
	for name, write := range map[string]func(io.Writer) error{
		"tables_100.txt": asText(report.TextOptions{}),
		"tables_60.txt":  asText(report.TextOptions{Width: 60}),
		"tables_24.txt":  asText(report.TextOptions{Width: 24}),
		"tables.md":      func(w io.Writer) error { return report.Markdown(w, tables) },
		"tables.json":    func(w io.Writer) error { return report.JSON(w, tables) },
		"tables.tex":     func(w io.Writer) error { return report.LaTeX(w, tables) },
		"detection.csv":  func(w io.Writer) error { return report.CSV(w, tables[0]) },
		"contrasts.csv":  func(w io.Writer) error { return report.CSV(w, tables[1]) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
		})
	}
}

var cells = &runewidth.Condition{EastAsianWidth: false, StrictEmojiNeutral: true}

// No line is wider than asked for, no word of the table's is lost, and no number
// is cut: a column is shown whole or named as left out. Markdown, which leaves
// out nothing, says what each column shows.
func TestTextKeepsWidthAndNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t)
		width := rapid.IntRange(24, 160).Draw(t, "width")
		out := text(t, []analysis.Table{table}, report.TextOptions{Width: width})
		for line := range strings.Lines(out) {
			if n := cells.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("a line takes %d of %d columns:\n%s", n, width, out)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if len(table.Rows) == 0 {
			return
		}
		for _, words := range []string{table.Title, table.About, table.Notes[0]} {
			if !strings.Contains(squeeze(out), squeeze(words)) {
				t.Fatalf("%q is not in\n%s", words, out)
			}
		}
		_, left, _ := strings.Cut(squeeze(out), squeeze("Left out to fit this width:"))
		var rows [][]string
		for line := range strings.Lines(strings.ReplaceAll(markdown(t, table), `\`, "")) {
			if strings.HasPrefix(line, "| ") {
				rows = append(rows, strings.Split(strings.Trim(line, "|\n"), "|"))
			}
		}
		for i, heading := range rows[0] {
			if strings.Contains(left, squeeze(heading)) {
				continue
			}
			for _, row := range rows[1:] {
				number := strings.Fields(row[i] + " –")[0]
				if !strings.Contains(out, strings.Trim(number, "*")) && strings.ContainsAny(number, "0123456789") && !strings.ContainsAny(number, "abc/?&=×…漢") {
					t.Fatalf("%s of %s is not in\n%s", number, heading, out)
				}
			}
		}
	})
}

// Colour adds nothing but colour, and starts no line that it does not end.
func TestColorIsOnlyColor(t *testing.T) {
	escapes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	plain, coloured := text(t, sample(), report.TextOptions{}), text(t, sample(), report.TextOptions{Color: true})
	if coloured == plain {
		t.Fatal("nothing is coloured")
	}
	if got := escapes.ReplaceAllString(coloured, ""); got != plain {
		t.Errorf("without escapes (-plain +coloured):\n%s", cmp.Diff(plain, got))
	}
	for line := range strings.Lines(coloured) {
		if n := len(escapes.FindAllString(line, -1)); n%2 != 0 {
			t.Errorf("a line does not end its colour: %q", line)
		}
	}
}

// A model's name may come from a file of somebody else's.
func TestNamesDoNothing(t *testing.T) {
	tables := sample()[:1]
	for _, row := range tables[0].Rows {
		row[0] = analysis.Cell{Label: hostile}
	}
	tables[0].Notes = []string{hostile}
	var tex, sheet bytes.Buffer
	if err := errors.Join(report.LaTeX(&tex, tables), report.CSV(&sheet, tables[0])); err != nil {
		t.Fatal(err)
	}
	for form, out := range map[string]string{"text": text(t, tables, report.TextOptions{}), "Markdown": markdown(t, tables...), "LaTeX": tex.String()} {
		if strings.ContainsAny(out, "\x1b\u202e") || strings.Contains(out, "\nname") {
			t.Errorf("%s: a name's control characters reach the reader:\n%q", form, out)
		}
	}
	if out := markdown(t, tables...); !strings.Contains(out, `\|<`) && !strings.Contains(out, `\|\<`) {
		t.Errorf("a name can end a cell of a Markdown table:\n%s", out)
	}
	if strings.Contains(tex.String(), `\input{x}`) {
		t.Error("a name is a command of LaTeX")
	}
	if !strings.Contains(sheet.String(), "'=evil") {
		t.Errorf("a spreadsheet takes a name for a formula:\n%s", sheet.String())
	}
}

// Only labels are kept from being formulas: a negative number stays one.
func TestCSVFormulas(t *testing.T) {
	for in, want := range map[string]string{"=1+1": "'=1+1", "+x": "'+x", "-x": "'-x", "@x": "'@x", "\tx": "'\tx", "\rx": "'\rx", "x=1": "x=1", "": ""} {
		table := analysis.Table{Columns: []analysis.Column{{Key: "a", Kind: analysis.Label}, {Key: "b", Kind: analysis.Verdict}, {Key: "c", Kind: analysis.Number}},
			Rows: [][]analysis.Cell{{{Label: in}, {Label: in}, {Value: new(-0.5)}}}}
		var b bytes.Buffer
		if err := report.CSV(&b, table); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		// encoding/csv reads a carriage return in quotes back as it is.
		if diff := cmp.Diff([]string{want, want, "-0.5"}, lines[1]); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}

// An undefined value is empty in CSV and null in JSON, never 0, and a defined
// one reads back to the same bits.
func TestDataFormatsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t)
		var c, j bytes.Buffer
		if err := errors.Join(report.CSV(&c, table), report.JSON(&j, []analysis.Table{table})); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&c).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Tables []struct{ Rows []map[string]any }
		}
		if err := json.Unmarshal(j.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		same := func(what, field string, inJSON any, x *float64) {
			if x == nil {
				if field != "" || inJSON != nil {
					t.Fatalf("undefined %s is %q in CSV, %v in JSON", what, field, inJSON)
				}
				return
			}
			if got, err := strconv.ParseFloat(field, 64); err != nil || got != *x || inJSON != *x {
				t.Fatalf("%s %v is %q in CSV, %v in JSON", what, *x, field, inJSON)
			}
		}
		for r, row := range table.Rows {
			field := func(name string) string { return lines[r+1][slices.Index(lines[0], name)] }
			for i, col := range table.Columns {
				inJSON := doc.Tables[0].Rows[r][col.Key]
				switch col.Kind {
				case analysis.Interval:
					ends := inJSON.(map[string]any)
					same("low end", field(col.Key+"_low"), ends["low"], row[i].Low)
					same("high end", field(col.Key+"_high"), ends["high"], row[i].High)
				case analysis.Label, analysis.Verdict:
					if got := strings.TrimPrefix(field(col.Key), "'"); got != row[i].Label || inJSON != row[i].Label {
						t.Fatalf("label %q is %q in CSV, %v in JSON", row[i].Label, got, inJSON)
					}
				case analysis.Count:
					if got := field(col.Key); got != strconv.Itoa(row[i].Count) || inJSON != float64(row[i].Count) {
						t.Fatalf("count %d is %q in CSV, %v in JSON", row[i].Count, got, inJSON)
					}
				default:
					same(col.Key, field(col.Key), inJSON.(map[string]any)["value"], row[i].Value)
				}
			}
		}
	})
}

// What people are shown of a cell says neither more nor less than it holds.
func TestCells(t *testing.T) {
	p := func(x float64) *float64 { return &x }
	mean := analysis.Column{Kind: analysis.Mean, Decimals: 3}
	brief := analysis.Column{Kind: analysis.Mean, Decimals: 3, Brief: true}
	share := analysis.Column{Kind: analysis.Share, Decimals: 3}
	base := analysis.Column{Kind: analysis.Share, Decimals: 3, Base: true}
	steps := analysis.Column{Kind: analysis.Average, Decimals: 1}
	count := analysis.Column{Kind: analysis.Count}
	pvalue := analysis.Column{Kind: analysis.PValue, Decimals: 3}
	interval := analysis.Column{Kind: analysis.Interval, Decimals: 3}
	verdict := analysis.Column{Kind: analysis.Verdict}
	for _, tt := range []struct {
		col  analysis.Column
		cell analysis.Cell
		want string
	}{
		{mean, analysis.Cell{Value: p(0.9141), SD: p(0.0204), N: 50}, "0.914 ± 0.020"},
		{mean, analysis.Cell{Value: p(0.9141), SD: p(0.0204), N: 48, Undefined: 2}, "0.914 ± 0.020 n=48"},
		{mean, analysis.Cell{Value: p(0.9141), N: 1}, "0.914"},
		{mean, analysis.Cell{Value: p(-0.456), SD: p(0.1)}, "−0.456 ± 0.100"},
		{mean, analysis.Cell{Value: p(-0.0001), SD: p(0)}, "0.000 ± 0.000"},
		{mean, analysis.Cell{Undefined: 50}, "–"},
		{mean, analysis.Cell{Value: p(0.9141), Decimals: 1}, "0.9"},
		{mean, analysis.Cell{Value: p(63.6), Decimals: -1}, "64"},
		{pvalue, analysis.Cell{Value: p(1e-14), Mark: "†"}, "<0.001†"},
		{pvalue, analysis.Cell{Value: p(0.0312), Footnotes: "ac"}, "0.031ᵃᶜ"},
		{pvalue, analysis.Cell{Value: p(0.9999)}, ">0.999"},
		{pvalue, analysis.Cell{Value: p(1)}, "1.000"},
		{pvalue, analysis.Cell{Value: p(0)}, "<0.001"},
		{pvalue, analysis.Cell{Footnotes: "b"}, "–ᵇ"},
		{interval, analysis.Cell{Low: p(-0.12), High: p(0.0434)}, "[−0.120, 0.043]"},
		{interval, analysis.Cell{Low: p(-0.12)}, "–"},
		{verdict, analysis.Cell{Label: "equivalent"}, "equivalent"},
		{verdict, analysis.Cell{}, "–"},
		{brief, analysis.Cell{Value: p(0.0001), SD: p(0.0007)}, "<0.001"},
		{brief, analysis.Cell{Value: p(0)}, "0.000"},
		{brief, analysis.Cell{Value: p(0.99996)}, ">0.999"},
		{brief, analysis.Cell{Value: p(1)}, "1.000"},
		{share, analysis.Cell{Value: p(0.0119), Count: 38, Of: 3200}, "0.012 (38)"},
		{share, analysis.Cell{Value: p(0), Of: 3200}, "0"},
		{share, analysis.Cell{Value: p(0.00004), Count: 1, Of: 22400}, "<0.001 (1)"},
		{share, analysis.Cell{}, "–"}, // nothing was asked: neither none nor all
		{base, analysis.Cell{Value: p(0.5), Count: 3, Of: 6}, "0.500 (6)"},
		{base, analysis.Cell{Value: p(0), Of: 6}, "0.000 (6)"},
		{steps, analysis.Cell{Value: p(8.5), N: 12}, "8.5 (12)"},
		{count, analysis.Cell{Count: 243, Of: 250}, "243/250"},
		{count, analysis.Cell{Count: 250, Of: 250}, "250"},
	} {
		tt.col.Key, tt.col.Heading, tt.col.Align = "k", "value", analysis.Right
		out := markdown(t, analysis.Table{ID: "x", Columns: []analysis.Column{tt.col}, Rows: [][]analysis.Cell{{tt.cell}}})
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if got := strings.Trim(lines[len(lines)-1], "| "); strings.ReplaceAll(got, `\`, "") != tt.want {
			t.Errorf("%s %+v: %q, want %q", tt.col.Kind, tt.cell, got, tt.want)
		}
	}
}

// A full disk must not look like a report.
func TestWriteErrorsAreReturned(t *testing.T) {
	tables := sample()
	for name, write := range map[string]func(io.Writer) error{
		"text":     func(w io.Writer) error { return report.Text(w, tables, report.TextOptions{}) },
		"markdown": func(w io.Writer) error { return report.Markdown(w, tables) },
		"csv":      func(w io.Writer) error { return report.CSV(w, tables[0]) },
		"json":     func(w io.Writer) error { return report.JSON(w, tables) },
		"latex":    func(w io.Writer) error { return report.LaTeX(w, tables) },
		"html":     func(w io.Writer) error { return report.HTML(w, &report.Page{Tables: tables}) },
		"summary": func(w io.Writer) error {
			return report.Summary(w, analysis.Summary{Title: "x"}, report.SummaryOptions{})
		},
	} {
		if err := write(fullDisk{}); !errors.Is(err, errFull) {
			t.Errorf("%s: error %v, want the writer's", name, err)
		}
	}
}

var errFull = errors.New("no space left")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// A table without rows is not shown as an empty one: it says what it needs.
func TestTablesWithoutRows(t *testing.T) {
	tables := []analysis.Table{
		{ID: "one", Title: "One", Need: "more", Columns: []analysis.Column{{Key: "a", Heading: "heading", Kind: analysis.Label}}},
		{ID: "two", Title: "Two", Paper: "Table 9"},
	}
	for form, out := range map[string]string{"text": text(t, tables, report.TextOptions{}), "Markdown": markdown(t, tables...)} {
		for _, want := range []string{"Not in this run", "one needs more.", "two (the paper’s Table 9)"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s lacks %q:\n%s", form, want, out)
			}
		}
		if strings.Contains(out, "heading") || strings.Contains(out, "One") {
			t.Errorf("%s shows an empty table:\n%s", form, out)
		}
	}
}

// Where numbers take the width, labels take several lines, whole and in order.
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
	out := text(t, []analysis.Table{table}, report.TextOptions{Width: 40})
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
	// In less the deviations go as well, and are named.
	out = text(t, []analysis.Table{table}, report.TextOptions{Width: 24})
	if strings.Contains(out, "±0") || !strings.Contains(out, "0.500") || !strings.Contains(strings.Join(strings.Fields(out), " "), "standard deviations (±)") {
		t.Errorf("at 24 columns:\n%s", out)
	}
}
