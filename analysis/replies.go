package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// What a model was asked to do: to audit in a detection, to audit inside an
// episode, or for a step of one.
const (
	askedDetect = "detect"
	askedAudit  = "navigate-audit"
	askedStep   = "navigate-step"
)

var askedWords = map[string]string{askedDetect: "detection", askedAudit: "audits", askedStep: "steps"}

// replyDims are what tables of replies are by.
var replyDims = []dim{byModel, byModality, byTask}

// noteFinishedOnly says whose replies are counted.
const noteFinishedOnly = "audits: those inside episodes. Replies of failed trials are in no row, and neither are audits by true labels, which ask no model."

// askedOf are the parts of a group of replies: what its model was asked for.
func askedOf(audits, ofSteps bool) func(*Frame, *Group) []string {
	return func(_ *Frame, g *Group) (out []string) {
		asked := g.any(func(r *Row) bool { return r.audits > 0 })
		switch {
		case g.Task == record.Detect && audits && asked:
			out = append(out, askedDetect)
		case g.Task == record.Navigate:
			if audits && asked {
				out = append(out, askedAudit)
			}
			if ofSteps && g.any(func(r *Row) bool { return r.steps > 0 }) {
				out = append(out, askedStep)
			}
		}
		return out
	}
}

// askedFor is what a part of replies was asked for; a part of it may follow
// behind a space.
func askedFor(label string) string {
	asked, _, _ := strings.Cut(label, " ")
	return asked
}

func detailOf(label string) string {
	_, detail, _ := strings.Cut(label, " ")
	return detail
}

var askedColumn = column{label("task", "asked for"), func(g *Group) Cell {
	asked := askedFor(g.Label)
	return Cell{Label: asked, Short: askedWords[asked]}
}}

// replySpec is what tables of replies have in common.
func replySpec(t Table, audits, ofSteps bool) *spec {
	t.Topic = TopicReplies
	return &spec{Table: t, by: []dim{byModel, byModality}, order: replyDims, over: true, keep: func(groups []*Group) []*Group { return groups },
		parts: askedOf(audits, ofSteps), part: askedColumn,
		notes: func(*Frame, []*Group, *Table) []string { return []string{noteFinishedOnly} }}
}

// calls are the model calls behind a row of replies.
func callsOf(r *Row, label string) int {
	if askedFor(label) == askedStep {
		return int(r.steps)
	}
	return int(r.calls)
}

// outcomes are how a reply can be read, in the order of the columns.
var outcomes = []string{answered, answeredThenCut, "partial", "truncated", "refusal", "filtered", "empty", "unparsed"}

// outcomeWords are those of the outcomes whose names need words.
var outcomeWords = map[string]string{answeredThenCut: "answered, then cut"}

// readAs counts the replies that were read so. A step's reply that gave an
// action is answered; what was said instead of one counts as unparsed unless it
// has a name of its own. What this program does not know is "other".
func readAs(r *Row, label, name string) int {
	kind, ordinary := auditOutcome, int(r.calls)
	if askedFor(label) == askedStep {
		kind, ordinary = stepReading, int(r.steps)
	}
	n, unknown := 0, 0
	for _, k := range r.named {
		if k.kind != kind {
			continue
		}
		ordinary -= int(k.n)
		switch {
		case k.name == name:
			n += int(k.n)
		case !slices.Contains(outcomes, k.name):
			unknown += int(k.n)
		}
	}
	switch {
	case name == answered:
		return ordinary
	case kind == stepReading && name == "unparsed", kind == auditOutcome && name == "other":
		return n + unknown
	}
	return n
}

