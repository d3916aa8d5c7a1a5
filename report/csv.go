package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
)

// CSV writes one table with all its columns in full precision, one line a row
// below a line of names. An undefined value is an empty field. The column KEY
// holds the value; a mean has its standard deviation in KEY_sd and the seeds
// it rests on in KEY_n, a share its numerator in KEY_count and its denominator
// in KEY_of, an average the episodes it rests on in KEY_n. A p-value has its
// test in KEY_test, the smallest that this test can give in KEY_least, and the
// mark of a level that it reaches in KEY_mark; an interval has KEY_low, KEY_high,
// KEY_level and KEY_method. The pairs behind a paired difference, and the
// warnings about a number, are in JSON only.
//
// A spreadsheet runs a field that begins with =, +, - or @ as a formula, and a
// label may hold a server's words: such a label, and one that begins with a tab
// or a carriage return, has an apostrophe before it. Numbers never do.
func CSV(w io.Writer, t analysis.Table) error {
	out := csv.NewWriter(w)
	var header []string
	for i := range t.Columns {
		for _, f := range fieldsOf(&t.Columns[i], &analysis.Cell{}) {
			header = append(header, t.Columns[i].Key+f.suffix)
		}
	}
	if err := out.Write(header); err != nil {
		return fmt.Errorf("table %s as CSV: %w", t.ID, err)
	}
	for _, row := range t.Rows {
		var line []string
		for i := range t.Columns {
			for _, f := range fieldsOf(&t.Columns[i], &row[i]) {
				line = append(line, f.text)
			}
		}
		if err := out.Write(line); err != nil {
			return fmt.Errorf("table %s as CSV: %w", t.ID, err)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("table %s as CSV: %w", t.ID, err)
	}
	return nil
}

// A field is one of the CSV columns that a table's column becomes.
type field struct{ suffix, text string }

func fieldsOf(col *analysis.Column, c *analysis.Cell) []field {
	value := field{"", precise(c.Value)}
	sd := field{"_sd", precise(c.SD)}
	n := field{"_n", strconv.Itoa(c.N)}
	count, of := field{"_count", strconv.Itoa(c.Count)}, field{"_of", strconv.Itoa(c.Of)}
	switch col.Kind {
	case analysis.Label, analysis.Verdict:
		return []field{{"", csvLabel(c.Label)}}
	case analysis.PValue:
		return []field{value, {"_test", c.Method}, {"_least", precise(c.Least)}, {"_mark", c.Mark}}
	case analysis.Interval:
		level := ""
		if c.Low != nil {
			level = precise(&c.Level)
		}
		return []field{{"_low", precise(c.Low)}, {"_high", precise(c.High)}, {"_level", level}, {"_method", c.Method}}
	case analysis.Count:
		return []field{{"", strconv.Itoa(c.Count)}}
	case analysis.Mean, analysis.Paired:
		return []field{value, sd, n}
	case analysis.Rate:
		return []field{value, sd, n, count, of}
	case analysis.Share:
		return []field{value, count, of}
	case analysis.Average:
		return []field{value, n}
	}
	return []field{value}
}

// csvLabel keeps a spreadsheet from running a label.
func csvLabel(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

// precise writes a number so that reading it gives the same number, and
// nothing for an undefined one.
func precise(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'g', -1, 64)
}
