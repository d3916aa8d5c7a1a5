package report_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/report"
)

// LaTeX keeps names as they are and lets none of them be a command.
func TestLaTeXText(t *testing.T) {
	for in, want := range map[string]string{
		`ref/mixed?a=1&b_c=50%`:            `ref/mixed?a=1\&b\_c=50\%`,
		`\input{x} $y$ #1 ~z^`:             `\textbackslash{}input\{x\} \$y\$ \#1 \textasciitilde{}z\textasciicircum{}`,
		`a--b ''`:                          `a-{}-b '{}'`,
		`−0.5 ± 0.1 ≤ 1`:                   `$-$0.5 $\pm$ 0.1 $\le$ 1`,
		`0.031ᵃᶜ`:                          `0.031\textsuperscript{a}\textsuperscript{c}`,
		`漢 é`:                              `[U+6F22] é`,
		`openai-api/NAME/a-very-long-name`: `openai-\allowbreak{}api/\allowbreak{}NAME/\allowbreak{}a-\allowbreak{}very-\allowbreak{}long-\allowbreak{}name`,
	} {
		table := analysis.Table{ID: "x", Columns: []analysis.Column{{Key: "a", Heading: "a", Kind: analysis.Label}}, Rows: [][]analysis.Cell{{{Label: in}}}}
		var b bytes.Buffer
		if err := report.LaTeX(&b, []analysis.Table{table}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "\n"+want+`\\`+"\n") {
			t.Errorf("%s: want %s in\n%s", in, want, b.String())
		}
	}
}

// A caption does not cite the paper's tables as if they were the author's: there
// they are in a comment.
func TestLaTeXCaption(t *testing.T) {
	var b bytes.Buffer
	if err := report.LaTeX(&b, sample()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, "Figure 3") && !strings.HasPrefix(line, "%") {
			t.Errorf("the paper's place is in %s", line)
		}
	}
}

// hard are tables that are wide, long, of long names, or of many notes.
func hard() []analysis.Table {
	tables := sample()
	long, wide, noted := sample()[0], sample()[0], sample()[1]
	long.ID, wide.ID, noted.ID = "long", "wide", "noted"
	for len(long.Rows) < 130 {
		long.Rows = append(long.Rows, long.Rows[:4]...)
	}
	for i := range 12 {
		col := wide.Columns[4]
		col.Key, col.Heading, col.Priority = fmt.Sprint("more", i), fmt.Sprintf("a long heading %d", i), i
		wide.Columns = append(wide.Columns, col)
		for r := range wide.Rows {
			wide.Rows[r] = append(wide.Rows[r], wide.Rows[r][4])
		}
	}
	noted.Rows = append([][]analysis.Cell{}, noted.Rows...)
	for i := range 40 {
		noted.Notes = append(noted.Notes, fmt.Sprintf("A note, number %d, that takes a whole line of its own and then some more of the next one, if the page is narrow.", i))
		row := append([]analysis.Cell{}, noted.Rows[0]...)
		row[0] = analysis.Cell{Label: strings.Repeat("openrouter/averylongname-", 1+i%5) + hostile}
		noted.Rows = append(noted.Rows, row)
	}
	return append(tables, long, wide, noted)
}

// The tables compile in one column and in two, nothing sticks out of a line or a
// page, and every table is in the document.
func TestLaTeXCompiles(t *testing.T) {
	if _, err := exec.LookPath("pdflatex"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("needs pdflatex with booktabs: Debian's texlive-latex-base and texlive-latex-recommended")
	}
	var b bytes.Buffer
	if err := report.LaTeX(&b, hard()); err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{`{article}`, `[twocolumn]{article}`, `[twocolumn,a4paper]{scrartcl}`} {
		dir := t.TempDir()
		doc := `\documentclass` + class + "\n\\usepackage{booktabs}\\usepackage{graphicx}\n\\begin{document}\nBefore.\n\\input{tables}\nAfter.\n\\end{document}\n"
		for name, content := range map[string]string{"tables.tex": b.String(), "doc.tex": doc} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "doc.tex")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", class, err, out)
		}
		for _, bad := range []string{"Overfull \\hbox", "too large for page"} {
			if bytes.Contains(out, []byte(bad)) {
				t.Errorf("%s: TeX says %q:\n%s", class, bad, out)
			}
		}
		aux, err := os.ReadFile(filepath.Join(dir, "doc.aux"))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"detection", "contrasts", "long", "wide", "noted"} {
			if !bytes.Contains(aux, []byte(`\newlabel{tab:`+id+`}`)) {
				t.Errorf("%s: %s is not in the document", class, id)
			}
		}
	}
}