// replies tell how models' replies were read.
func (f *Frame) replies() Table {
	share := func(name string) *measure {
		return &measure{key: strings.ReplaceAll(name, "-", "_"), words: cmp.Or(outcomeWords[name], name), unit: "share of calls", high: 1, each: func(r *Row, label string) (int, int) { return readAs(r, label, name), callsOf(r, label) }}
	}
	var never []string
	s := replySpec(Table{ID: "replies", Title: "Replies: how they were read", Paper: "appendix J", Need: "finished trials of models that were asked",
		About: "Shares of model calls; in brackets, where there is room, their number. answered: a verdict on every entry asked about, or an action; partial: on some of them."}, true, true)
	s.columns = func(_ *Frame, groups []*Group) []column {
		occurs := func(m *measure) bool {
			return slices.ContainsFunc(groups, func(g *Group) bool { n, _ := g.pooled(m); return n > 0 })
		}
		calls := &measure{each: func(r *Row, label string) (int, int) { return callsOf(r, label), 1 }}
		cols := []column{{Column{Key: "calls", Heading: "calls", Unit: "calls", Kind: Count}, func(g *Group) Cell { n, _ := g.pooled(calls); return Cell{Count: n} }}}
		for _, name := range outcomes {
			c := shareOf(share(name)).hiddenIf(!occurs(share(name)))
			if !occurs(share(name)) && name != answeredThenCut { // of which there is nothing to say
				never = append(never, name)
			}
			if name == "filtered" || name == "empty" {
				c = c.last(2)
			}
			cols = append(cols, c)
		}
		repaired := shareOf(repairedShare).as("mended", "repaired").last(1)
		unasked := func(r *Row) int { return int(r.unknownIDs) }
		ids := sumOf("unknown_ids", "verdicts on ids not asked", "verdicts", unasked)
		ids = ids.hiddenIf(!slices.ContainsFunc(groups, func(g *Group) bool { return g.sum(unasked) > 0 }))
		return append(cols, shareOf(share("other")).hiddenIf(!occurs(share("other"))), auditsOnly(repaired), auditsOnly(ids))
	}
	s.notes = func(_ *Frame, groups []*Group, _ *Table) (notes []string) {
		if len(never) > 0 {
			notes = append(notes, "Not once: "+strings.Join(never, ", ")+".")
		}
		return append(notes, "answered, then cut: cut off, or ended early, once every entry asked about had its verdict; truncated: cut off before that, and what was complete counts; refusal: the model said that it would not or could not; filtered: a content filter answered; empty: nothing outside thinking; unparsed: no answer was found in what it said.",
			"A share of refusals is a lower bound: a refusal is recognised by its words.", noteFinishedOnly, "repaired: the reply needed a repair to be read; repairs of steps are not recorded (–).")
	}
	return f.table(s)
}

// auditsOnly leaves a column of audits empty in rows of steps.
func auditsOnly(c column) column {
	of := c.cell
	c.cell = func(g *Group) Cell {
		if askedFor(g.Label) == askedStep {
			return Cell{}
		}
		return of(g)
	}
	return c
}

// named parts a row of replies by the names of one kind that occur in it.
func named(kind nameKind, audits, ofSteps bool) func(*Frame, *Group) []string {
	return func(f *Frame, g *Group) (out []string) {
		names := map[string]bool{}
		g.any(func(r *Row) bool {
			for _, k := range r.named {
				names[k.name] = names[k.name] || k.kind == kind
			}
			return false
		})
		for _, asked := range askedOf(audits, ofSteps)(f, g) {
			for _, name := range slices.Sorted(maps.Keys(names)) {
				if names[name] {
					out = append(out, asked+" "+name)
				}
			}
		}
		return out
	}
}

// ofNamed is the share of something that has the name in a row's label.
func ofNamed(key, words, unit string, of func(r *Row, label, name string) (int, int)) column {
	return shareOf(&measure{key: key, words: words, unit: unit, high: 1, each: func(r *Row, label string) (int, int) { return of(r, label, detailOf(label)) }})
}

func detailColumn(key, heading string) column {
	return column{label(key, heading), func(g *Group) Cell { return Cell{Label: detailOf(g.Label)} }}
}

// repairs tell what was repaired to read replies.
func (f *Frame) repairs() Table {
	s := replySpec(Table{ID: "repairs", Title: "Repairs: what was repaired to read a reply", Need: "audits with a reply that was repaired; there is none",
		About: "A reply that is not the JSON that was asked for is repaired where its meaning is beyond doubt, and every repair is recorded. One reply may need several."}, true, false)
	s.parts = named(auditRepair, true, false)
	s.columns = func(*Frame, []*Group) []column {
		return []column{detailColumn("repair", "repair"),
			ofNamed("replies", "replies", "share of calls", func(r *Row, _, name string) (int, int) {
				n, _ := r.count(auditRepair, name)
				return n, int(r.calls)
			}),
			ofNamed("verdicts", "verdicts read with it", "share of answered entries", func(r *Row, _, name string) (int, int) {
				_, n := r.count(auditRepair, name)
				return n, r.said.answered()
			})}
	}
	s.notes = func(*Frame, []*Group, *Table) []string {
		return []string{"replies: of all calls, those whose reply as a whole needed it; a repair of single verdicts has none.", noteFinishedOnly}
	}
	return f.table(s)
}

