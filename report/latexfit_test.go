package report

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/analysis"
)

// Widths of a text by hand, from the widths of its letters in cmr8.
func TestLaTeXWidth(t *testing.T) {
	p := latexPlan{latexSize: latexSizes[1]} // 8 points
	for text, want := range map[string]float64{
		"":              0,
		"0.5":           (0.531 + 0.295 + 0.531) * 8,
		"Mi":            (0.973 + 0.295) * 8,
		"[0, 1]":        (2*0.295 + 2*0.531 + 0.295 + 0.354) * 8,
		"a\u00a0b":      (0.531 + 0.354 + 0.590) * 8,
		"<\u2212\u00b1": (0.826 + 2*1.070) * 8,
	} {
		if got := p.text(text); math.Abs(got-want*1.01) > 1e-9 {
			t.Errorf("%q is %g points wide, want %g", text, got, want*1.01)
		}
	}
}

// A name that is longer than a line may break behind its marks.
func TestLaTeXBreaksLongNames(t *testing.T) {
	const b = `\allowbreak{}`
	for in, want := range map[string]string{
		"vendor/a-model-with-a-long-name": "vendor/" + b + "a-" + b + "model-" + b + "with-" + b + "a-" + b + "long-" + b + "name",
		"vendor/model-2 is short":         "vendor/model-2 is short",
	} {
		if got := latexText(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// wideTables are tables of every shape: few and many columns of words and of
// numbers, few and many rows, names that are longer than a line.
func wideTables() (out []analysis.Table) {
	for _, shape := range []struct {
		id                    string
		labels, numbers, rows int
		word                  string
	}{
		{"narrow", 1, 2, 3, "word"},
		{"wide", 2, 9, 10, "NoFilter"},
		{"wider", 3, 16, 10, "NoFilter"},
		{"widest", 3, 40, 50, "NoFilter"},
		{"long", 2, 2, 90, "NoFilter"},
		{"long-wide", 3, 10, 90, "NoFilter"},
		{"words", 3, 2, 10, "words that go on and on as reasons do"},
		{"long-words", 4, 3, 60, "words that go on and on as reasons do"},
		{"names", 2, 6, 12, "openrouter/some-vendor/a-model-with-a-very-long-name-2026-08-01:free"},
	} {
		t := analysis.Table{ID: shape.id, Title: shape.id, About: "Of every shape.", Notes: []string{"ref/mixed?" + strings.Repeat("vision_fpr=0.05&", 12)}}
		t.Columns = append(t.Columns, analysis.Column{Key: "model", Heading: "model", Kind: analysis.Label, Section: true, Align: analysis.Left})
		for n := range shape.labels {
			t.Columns = append(t.Columns, analysis.Column{Key: "l" + strconv.Itoa(n), Heading: "label", Kind: analysis.Label, Align: analysis.Left})
		}
		for n := range shape.numbers {
			t.Columns = append(t.Columns, analysis.Column{Key: "n" + strconv.Itoa(n), Heading: "success", Group: "a heading over two " + strconv.Itoa(n/2), Kind: analysis.Mean, Decimals: 3, Align: analysis.Right})
		}
		for r := range shape.rows {
			row := []analysis.Cell{{Label: "openrouter/" + strings.Repeat("long-", 24) + strconv.Itoa(r/4)}}
			for n := range shape.labels {
				row = append(row, analysis.Cell{Label: shape.word + " " + strconv.Itoa(r*7+n)})
			}
			for range shape.numbers {
				row = append(row, analysis.Cell{Value: new(-0.5), SD: new(0.25), N: 3, Best: r == 0})
			}
			t.Rows = append(t.Rows, row)
		}
		out = append(out, t)
	}
	return out
}

// No table is planned wider than the line it stands on, unless it is scaled; and
// a page lies only for what is too wide for one that stands.
func TestPlanLaTeX(t *testing.T) {
	plans := map[string]latexPlan{}
	tables := wideTables()
	for _, v := range []*invented{named(), broken(), complete(), ablation("batch"), ablation("framing")} {
		tables = append(tables, v.all(t)...)
	}
	for i := range tables {
		tab := &tables[i]
		if len(tab.Rows) == 0 {
			continue
		}
		v := viewOf(tab)
		p := planLaTeX(measure(v, v.cols, sectionOf(v), roomy), caption(tab, v))
		line := latexLine
		if p.landscape {
			line = latexLength
		}
		if p.width > line && !p.shrunk {
			t.Errorf("%s is %.0f points wide on a line of %.0f", tab.ID, p.width, line)
		}
		plans[tab.ID] = p
	}
	for id, want := range map[string]latexPlan{
		"narrow": {latexSize: latexSizes[0]},
		"widest": {latexSize: latexSizes[2], landscape: true, shrunk: true},
		"long":   {latexSize: latexSizes[0]},
	} {
		if p := plans[id]; p.name != want.name || p.landscape != want.landscape || p.shrunk != want.shrunk {
			t.Errorf("%s: %s, landscape %v, shrunk %v", id, p.name, p.landscape, p.shrunk)
		}
	}
	folded := func(id string) bool {
		for _, w := range plans[id].widths {
			if w > 0 {
				return true
			}
		}
		return false
	}
	if !folded("words") || plans["words"].landscape || folded("narrow") {
		t.Errorf("words are folded: %v, narrow: %v", folded("words"), folded("narrow"))
	}
}

// TeX finds no line that is too full, in an article with its own margins and the
// packages that the file names.
func TestLaTeXFitsItsPage(t *testing.T) {
	tex, err := exec.LookPath("pdflatex")
	if err != nil {
		t.Skip("needs pdflatex with booktabs and pdflscape")
	}
	if testing.Short() {
		t.Skip("sets whole documents")
	}
	overfull := regexp.MustCompile(`(?m)^Overfull \\hbox \(([0-9.]+)pt too wide\).*$`)
	for name, tables := range map[string][]analysis.Table{"named": named().all(t), "broken": broken().all(t), "shapes": wideTables()} {
		var b bytes.Buffer
		if err := LaTeX(&b, tables); err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(b.String(), "\n\n")
		doc := "\\documentclass{article}\n" + strings.Join(regexp.MustCompile(`\\usepackage\{\w+\}`).FindAllString(head, -1), "\n") + "\n\\begin{document}\n\\input{tables}\n\\end{document}\n"
		dir := t.TempDir()
		for file, text := range map[string]string{"tables.tex": b.String(), "doc.tex": doc} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 { // longtable needs as many until widths stand
			cmd := exec.Command(tex, "-interaction=nonstopmode", "-halt-on-error", "doc.tex")
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, out[max(0, len(out)-2000):])
			}
		}
		log, err := os.ReadFile(filepath.Join(dir, "doc.log"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range overfull.FindAllSubmatch(log, -1) {
			if points, _ := strconv.ParseFloat(string(m[1]), 64); points > 1 {
				t.Errorf("%s: %s", name, m[0])
			}
		}
	}
}
