package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spatialstale/spatialstale/analysis"
)

// FigureJSON writes the numbers behind a figure, in full precision and with
// everything that is said of it: {"version": 1, "figure": …}, the figure with
// the field names of analysis.Figure. A value that is undefined is null.
func FigureJSON(w io.Writer, f *analysis.Figure) error {
	if err := indented(w, object{{"version", FormatVersion}, {"figure", f}}, " "); err != nil {
		return fmt.Errorf("figure %s as JSON: %w", f.ID, err)
	}
	return nil
}

// FigureCSV writes the numbers behind a figure in full precision, a line a
// point below a line of names. An undefined value is an empty field; finished
// and planned count the trials behind it where it is of trials, and x_least and
// x_most bound x where some of them are lost. Of a
// drawing of a lake each cell is a line, its column as x and its row as y, the
// cell's letter and whether its entry is stale ("thaw", "freeze") as category
// and label; and each position of a route, whose label is its step. Words that
// a spreadsheet would run as a formula are written as CSV does.
func FigureCSV(w io.Writer, f *analysis.Figure) error {
	out := csv.NewWriter(w)
	out.Write([]string{"panel", "series", "category", "x", "x_low", "x_high", "y", "y_low", "y_high", "n", "label", "finished", "planned", "x_least", "x_most"})
	for i := range f.Panels {
		p := &f.Panels[i]
		for _, s := range p.Series {
			for _, pt := range s.Points {
				category, finished, planned := "", "", ""
				if len(p.Categories) > 0 {
					category = csvLabel(p.Categories[pt.Category].Name)
				}
				if t := pt.Trials; t != nil {
					finished, planned = strconv.Itoa(t.Finished), strconv.Itoa(t.Planned)
				}
				line := slices.Concat([]string{csvLabel(p.Title), csvLabel(s.Key), category, precise(pt.X)}, ends(pt.XRange), []string{precise(pt.Y)}, ends(pt.YRange),
					[]string{strconv.Itoa(pt.N), csvLabel(pt.Label), finished, planned}, ends(pt.XBounds))
				out.Write(line)
			}
		}
		if p.Scene != nil {
			writeScene(out, csvLabel(p.Title), p.Scene)
		}
	}
	return flush(out, "figure", f.ID)
}

func ends(s *analysis.Span) []string {
	if s == nil {
		return []string{"", ""}
	}
	return []string{precise(&s.Low), precise(&s.High)}
}

func writeScene(out *csv.Writer, panel string, s *analysis.Scene) {
	stale := make(map[[2]int]string)
	for _, p := range s.Thaw {
		stale[p] = "thaw"
	}
	for _, p := range s.Freeze {
		stale[p] = "freeze"
	}
	place := func(series, category string, row, col int, label string) {
		out.Write([]string{panel, series, category, strconv.Itoa(col), "", "", strconv.Itoa(row), "", "", "1", label, "", "", "", ""})
	}
	for r, row := range s.Rows {
		for c := range len(row) {
			place("cells", row[c:c+1], r, c, stale[[2]int{r, c}])
		}
	}
	for _, route := range s.Routes {
		for step, p := range route.Cells {
			place(route.Key, route.Outcome, p[0], p[1], strconv.Itoa(step))
		}
	}
}
