package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/stats"
)

// FormatVersion is the version of the JSON that JSON writes.
const FormatVersion = 1

// JSON writes all tables with all their columns in full precision:
//
//	{"version": 1, "tables": [{"id", "title", "topic", "paper", "about", "need",
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
	doc := document{Version: FormatVersion, Tables: make([]jsonTable, 0, len(tables))}
	for i := range tables {
		doc.Tables = append(doc.Tables, jsonTableOf(&tables[i]))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("tables as JSON: %w", err)
	}
	return nil
}

type document struct {
	Version int         `json:"version"`
	Tables  []jsonTable `json:"tables"`
}

type jsonTable struct {
	ID       string       `json:"id"`
	Title    string       `json:"title"`
	Topic    string       `json:"topic"`
	Paper    *string      `json:"paper"` // null when the paper has none
	About    string       `json:"about"`
	Need     *string      `json:"need"` // what it needs to have rows; null when it has
	Warnings []string     `json:"warnings"`
	Notes    []string     `json:"notes"`
	Columns  []jsonColumn `json:"columns"`
	Rows     []jsonRow    `json:"rows"`
}

type jsonColumn struct {
	Key     string `json:"key"`
	Heading string `json:"heading"`
	Unit    string `json:"unit"`
	Kind    string `json:"kind"`
}

func jsonTableOf(t *analysis.Table) jsonTable {
	j := jsonTable{
		ID: t.ID, Title: t.Title, Topic: string(t.Topic), About: t.About,
		Warnings: append([]string{}, t.Warnings...),
		Notes:    append([]string{}, t.Notes...),
		Columns:  make([]jsonColumn, 0, len(t.Columns)),
		Rows:     make([]jsonRow, 0, len(t.Rows)),
	}
	if t.Paper != "" {
		j.Paper = &t.Paper
	}
	if len(t.Rows) == 0 && t.Need != "" {
		j.Need = &t.Need
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		j.Columns = append(j.Columns, jsonColumn{c.Key, fullHeading(c), c.Unit, string(c.Kind)})
	}
	for _, row := range t.Rows {
		j.Rows = append(j.Rows, jsonRow{t.Columns, row})
	}
	return j
}

// A jsonRow is an object whose names stand in the order of the columns.
type jsonRow struct {
	columns []analysis.Column
	cells   []analysis.Cell
}

// MarshalJSON implements json.Marshaler.
func (r jsonRow) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // model names hold &
	b.WriteByte('{')
	for i := range r.cells {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(r.columns[i].Key); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(jsonCell(&r.columns[i], &r.cells[i])); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func jsonCell(col *analysis.Column, c *analysis.Cell) any {
	type value struct {
		Value *float64 `json:"value"`
	}
	type overSeeds struct {
		SD        *float64 `json:"sd"`
		N         int      `json:"n"`
		Undefined int      `json:"undefined"`
	}
	type fraction struct {
		Count int `json:"count"`
		Of    int `json:"of"`
	}
	v, s, f := value{c.Value}, overSeeds{c.SD, c.N, c.Undefined}, fraction{c.Count, c.Of}
	switch col.Kind {
	case analysis.Label, analysis.Verdict:
		return c.Label
	case analysis.PValue:
		return struct {
			value
			Test     string          `json:"test"`
			Least    *float64        `json:"least"`
			Mark     string          `json:"mark"`
			Warnings []stats.Warning `json:"warnings"`
		}{v, c.Method, c.Least, c.Mark, append([]stats.Warning{}, c.Warnings...)}
	case analysis.Interval:
		var level *float64
		if c.Low != nil {
			level = &c.Level
		}
		return struct {
			Low      *float64        `json:"low"`
			High     *float64        `json:"high"`
			Level    *float64        `json:"level"`
			Method   string          `json:"method"`
			Warnings []stats.Warning `json:"warnings"`
		}{c.Low, c.High, level, c.Method, append([]stats.Warning{}, c.Warnings...)}
	case analysis.Count:
		return c.Count
	case analysis.Mean:
		return struct {
			value
			overSeeds
		}{v, s}
	case analysis.Rate:
		return struct {
			value
			overSeeds
			fraction
		}{v, s, f}
	case analysis.Paired:
		return struct {
			value
			overSeeds
			A     string     `json:"a_is"`
			B     string     `json:"b_is"`
			Pairs []jsonPair `json:"pairs"`
		}{v, s, c.Sides[0], c.Sides[1], jsonPairs(c.Pairs)}
	case analysis.Share:
		return struct {
			value
			fraction
		}{v, f}
	case analysis.Average:
		return struct {
			value
			N int `json:"n"`
		}{v, c.N}
	}
	return v
}

// A jsonPair is one seed of a paired difference.
type jsonPair struct {
	Seed       int      `json:"seed"`
	A          *float64 `json:"a"`
	B          *float64 `json:"b"`
	Difference *float64 `json:"difference"`
}

func jsonPairs(pairs []analysis.SeedPair) []jsonPair {
	out := make([]jsonPair, len(pairs))
	for i := range pairs {
		p := &pairs[i]
		out[i] = jsonPair{p.Seed, p.A, p.B, p.Difference()}
	}
	return out
}