// readings say what the readings of steps' replies mean.
var readings = map[string]string{
	"empty":     "nothing outside thinking",
	"truncated": "cut off before an action",
	"filtered":  "a content filter answered",
	"refusal":   "it said that it would not or could not",
	"undecided": "several actions, and nothing says which",
	"invalid":   "an answer in the asked form that is no action",
	"none":      "no action named",
}

// fallbacks tell why steps were not the model's own.
func (f *Frame) fallbacks() Table {
	s := replySpec(Table{ID: "fallbacks", Title: "Fallbacks: why steps were not the model’s own", Need: "steps without an action in the reply; there is none",
		About: "A step whose reply gave no action is a blind greedy one. Shares of all steps; in brackets, where there is room, their number."}, false, true)
	s.parts = named(stepReading, false, true)
	s.columns = func(*Frame, []*Group) []column {
		return []column{detailColumn("reading", "the reply"), ofNamed("steps", "steps", "share of steps", func(r *Row, _, name string) (int, int) {
			n, _ := r.count(stepReading, name)
			return n, int(r.steps)
		})}
	}
	s.notes = func(_ *Frame, groups []*Group, _ *Table) []string {
		var words []string
		for _, name := range slices.Sorted(maps.Keys(readings)) {
			if slices.ContainsFunc(groups, func(g *Group) bool { return detailOf(g.Label) == name }) {
				words = append(words, name+": "+readings[name])
			}
		}
		if len(words) == 0 {
			return nil
		}
		return []string{strings.Join(words, "; ") + "."}
	}
	return f.table(s)
}

// confidence tells how sure models say they are, and whether they have reason to
// (paper, appendix J).
func (f *Frame) confidence() Table {
	both := func(r *Row, of func(*sureCounts) int32) int { return int(of(&r.said.sure[0]) + of(&r.said.sure[1])) }
	share := func(key, words string, of func(*sureCounts) int32) column {
		return shareOf(&measure{key: key, words: words, unit: "share of verdicts", high: 1, of: func(r *Row) (int, int) { return both(r, of), r.said.answered() }})
	}
	mean := func(key, words string, right int) column {
		m := &measure{of: func(r *Row) (int, int) { s := &r.said.sure[right]; return int(s.sum), int(s.verdicts - s.without) }}
		return column{Column{Key: key, Heading: words, Group: "mean where", Unit: "confidence", Kind: Average, Decimals: 3}, func(g *Group) Cell { return billionthsCell(g.pooled(m)) }}
	}
	s := replySpec(Table{ID: "confidence", Title: "Confidence of verdicts", Paper: "appendix J", Need: "finished audits of models that were asked",
		About: "How sure, from 0 to 1, the model says it is of its verdicts. One that knows what it knows is less sure where it is wrong."}, true, false)
	s.dash = "there was no such verdict, or none with a confidence"
	s.columns = func(*Frame, []*Group) []column {
		return []column{sumOf("answered", "verdicts", "entries", func(r *Row) int { return r.said.answered() }),
			share("without", "without confidence", func(s *sureCounts) int32 { return s.without }), share("certain", "exactly 1", func(s *sureCounts) int32 { return s.certain }),
			mean("mean_right", "right", 1), mean("mean_wrong", "wrong", 0)}
	}
	s.notes = func(*Frame, []*Group, *Table) []string {
		return []string{"Unanswered entries have no verdict. In brackets, where there is room, the number of verdicts.", noteFinishedOnly}
	}
	return f.table(s)
}

// cellTypes name what a cell is, as indices of said.cells.
var cellTypes = []string{"safe", "hole"}

