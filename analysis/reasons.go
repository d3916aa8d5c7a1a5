package analysis

import (
	"strings"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// A saidTally counts what judgments say beside their verdicts: how sure they
// are, and what their reasons say of the cell.
type saidTally struct {
	right, wrong sureTally
	cells        [2]reasonTally // judgments of cells that are safe, and of holes
}

// A sureTally counts answered verdicts and their confidence.
type sureTally struct {
	verdicts, without, certain int   // without a confidence; with one of exactly 1
	sum                        int64 // of confidences, in billionths
}

func (s *saidTally) answered() int { return s.right.verdicts + s.wrong.verdicts }

// A reasonTally counts the answered judgments of cells of one type.
type reasonTally struct {
	answered, reasoned, unsure int
	named, both                int  // reasons that claim one type of cell, or both
	wrong                      int  // named the other type
	memory                     int  // of these, what the (stale) entry claims
	kept                       int  // of these, with the entry judged valid
	neighbour                  pair // of the wrong ones whose lake is known, those with a neighbour of the claimed type
	chance                     pair // of all that name a type, those with a neighbour of the other type
}

// add counts a window's answered judgments. Without the lake nothing is known
// of neighbours.
func (s *saidTally) add(w *record.Window, lakes *replay, reader *reasonReader) {
	var g *lake.Grid
	if lakes != nil {
		g = lakes.at(w.Step)
	}
	for i := range w.Judgments {
		j := &w.Judgments[i]
		if j.Verdict == record.Unanswered {
			continue
		}
		sure := &s.wrong
		if j.Truth == (j.Verdict == record.Stale) {
			sure = &s.right
		}
		sure.add(j.Confidence)
		if claim, ok := claimOf(j.Claim); ok {
			hole := (claim == saysDanger) != j.Truth // what the cell is
			s.cells[index(hole)].add(j, hole, g, reader)
		}
	}
}

func (s *sureTally) add(confidence *float64) {
	s.verdicts++
	v, ok := fraction(confidence)
	if !ok {
		s.without++
		return
	}
	s.sum += v
	if *confidence == 1 {
		s.certain++
	}
}

func (r *reasonTally) add(j *record.Judgment, hole bool, g *lake.Grid, reader *reasonReader) {
	r.answered++
	if strings.TrimSpace(j.Reason) == "" {
		return
	}
	r.reasoned++
	says := reader.read(j.Reason, j.Pos)
	r.unsure += index(says.unsure)
	if says.safe && says.hole {
		r.both++
		return
	}
	if !says.safe && !says.hole {
		return
	}
	r.named++
	p := position(j.Pos)
	known := g != nil && g.Contains(p)
	other := 0
	if known {
		other = index(hasNeighbour(g, p, !hole))
		r.chance.plus(pair{other, 1})
	}
	if says.hole == hole {
		return
	}
	r.wrong++
	if j.Truth { // the entry claims the other type, as the reason does
		r.memory++
		r.kept += index(j.Verdict == record.Valid)
	}
	if known {
		r.neighbour.plus(pair{other, 1})
	}
}

// hasNeighbour reports whether one of a cell's four neighbours on the grid is a
// hole, or is none.
func hasNeighbour(g *lake.Grid, p lake.Pos, hole bool) bool {
	for _, q := range [4]lake.Pos{{Row: p.Row - 1, Col: p.Col}, {Row: p.Row + 1, Col: p.Col}, {Row: p.Row, Col: p.Col - 1}, {Row: p.Row, Col: p.Col + 1}} {
		if g.Contains(q) && g.IsHole(q) == hole {
			return true
		}
	}
	return false
}

// Confidence tells how sure models say they are, and whether they have reason
// to (paper, appendix J).
func (c *Collector) Confidence() Table {
	rows := c.replyRows(isAudit)
	t := Table{
		ID:    "confidence",
		Title: "Confidence of verdicts",
		Paper: "appendix J",
		About: "How sure, from 0 to 1, the model says it is of its verdicts. One that knows what it knows is less sure where it is wrong.",
		Need:  "finished audits of models that were asked",
	}
	short := c.modelNames()
	sum := func(r *replyRow, of func(*sureTally) int) int { return of(&r.said.right) + of(&r.said.wrong) }
	without := func(s *sureTally) int { return s.without }
	certain := func(s *sureTally) int { return s.certain }
	mean := func(of func(*replyRow) *sureTally) func(*replyRow) Cell {
		return func(r *replyRow) Cell { s := of(r); return meanOf(s.sum, s.verdicts-s.without) }
	}
	fill(&t, append(replyLabels(short), []definition[replyRow]{
		{Column{Key: "answered", Heading: "verdicts", Unit: "entries", Kind: Count}, func(r *replyRow) Cell { return Cell{Count: r.said.answered()} }},
		{Column{Key: "without", Heading: "without confidence", Unit: "share of verdicts", Kind: Share, Decimals: 3}, func(r *replyRow) Cell { return shareOf(sum(r, without), r.said.answered()) }},
		{Column{Key: "certain", Heading: "exactly 1", Unit: "share of verdicts", Kind: Share, Decimals: 3}, func(r *replyRow) Cell { return shareOf(sum(r, certain), r.said.answered()) }},
		{Column{Key: "mean_right", Heading: "right", Group: "mean where", Unit: "confidence", Kind: Average, Decimals: 3}, mean(func(r *replyRow) *sureTally { return &r.said.right })},
		{Column{Key: "mean_wrong", Heading: "wrong", Group: "mean where", Unit: "confidence", Kind: Average, Decimals: 3}, mean(func(r *replyRow) *sureTally { return &r.said.wrong })},
	}...), rows)
	t.Notes = append(undefinedNotes(&t, "–: undefined, which is not zero: there was no such verdict, or none with a confidence."),
		"Unanswered entries have no verdict. In brackets, where there is room, the number of verdicts.", noteFinishedOnly)
	t.Notes = append(t.Notes, replyModels(rows, short)...)
	t.Warnings = c.lostReplies(isAudit)
	return t
}

// Reasons tells what the reasons of verdicts say of the cell, set against what
// the cell is.
func (c *Collector) Reasons() Table {
	var rows []*replyRow
	for _, r := range c.replyRows(isAudit) {
		for _, hole := range []bool{false, true} {
			one := *r
			one.hole = hole
			if one.cell().answered > 0 {
				rows = append(rows, &one)
			}
		}
	}
	t := Table{
		ID:    "reasons",
		Title: "Reasons: what they say of the cell, and what it is",
		Paper: "appendices I and J",
		About: "Reasons given with verdicts, by what the cell is now. hedging: with a word such as “unclear”; naming a type: saying that the cell is safe to enter, or a hole. Of these: wrong; of the wrong ones: what the memory says of the cell, and what a neighbouring cell is.",
		Need:  "finished audits with verdicts: spatialstale run --task detect",
	}
	short := c.modelNames()
	share := func(key, heading, group, unit string, base bool, of func(*reasonTally) pair) definition[replyRow] {
		return definition[replyRow]{Column{Key: key, Heading: heading, Group: group, Unit: unit, Kind: Share, Decimals: 3, Base: base},
			func(r *replyRow) Cell { return of(r.cell()).cell() }}
	}
	count := func(key, heading, unit string, of func(*reasonTally) int) definition[replyRow] {
		return definition[replyRow]{Column{Key: key, Heading: heading, Unit: unit, Kind: Count, DataOnly: true},
			func(r *replyRow) Cell { return Cell{Count: of(r.cell())} }}
	}
	const ofReasons, ofNamed, ofWrong = "share of reasons", "share of reasons that name a type", "share of wrong types named"
	defs := append(replyLabels(short), []definition[replyRow]{
		{Column{Key: "cell", Heading: "the cell is", Kind: Label}, func(r *replyRow) Cell {
			if r.hole {
				return Cell{Label: "hole"}
			}
			return Cell{Label: "safe"}
		}},
		{Column{Key: "reasons", Heading: "reasons", Unit: "reasons", Kind: Count}, func(r *replyRow) Cell {
			return Cell{Count: r.cell().reasoned, Of: r.cell().answered}
		}},
		share("unsure", "hedging", "", ofReasons, false, func(r *reasonTally) pair { return pair{r.unsure, r.reasoned} }),
		share("named", "naming a type", "", ofReasons, false, func(r *reasonTally) pair { return pair{r.named, r.reasoned} }),
		share("wrong", "wrong", "", ofNamed, false, func(r *reasonTally) pair { return pair{r.wrong, r.named} }),
		share("memory", "memory", "of wrong", ofWrong, false, func(r *reasonTally) pair { return pair{r.memory, r.wrong} }),
		share("neighbour", "neighbour", "of wrong", ofWrong, false, func(r *reasonTally) pair { return r.neighbour }),
		share("chance", "by chance", "", "share of cells whose reason names a type", false, func(r *reasonTally) pair { return r.chance }),
		count("both", "reasons that name both types", "reasons", func(r *reasonTally) int { return r.both }),
		count("memory_kept", "memory’s content repeated and the entry kept", "reasons", func(r *reasonTally) int { return r.kept }),
	}...)
	for i := range defs {
		switch d := &defs[i]; d.Key {
		case "chance":
			d.Brief, d.Priority = true, 1
		case "reasons":
			d.Priority = 2
		}
	}
	fill(&t, defs, rows)
	t.Notes = append(undefinedNotes(&t, "–: undefined, which is not zero: there was no such reason."),
		"memory: the entry is stale, and the reason gives the cell the type that the entry claims. neighbour: a cell to its left or right, above or below it has that type; by chance: that is so of this share of the cells whose reason names a type. On the same reason both may hold.",
		"Words are all that is looked at, and only those that leave no doubt: docs/results.md has the rules, analysis/data the lists. A reason that names no type, or both, claims nothing.",
		noteFinishedOnly)
	t.Notes = append(t.Notes, replyModels(rows, short)...)
	t.Warnings = c.lostReplies(isAudit)
	return t
}

// cell returns the tally of the row's type of cell.
func (r *replyRow) cell() *reasonTally { return &r.said.cells[index(r.hole)] }
