package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

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
		t.Errorf("%s differs; -update writes it anew when that is meant (-want +got):\n%s", name, diff)
	}
}

// What people see of the paper's study, at the end of a run and in a file.
func TestGolden(t *testing.T) {
	whole, torn := complete().tables(t), broken().tables(t)
	all, few, lossy := named().all(t), complete().all(t), broken().all(t)
	tested := []string{"headline", "contrasts", "equivalence", "vision-text", "variance", "flags-test"}
	batch, score := only(ablation("batch").all(t), "batch"), only(ablation("score").all(t), "score", "calibration")
	framing, sizes := only(ablation("framing").all(t), "framing"), only(ablation("sizes").all(t), "sizes")
	ablations := slices.Concat(batch, score, framing, sizes)
	byID := func(id string) analysis.Table {
		return whole[place(whole, id)]
	}
	text := func(tables []analysis.Table, opts TextOptions) func(io.Writer) error {
		return func(w io.Writer) error { return Text(w, tables, opts) }
	}
	for name, write := range map[string]func(io.Writer) error{
		"complete_100.txt":    text(whole, TextOptions{}),
		"complete_80.txt":     text(whole, TextOptions{Width: 80}),
		"named_100.txt":       text(all, TextOptions{}),
		"named_80.txt":        text(all, TextOptions{Width: 80}),
		"explained_100.txt":   text(few[1+place(few, "lengths"):], TextOptions{}),
		"tests_100.txt":       text(only(few, tested...), TextOptions{}),
		"tests_140.txt":       text(only(lossy, tested...), TextOptions{Width: 140}),
		"tests.md":            func(w io.Writer) error { return Markdown(w, only(all, tested...)) },
		"tests.json":          func(w io.Writer) error { return JSON(w, only(all, tested...)) },
		"contrasts.csv":       func(w io.Writer) error { return CSV(w, all[place(all, "contrasts")]) },
		"ablations_100.txt":   text(ablations, TextOptions{}),
		"ablations_80.txt":    text(ablations, TextOptions{Width: 80}),
		"named.md":            func(w io.Writer) error { return Markdown(w, all) },
		"named.json":          func(w io.Writer) error { return JSON(w, only(all, "exposure", "fallback-free", "batch", "published")) },
		"ablations.json":      func(w io.Writer) error { return JSON(w, ablations) },
		"broken_100.txt":      text(torn, TextOptions{}),
		"broken_40.txt":       text(torn[:2], TextOptions{Width: 40}),
		"color_100.txt":       text(torn[:2], TextOptions{Color: true}),
		"broken.md":           func(w io.Writer) error { return Markdown(w, torn) },
		"broken.json":         func(w io.Writer) error { return JSON(w, torn[:2]) },
		"regimes.csv":         func(w io.Writer) error { return CSV(w, byID("regimes")) },
		"detection.csv":       func(w io.Writer) error { return CSV(w, byID("detection")) },
		"navigation-text.csv": func(w io.Writer) error { return CSV(w, byID("navigation-text")) },
		"navigation-text.tex": func(w io.Writer) error { return LaTeX(w, only(few, "regimes", "navigation-text")) },
		"broken.tex":          func(w io.Writer) error { return LaTeX(w, torn) },
		"lengths.csv":         func(w io.Writer) error { return CSV(w, byID("lengths")) },
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

func place(tables []analysis.Table, id string) int {
	return slices.IndexFunc(tables, func(t analysis.Table) bool { return t.ID == id })
}

// only returns the tables with the given ids.
func only(tables []analysis.Table, ids ...string) []analysis.Table {
	return slices.DeleteFunc(slices.Clone(tables), func(t analysis.Table) bool { return !slices.Contains(ids, t.ID) })
}

func textOf(t interface{ Fatal(...any) }, tables []analysis.Table, opts TextOptions) string {
	var b strings.Builder
	if err := Text(&b, tables, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Trials finish in any order at any concurrency; no byte of a report may tell.
func TestReportDoesNotDependOnOrder(t *testing.T) {
	all := func(tables []analysis.Table) string {
		var b bytes.Buffer
		b.WriteString(textOf(t, tables, TextOptions{}))
		for _, err := range []error{Markdown(&b, tables), JSON(&b, tables), CSV(&b, tables[1])} {
			if err != nil {
				t.Fatal(err)
			}
		}
		return b.String()
	}
	run := named()
	want := all(run.all(t))
	for seed := range uint64(5) {
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(run.trials), func(i, j int) {
			run.trials[i], run.trials[j] = run.trials[j], run.trials[i]
		})
		slices.Reverse(run.instances)
		if got := all(run.all(t)); got != want {
			t.Fatalf("order %d changes the report:\n%s", seed, cmp.Diff(want, got))
		}
	}
}

// drawTable draws a table of any shape that analysis could make.
func drawTable(t *rapid.T) analysis.Table {
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abc /?&=0×…漢")), 0, 60, -1)
	number := func(label string) *float64 {
		if rapid.IntRange(0, 4).Draw(t, label+" defined") == 0 {
			return nil
		}
		x := rapid.Float64Range(-1, 1).Draw(t, label)
		return &x
	}
	kinds := []analysis.Kind{analysis.Count, analysis.Number, analysis.Mean, analysis.Rate, analysis.Share, analysis.Average, analysis.Paired, analysis.PValue, analysis.Interval, analysis.Verdict}
	table := analysis.Table{ID: "x", Title: word.Draw(t, "title"), Paper: "Table 9", About: word.Draw(t, "about"), Notes: []string{word.Draw(t, "note")}}
	for i := range rapid.IntRange(2, 9).Draw(t, "columns") {
		col := analysis.Column{Key: fmt.Sprint("k", i), Heading: word.Draw(t, "heading"), Kind: analysis.Label, Align: analysis.Left, Section: i == 0 && rapid.Bool().Draw(t, "section")}
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

// No line is wider than asked for, and no number is cut: a column is shown
// whole or named as left out.
func TestTextKeepsWidthAndNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t)
		width := rapid.IntRange(minWidth, 160).Draw(t, "width")
		out := textOf(t, []analysis.Table{table}, TextOptions{Width: width})
		for line := range strings.Lines(out) {
			if n := widthOf(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("a line takes %d of %d columns:\n%s", n, width, out)
			}
		}
		v := viewOf(&table)
		g, left := fit(v, width)
		kept := v.cols
		if g != nil {
			kept = nil
			for _, c := range g.columns {
				kept = append(kept, c.index)
			}
			if n := len(kept) + len(left); n < len(v.cols)-1 || n > len(v.cols)+1 { // one may head the sections, and deviations may be left out
				t.Fatalf("of %d columns %d are shown and %d named as left out", len(v.cols), len(kept), len(left))
			}
		}
		for _, i := range kept {
			if table.Columns[i].Kind == analysis.Label {
				continue
			}
			for _, row := range table.Rows {
				for _, number := range strings.Fields(show(&table.Columns[i], &row[i], roomy).lead) { // an interval has two
					if !strings.Contains(out, number) {
						t.Fatalf("%s is not in\n%s", number, out)
					}
				}
			}
		}
	})
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Colour adds nothing but colour, and starts no line that it does not end.
func TestColorIsOnlyColor(t *testing.T) {
	tables := broken().tables(t)
	plain, coloured := textOf(t, tables, TextOptions{}), textOf(t, tables, TextOptions{Color: true})
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
func TestNamesCannotMoveTheCursor(t *testing.T) {
	run := &invented{models: []inventedModel{{name: "evil/\x1b[2J\nname\u202e|x"}, {name: "other"}}, seeds: 2, episodes: 1, modalities: []string{record.Text}}
	tables := run.make().tables(t)
	var md bytes.Buffer
	if err := Markdown(&md, tables); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{textOf(t, tables, TextOptions{}), md.String()} {
		if strings.ContainsAny(out, "\x1b\u202e") || strings.Contains(out, "\nname") {
			t.Errorf("a name's control characters reach the reader:\n%q", out)
		}
	}
	if !strings.Contains(md.String(), `\|x`) {
		t.Error("a name can end a cell of a Markdown table")
	}
}

// An undefined value is empty in CSV and null in JSON, never 0, and a defined
// one reads back to the same bits.
func TestDataFormatsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t)
		var c, j bytes.Buffer
		if err := CSV(&c, table); err != nil {
			t.Fatal(err)
		}
		if err := JSON(&j, []analysis.Table{table}); err != nil {
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
		for r, row := range table.Rows {
			for i, col := range table.Columns {
				inJSON := doc.Tables[0].Rows[r][col.Key]
				if col.Kind == analysis.Interval {
					for _, end := range []struct {
						name string
						x    *float64
					}{{"low", row[i].Low}, {"high", row[i].High}} {
						field := lines[r+1][slices.Index(lines[0], col.Key+"_"+end.name)]
						value := inJSON.(map[string]any)[end.name]
						if end.x == nil && (field != "" || value != nil) {
							t.Fatalf("undefined end of %s is %q in CSV, %v in JSON", col.Key, field, value)
						}
						if x, err := strconv.ParseFloat(field, 64); end.x != nil && (err != nil || x != *end.x || value != *end.x) {
							t.Fatalf("%v is %q in CSV, %v in JSON", *end.x, field, value)
						}
					}
					continue
				}
				field := lines[r+1][slices.Index(lines[0], col.Key)]
				switch col.Kind {
				case analysis.Label, analysis.Verdict:
					if field != row[i].Label || inJSON != row[i].Label {
						t.Fatalf("label %q is %q in CSV, %v in JSON", row[i].Label, field, inJSON)
					}
				case analysis.Count:
					if field != strconv.Itoa(row[i].Count) || inJSON != float64(row[i].Count) {
						t.Fatalf("count %d is %q in CSV, %v in JSON", row[i].Count, field, inJSON)
					}
				default:
					value := inJSON.(map[string]any)["value"]
					if row[i].Value == nil {
						if field != "" || value != nil {
							t.Fatalf("undefined %s is %q in CSV, %v in JSON", col.Key, field, value)
						}
						continue
					}
					x, err := strconv.ParseFloat(field, 64)
					if err != nil || x != *row[i].Value || value != *row[i].Value {
						t.Fatalf("%v is %q in CSV, %v in JSON", *row[i].Value, field, value)
					}
				}
			}
		}
	})
}

