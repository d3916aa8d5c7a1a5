package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// FormatVersion is the version of the JSON that JSON and FigureJSON write.
const FormatVersion = 1

// A field is one of the things that data formats have of a cell. Its value is a
// *float64, an int, a string, or what only JSON has.
type field struct {
	name  string
	value any
}

// fieldsOf lists what a cell holds, by its column's kind.
func fieldsOf(col *analysis.Column, c *analysis.Cell) []field {
	value := field{"value", c.Value}
	overSeeds := []field{value, {"sd", c.SD}, {"n", c.N}, {"undefined", undefined(c.Undefined)}}
	fraction := []field{{"count", c.Count}, {"of", c.Of}}
	warnings := field{"warnings", append([]stats.Warning{}, c.Warnings...)}
	switch col.Kind {
	case analysis.Label, analysis.Verdict:
		return []field{{"value", c.Label}}
	case analysis.Count:
		return []field{{"value", c.Count}}
	case analysis.PValue:
		return []field{value, {"test", c.Method}, {"least", c.Least}, {"mark", c.Mark}, warnings}
	case analysis.Interval:
		level := &c.Level
		if c.Low == nil {
			level = nil
		}
		return []field{{"low", c.Low}, {"high", c.High}, {"level", level}, {"method", c.Method}, warnings}
	case analysis.Mean:
		return overSeeds
	case analysis.Rate:
		return append(overSeeds, fraction...)
	case analysis.Paired:
		return append(overSeeds, field{"a_is", side(c.Sides[0])}, field{"b_is", side(c.Sides[1])}, field{"pairs", pairsOf(c.Pairs)})
	case analysis.Share:
		return append([]field{value}, fraction...)
	case analysis.Average:
		return []field{value, {"n", c.N}}
	}
	return []field{value}
}

// Types of what CSV does not have.
type (
	undefined int
	side      string
)

// A pair is one seed of a paired difference.
type pair struct {
	Seed       int      `json:"seed"`
	A          *float64 `json:"a"`
	B          *float64 `json:"b"`
	Difference *float64 `json:"difference"`
}

func pairsOf(pairs []analysis.SeedPair) []pair {
	out := make([]pair, len(pairs))
	for i := range pairs {
		p := &pairs[i]
		out[i] = pair{p.Seed, p.A, p.B, p.Difference()}
	}
	return out
}

// JSON writes all tables with all their columns in full precision:
//
//	{"version": 1, "program": "…", "tables": [{"id", "title", "topic", "paper", "about", "need",
//	  "warnings", "notes", "columns": [{"key", "heading", "unit", "kind"}],
//	  "rows": [{KEY: cell, …}]}]}
//
// A cell is a string for a label or a verdict and a number for a count; any other
// is an object with "value" and, as its column's kind has it, "sd", "n" with
// "undefined", "count" and "of". A paired difference has "value", "sd", "n",
// "undefined", "a_is" and "b_is" (what a and b are, such as "no-memory" and
// "no-filter"; the difference is b minus a) and "pairs": [{"seed", "a", "b",
// "difference"}]. A p-value has "value", "test", "least" (the smallest that this
// test can give), "mark" and "warnings": [{"code", "text"}]; an interval has
// "low", "high", "level", "method" and "warnings". A value that is undefined is
// null.
func JSON(w io.Writer, tables []analysis.Table) error {
	all := []object{}
	for i := range tables {
		all = append(all, objectOf(&tables[i]))
	}
	if err := indented(w, object{{"version", FormatVersion}, {"program", record.Program()}, {"tables", all}}, " "); err != nil {
		return fmt.Errorf("tables as JSON: %w", err)
	}
	return nil
}

// indented writes JSON for people to look into; model names hold &.
func indented(w io.Writer, doc any, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(doc)
}

func objectOf(t *analysis.Table) object {
	columns, rows := []object{}, []object{}
	for i := range t.Columns {
		c := &t.Columns[i]
		columns = append(columns, object{{"key", c.Key}, {"heading", fullHeading(c)}, {"unit", c.Unit}, {"kind", c.Kind}})
	}
	for _, row := range t.Rows {
		var one object
		for i := range t.Columns {
			col := &t.Columns[i]
			cell := object(fieldsOf(col, &row[i]))
			switch col.Kind {
			case analysis.Label, analysis.Verdict, analysis.Count:
				one = append(one, field{col.Key, cell[0].value})
			default:
				one = append(one, field{col.Key, cell})
			}
		}
		rows = append(rows, one)
	}
	need := t.Need
	if len(t.Rows) > 0 {
		need = ""
	}
	return object{{"id", t.ID}, {"title", t.Title}, {"topic", t.Topic}, {"paper", orNull(t.Paper)}, {"about", t.About}, {"need", orNull(need)},
		{"warnings", append([]string{}, t.Warnings...)}, {"notes", append([]string{}, t.Notes...)}, {"columns", columns}, {"rows", rows}}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// An object is written with its names in the order of its fields.
type object []field

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(f.name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(f.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

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
	lines := make([][]string, 1+len(t.Rows))
	for i := range t.Columns {
		col := &t.Columns[i]
		names, _ := csvFields(col, &analysis.Cell{})
		lines[0] = append(lines[0], names...)
		for r := range t.Rows {
			_, texts := csvFields(col, &t.Rows[r][i])
			lines[r+1] = append(lines[r+1], texts...)
		}
	}
	out.WriteAll(lines) // an error stays
	return flush(out, "table", t.ID)
}

func flush(out *csv.Writer, what, id string) error {
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("%s %s as CSV: %w", what, id, err)
	}
	return nil
}

// csvFields are the columns of a file that a table's column becomes, and what a
// cell has in them.
func csvFields(col *analysis.Column, c *analysis.Cell) (names, texts []string) {
	for _, f := range fieldsOf(col, c) {
		var text string
		switch v := f.value.(type) {
		case *float64:
			text = precise(v)
		case int:
			text = strconv.Itoa(v)
		case string:
			text = csvLabel(v)
		default: // only JSON has it
			continue
		}
		names, texts = append(names, strings.TrimSuffix(col.Key+"_"+f.name, "_value")), append(texts, text)
	}
	return names, texts
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
