package memory

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// Read returns the memory that a record holds of a lake, whoever wrote it: an
// entry a cell, row by row, whose claim was true of g when it was taken. The
// words may be any that fit a line.
func Read(rec []record.MemoryEntry, g *lake.Grid) ([]Entry, error) {
	if len(rec) != g.NumCells() {
		return nil, fmt.Errorf("memory: %d entries for a lake of %d cells", len(rec), g.NumCells())
	}
	entries := make([]Entry, len(rec))
	known := map[string]bool{}
	for i, m := range rec {
		p := lake.Pos{Row: i / g.NumCols(), Col: i % g.NumCols()}
		e := Entry{ID: m.ID, Pos: p, Claim: Claim(m.Claim), Text: m.Text, Visited: m.Visited, Type: g.At(p)}
		want := Safe
		if g.IsHole(p) {
			want = Danger
		}
		switch {
		case m.Pos != record.Pos{p.Row, p.Col}:
			return nil, fmt.Errorf("memory: entry %d is at %v; entries stand row by row, and this is %v's place", i, m.Pos, p)
		case e.Claim != want:
			return nil, fmt.Errorf("memory: the entry at %v claims %q of a cell that was %s: it must have been true when it was taken", p, m.Claim, e.Type)
		case m.ID == "" || known[m.ID] || strings.ContainsAny(m.ID, "[]") || strings.ContainsFunc(m.ID, func(r rune) bool { return !unicode.IsPrint(r) }):
			return nil, fmt.Errorf("memory: the entry at %v has the id %q; ids are there, differ, can be printed and have no brackets", p, m.ID)
		case strings.TrimSpace(m.Text) == "" || strings.ContainsAny(m.Text, "\r\n"):
			return nil, fmt.Errorf("memory: the entry at %v has no text, or one of several lines", p)
		}
		known[m.ID] = true
		entries[i] = e
	}
	return entries, nil
}

// ReadClaim reads what a text says of a cell, as entries begin: "SAFE at (2,5)".
// Any other text says nothing that could be held against the lake.
func ReadClaim(text string) (c Claim, at lake.Pos, ok bool) {
	n, _ := fmt.Sscanf(text, "%s at (%d,%d)", &c, &at.Row, &at.Col)
	return c, at, n == 3 && (c == Safe || c == Danger)
}