// reasons tell what the reasons of verdicts say of the cell, set against what
// the cell is.
func (f *Frame) reasons() Table {
	cell := func(r *Row, label string) *reasonCounts {
		return &r.said.cells[slices.Index(cellTypes, detailOf(label))]
	}
	share := func(key, words, group, unit string, of func(*reasonCounts) (int32, int32)) column {
		return shareOf(&measure{key: key, words: words, unit: unit, high: 1, each: func(r *Row, label string) (int, int) {
			n, d := of(cell(r, label))
			return int(n), int(d)
		}}).under(group)
	}
	count := func(key, words string, of func(*reasonCounts) int32) column {
		m := &measure{each: func(r *Row, label string) (int, int) { return int(of(cell(r, label))), 0 }}
		return column{Column{Key: key, Heading: words, Unit: "reasons", Kind: Count, DataOnly: true}, func(g *Group) Cell { n, _ := g.pooled(m); return Cell{Count: n} }}
	}
	total := &measure{each: func(r *Row, label string) (int, int) {
		return int(cell(r, label).reasoned), int(cell(r, label).answered)
	}}
	s := replySpec(Table{ID: "reasons", Title: "Reasons: what they say of the cell, and what it is", Paper: "appendices I and J", Need: "finished audits with verdicts: spatialstale run --task detect",
		About: "Reasons given with verdicts, by what the cell is now. hedging: with a word such as “unclear”; understood: it follows that the entry is true, or that it is false; only quoting: no more than what the memory says. Of those understood: agreeing with the memory and with the cell, with one alone, or with neither; and against the verdict: an entry called stale that the reason affirms, or valid that it denies."}, true, false)
	s.dash = "there was no such reason"
	s.parts = func(f *Frame, g *Group) (out []string) {
		for _, asked := range askedOf(true, false)(f, g) {
			for k, name := range cellTypes {
				if g.any(func(r *Row) bool { return r.said.cells[k].answered > 0 }) {
					out = append(out, asked+" "+name)
				}
			}
		}
		return out
	}
	const ofReasons, ofUnderstood, ofWrong = "share of reasons", "share of reasons understood", "share of wrong reasons"
	agree := func(key, words string, memory, cell int) column {
		return share(key, words, "agrees with", ofUnderstood, func(r *reasonCounts) (int32, int32) { return r.agree[memory][cell], r.understood() }).brief()
	}
	s.columns = func(*Frame, []*Group) []column {
		return []column{detailColumn("cell", "the cell is"),
			{Column{Key: "reasons", Heading: "reasons", Unit: "reasons", Kind: Count, Priority: 2}, func(g *Group) Cell { n, d := g.pooled(total); return Cell{Count: n, Of: d} }},
			share("unsure", "hedging", "", ofReasons, func(r *reasonCounts) (int32, int32) { return r.unsure, r.reasoned }),
			share("understood", "understood", "", ofReasons, func(r *reasonCounts) (int32, int32) { return r.understood(), r.reasoned }),
			share("quoted", "only quoting", "", ofReasons, func(r *reasonCounts) (int32, int32) { return r.quoted, r.reasoned }).brief().last(1),
			agree("agrees_both", "both", 1, 1), agree("agrees_cell", "cell alone", 0, 1), agree("agrees_memory", "memory alone", 1, 0), agree("agrees_neither", "neither", 0, 0),
			share("against", "against the verdict", "", ofUnderstood, func(r *reasonCounts) (int32, int32) { return r.against, r.understood() }),
			share("neighbour", "neighbour", "of wrong", ofWrong, func(r *reasonCounts) (int32, int32) { return r.neighbour.count, r.neighbour.of }).last(1),
			share("chance", "by chance", "", "share of cells whose reason is understood", func(r *reasonCounts) (int32, int32) { return r.chance.count, r.chance.of }).brief().last(1),
			share("wrong", "wrong", "", ofUnderstood, func(r *reasonCounts) (int32, int32) { return r.wrong(), r.understood() }).hidden(),
			share("memory", "memory", "of wrong", ofWrong, func(r *reasonCounts) (int32, int32) { return r.agree[1][0], r.wrong() }).hidden(),
			count("unclear", "reasons that say one thing and its opposite", func(r *reasonCounts) int32 { return r.unclear }),
			count("memory_kept", "memory’s content repeated and the entry kept", func(r *reasonCounts) int32 { return r.kept })}
	}
	s.notes = func(*Frame, []*Group, *Table) []string {
		return []string{"A valid entry is true of its cell: a reason agrees with both or with neither. A stale one is not: a reason agrees with the memory or with the cell alone. Those that do not agree with the cell are wrong. neighbour: of these, with a cell to the left or right, above or below that has the claimed type; by chance: that is so of this share of the cells whose reason is understood.",
			"Words are all that is looked at, and only those that leave no doubt: docs/results.md has the rules, analysis/data the lists. A reason that says nothing of the cell or the entry, or one thing and its opposite, is not understood.", noteFinishedOnly}
	}
	return f.table(s)
}