func TestShow(t *testing.T) {
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
		d    density
		want string
	}{
		{mean, analysis.Cell{Value: p(0.9141), SD: p(0.0204), N: 50}, roomy, "0.914 ± 0.020"},
		{mean, analysis.Cell{Value: p(0.9141), SD: p(0.0204), N: 50}, tight, "0.914±0.020"},
		{mean, analysis.Cell{Value: p(0.9141), SD: p(0.0204), N: 48, Undefined: 2}, roomy, "0.914 ± 0.020 n=48"},
		{mean, analysis.Cell{Value: p(0.9141), N: 1}, roomy, "0.914"},
		{mean, analysis.Cell{Value: p(-0.456), SD: p(0.1)}, roomy, "−0.456 ± 0.100"},
		{mean, analysis.Cell{Value: p(-0.0001), SD: p(0)}, roomy, "0.000 ± 0.000"},
		{mean, analysis.Cell{Undefined: 50}, roomy, "–"},
		{pvalue, analysis.Cell{Value: p(1e-14), Mark: "*†"}, roomy, "<0.001*†"},
		{pvalue, analysis.Cell{Value: p(0.0312), Footnotes: "ac"}, roomy, "0.031ᵃᶜ"},
		{pvalue, analysis.Cell{Value: p(0.9999)}, roomy, ">0.999"},
		{pvalue, analysis.Cell{Value: p(1)}, roomy, "1.000"},
		{pvalue, analysis.Cell{Value: p(0)}, roomy, "<0.001"},
		{pvalue, analysis.Cell{Footnotes: "b"}, roomy, "–ᵇ"},
		{interval, analysis.Cell{Low: p(-0.12), High: p(0.0434)}, roomy, "[−0.120, 0.043]"},
		{interval, analysis.Cell{Low: p(-0.12), High: p(0.0434), Footnotes: "a"}, tight, "[−0.120, 0.043]ᵃ"},
		{interval, analysis.Cell{Low: p(-0.12)}, roomy, "–"},
		{verdict, analysis.Cell{Label: "equivalent"}, roomy, "equivalent"},
		{verdict, analysis.Cell{}, roomy, "–"},
		{brief, analysis.Cell{Value: p(0.0001), SD: p(0.0007)}, roomy, "<0.001"},
		{brief, analysis.Cell{Value: p(0)}, roomy, "0.000"},
		{brief, analysis.Cell{Value: p(0.99996)}, roomy, ">0.999"},
		{brief, analysis.Cell{Value: p(1)}, roomy, "1.000"},
		{share, analysis.Cell{Value: p(0.0119), Count: 38, Of: 3200}, roomy, "0.012 (38)"},
		{share, analysis.Cell{Value: p(0.0119), Count: 38, Of: 3200}, noCounts, "0.012"},
		{share, analysis.Cell{Value: p(0), Of: 3200}, roomy, "0"},
		{share, analysis.Cell{Value: p(0.00004), Count: 1, Of: 22400}, roomy, "<0.001 (1)"},
		{share, analysis.Cell{}, roomy, "–"}, // nothing was asked: neither none nor all
		{base, analysis.Cell{Value: p(0.5), Count: 3, Of: 6}, roomy, "0.500 (6)"},
		{base, analysis.Cell{Value: p(0), Of: 6}, roomy, "0.000 (6)"},
		{base, analysis.Cell{Value: p(0), Of: 6}, tight, "0.000"},
		{base, analysis.Cell{}, roomy, "–"},
		{mean, analysis.Cell{Value: p(0.9141), SD: p(0.0204), N: 50}, bare, "0.914"},
		{mean, analysis.Cell{Value: p(0.9141), Decimals: 1}, roomy, "0.9"},
		{mean, analysis.Cell{Value: p(63.6), Decimals: -1}, roomy, "64"},
		{steps, analysis.Cell{Value: p(8.5), N: 12}, roomy, "8.5 (12)"},
		{steps, analysis.Cell{}, roomy, "–"},
		{count, analysis.Cell{Count: 243, Of: 250}, roomy, "243/250"},
		{count, analysis.Cell{Count: 250, Of: 250}, roomy, "250"},
	} {
		if got := show(&tt.col, &tt.cell, tt.d).String(); got != tt.want {
			t.Errorf("%s %+v: %q, want %q", tt.col.Kind, tt.cell, got, tt.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 10, nil},
		{"one two three", 7, []string{"one two", "three"}},
		{"[1] ref/mixed?trust=0.7&tpr=0.9", 20, []string{"[1] ref/mixed?", "trust=0.7&tpr=0.9"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"漢漢漢", 4, []string{"漢漢", "漢"}},
	} {
		if diff := cmp.Diff(tt.want, wrap(tt.text, tt.width)); diff != "" {
			t.Errorf("wrap(%q, %d) (-want +got):\n%s", tt.text, tt.width, diff)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab /?漢")), 0, 80, -1).Draw(t, "text")
		width := rapid.IntRange(2, 30).Draw(t, "width")
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		lines := wrap(text, width)
		if squeeze(strings.Join(lines, "")) != squeeze(text) {
			t.Fatalf("wrap(%q, %d) loses text: %q", text, width, lines)
		}
		for _, l := range lines {
			if widthOf(l) > width {
				t.Fatalf("wrap(%q, %d) has the line %q", text, width, l)
			}
		}
	})
}

// A full disk must not look like a report.
func TestWriteErrorsAreReturned(t *testing.T) {
	tables := broken().tables(t)
	for name, write := range map[string]func(io.Writer) error{
		"text":     func(w io.Writer) error { return Text(w, tables, TextOptions{}) },
		"markdown": func(w io.Writer) error { return Markdown(w, tables) },
		"csv":      func(w io.Writer) error { return CSV(w, tables[0]) },
		"json":     func(w io.Writer) error { return JSON(w, tables) },
	} {
		if err := write(fullDisk{}); !errors.Is(err, errFull) {
			t.Errorf("%s: error %v, want the writer's", name, err)
		}
	}
}

var errFull = errors.New("no space left")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func BenchmarkText(b *testing.B) {
	tables := complete().tables(b)
	rows := 0
	for _, t := range tables {
		rows += len(t.Rows)
	}
	for b.Loop() {
		if err := Text(io.Discard, tables, TextOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}
