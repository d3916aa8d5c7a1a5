package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// An asked names what calls have in common for the diagnostics of replies.
type asked struct {
	model, modality string
	task            askedTask
}

// An askedTask is what a model was asked to do.
type askedTask int

const (
	askedDetection askedTask = iota // audits of a detection
	askedAudit                      // audits inside episodes
	askedStep                       // steps of episodes
)

// The tasks, as data formats and people have them.
var (
	askedNames = [...]string{"detect", "navigate-audit", "navigate-step"}
	askedWords = [...]string{"detection", "audits", "steps"}
)

// A replyTally says how the replies of one model, modality and task were read.
type replyTally struct {
	calls    int
	outcomes map[string]int // of audits' replies, or of steps' that gave no action
	mended   int            // replies with a repair
	repairs  map[string]repairTally
	unknown  int // verdicts on entries that nobody asked about
	said     saidTally
}

// A repairTally counts what one kind of repair touched.
type repairTally struct{ replies, verdicts int }

// addReplies adds what a finished trial's replies were like. Audits of which no
// call is recorded asked no model, as an oracle's.
func (c *Collector) addReplies(t *record.Trial, w *world) {
	task := askedDetection
	if t.Task == record.Navigate {
		task = askedAudit
		if len(t.Steps) > 0 {
			c.repliesOf(t, askedStep).addSteps(t)
		}
	}
	var lakes *replay
	if w != nil {
		lakes = newReplay(w, t)
	}
	for i := range t.Windows {
		win := &t.Windows[i]
		if len(win.Replies) == 0 {
			continue
		}
		r := c.repliesOf(t, task)
		before := r.told()
		r.addParsed(win)
		r.said.add(win, lakes, &c.reader)
		if t.Task == record.Detect {
			c.detection.at(&t.Spec).told.grow(before, r.told())
		}
	}
}

// told is what a seed's tally keeps of a model's replies.
func (r *replyTally) told() toldTally {
	s := &r.said
	return toldTally{
		hedged:  pair{s.cells[0].unsure + s.cells[1].unsure, s.cells[0].reasoned + s.cells[1].reasoned},
		certain: pair{s.right.certain + s.wrong.certain, s.answered()},
		refused: pair{r.outcomes["refusal"], r.calls},
	}
}

// grow adds what came between two states of a model's tally.
func (t *toldTally) grow(before, after toldTally) {
	for _, p := range []struct {
		of            *pair
		before, after pair
	}{{&t.hedged, before.hedged, after.hedged}, {&t.certain, before.certain, after.certain}, {&t.refused, before.refused, after.refused}} {
		p.of.plus(pair{p.after.count - p.before.count, p.after.of - p.before.of})
	}
}

func (c *Collector) repliesOf(t *record.Trial, task askedTask) *replyTally {
	key := asked{t.Model, t.Modality, task}
	if c.replies[key] == nil {
		if c.replies == nil {
			c.replies = make(map[asked]*replyTally)
		}
		c.replies[key] = &replyTally{outcomes: make(map[string]int), repairs: make(map[string]repairTally)}
	}
	return c.replies[key]
}

// addSteps counts an episode's step replies by how they were read.
func (r *replyTally) addSteps(t *record.Trial) {
	r.calls += len(t.Steps)
	for i := range t.Steps {
		s := &t.Steps[i]
		if !s.Fallback {
			continue
		}
		reading := s.Reply
		if reading == "" {
			reading = notRecorded
		}
		r.outcomes[reading]++
	}
}

// notRecorded stands for a fallback whose record does not say why.
const notRecorded = "not recorded"

// addParsed counts an audit's replies.
func (r *replyTally) addParsed(w *record.Window) {
	r.calls += len(w.Replies)
	for i := range w.Replies {
		p := &w.Replies[i]
		r.outcomes[p.Outcome]++
		r.unknown += p.UnknownIDs
		if len(p.Repairs) > 0 {
			r.mended++
		}
		for k, name := range p.Repairs {
			if !slices.Contains(p.Repairs[:k], name) {
				n := r.repairs[name]
				n.replies++
				r.repairs[name] = n
			}
		}
	}
	for i := range w.Judgments {
		repairs := w.Judgments[i].Repairs
		for k, name := range repairs {
			if !slices.Contains(repairs[:k], name) {
				n := r.repairs[name]
				n.verdicts++
				r.repairs[name] = n
			}
		}
	}
}

// A replyRow is one row of a table about replies.
type replyRow struct {
	asked
	*replyTally
	name string // a repair, a reading, a type of cell, where the table has a row for each
	hole bool
}

// replyRows returns a row for each of the tasks that keep lets pass.
func (c *Collector) replyRows(keep func(askedTask) bool) []*replyRow {
	keys := slices.SortedFunc(maps.Keys(c.replies), func(x, y asked) int {
		return cmp.Or(c.plan.compareModels(x.model, y.model), compareModalities(x.modality, y.modality), cmp.Compare(x.task, y.task))
	})
	var out []*replyRow
	for _, k := range keys {
		if keep(k.task) {
			out = append(out, &replyRow{asked: k, replyTally: c.replies[k]})
		}
	}
	return out
}

func isAudit(t askedTask) bool { return t != askedStep }
func isStep(t askedTask) bool  { return t == askedStep }
func isAny(askedTask) bool     { return true }

// each makes a row for each name out of every row.
func each(rows []*replyRow, names func(*replyRow) []string) []*replyRow {
	var out []*replyRow
	for _, r := range rows {
		for _, n := range names(r) {
			one := *r
			one.name = n
			out = append(out, &one)
		}
	}
	return out
}

func replyLabels(short map[string]string) []definition[replyRow] {
	return []definition[replyRow]{
		{Column{Key: "model", Heading: "model", Kind: Label, Section: true}, func(r *replyRow) Cell { return modelCell(r.model, short) }},
		{Column{Key: "modality", Heading: "modality", Kind: Label}, func(r *replyRow) Cell { return Cell{Label: r.modality} }},
		{Column{Key: "task", Heading: "asked for", Kind: Label}, func(r *replyRow) Cell { return Cell{Label: askedNames[r.task], Short: askedWords[r.task]} }},
	}
}

func replyModels(rows []*replyRow, short map[string]string) []string {
	groups := make([]*group[struct{}], len(rows))
	for i, r := range rows {
		groups[i] = &group[struct{}]{setting: setting{model: r.model}}
	}
	return modelNotes(groups, short)
}

// withoutAudits are the strategies that ask no model for an audit.
var withoutAudits = []string{"no-memory", "no-filter", "oracle"}

// lostReplies says how many planned trials left no replies to look at, of those
// in which the tasks that keep lets pass are asked for.
func (c *Collector) lostReplies(keep func(askedTask) bool) []string {
	var detections, episodes progressSum
	if keep(askedDetection) {
		for _, seeds := range c.detection {
			for _, d := range seeds {
				detections.add(&d.progress)
			}
		}
	}
	for s, seeds := range c.episodes {
		if keep(askedStep) || keep(askedAudit) && !slices.Contains(withoutAudits, s.strategy) {
			for _, e := range seeds {
				episodes.add(&e.progress)
			}
		}
	}
	const means = "Their replies are in no row."
	return append(detections.warnings("detection runs", means), episodes.warnings("episodes", means)...)
}

// noteFinishedOnly says whose replies are counted.
const noteFinishedOnly = "audits: those inside episodes. Replies of failed trials are in no row, and neither are audits by true labels, which ask no model."

// outcomes are how a reply can be read, in the order of the columns.
var outcomes = []string{"answered", "partial", "truncated", "refusal", "filtered", "empty", "unparsed"}

// outcome returns how many replies were read so. A step's reply that gave an
// action is answered; what was said instead of one counts as unparsed unless
// it has a name of its own.
func (r *replyRow) outcome(name string) int {
	switch {
	case r.task != askedStep:
		return r.outcomes[name]
	case name == "answered":
		return r.calls - sumOf(r.outcomes)
	case name == "unparsed":
		n := 0
		for reading, count := range r.outcomes {
			if !slices.Contains(outcomes, reading) || reading == name {
				n += count
			}
		}
		return n
	}
	return r.outcomes[name]
}

func sumOf(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// other returns how many replies were read as nothing that this program knows.
func (r *replyRow) other() int {
	if r.task == askedStep {
		return 0
	}
	n := 0
	for reading, count := range r.outcomes {
		if !slices.Contains(outcomes, reading) {
			n += count
		}
	}
	return n
}

// Replies tells how models' replies were read.
func (c *Collector) Replies() Table {
	rows := c.replyRows(isAny)
	t := Table{
		ID:    "replies",
		Title: "Replies: how they were read",
		Paper: "appendix J",
		About: "Shares of model calls; in brackets, where there is room, their number. answered: a verdict on every entry asked about, or an action; partial: on some of them.",
		Need:  "finished trials of models that were asked",
	}
	short := c.modelNames()
	defs := append(replyLabels(short), definition[replyRow]{
		Column{Key: "calls", Heading: "calls", Unit: "calls", Kind: Count}, func(r *replyRow) Cell { return Cell{Count: r.calls} }})
	var never []string
	for _, name := range outcomes {
		col := Column{Key: name, Heading: name, Unit: "share of calls", Kind: Share, Decimals: 3}
		if name == "filtered" || name == "empty" {
			col.Priority = 2
		}
		if !slices.ContainsFunc(rows, func(r *replyRow) bool { return r.outcome(name) > 0 }) {
			never = append(never, name)
			col.DataOnly = true
		}
		defs = append(defs, definition[replyRow]{col, func(r *replyRow) Cell { return shareOf(r.outcome(name), r.calls) }})
	}
	defs = append(defs,
		definition[replyRow]{Column{Key: "other", Heading: "other", Unit: "share of calls", Kind: Share, Decimals: 3,
			DataOnly: !slices.ContainsFunc(rows, func(r *replyRow) bool { return r.other() > 0 })},
			func(r *replyRow) Cell { return shareOf(r.other(), r.calls) }},
		definition[replyRow]{Column{Key: "mended", Heading: "mended", Unit: "share of calls", Kind: Share, Decimals: 3, Priority: 1},
			func(r *replyRow) Cell {
				if r.task == askedStep {
					return Cell{}
				}
				return shareOf(r.mended, r.calls)
			}},
		definition[replyRow]{Column{Key: "unknown_ids", Heading: "verdicts nobody asked for", Unit: "verdicts", Kind: Count, DataOnly: true},
			func(r *replyRow) Cell { return Cell{Count: r.unknown} }})
	fill(&t, defs, rows)
	if len(never) > 0 {
		t.Notes = append(t.Notes, "Not once: "+strings.Join(never, ", ")+".")
	}
	t.Notes = append(t.Notes,
		"truncated: cut off at the output cap before an answer; refusal: the model said that it would not or could not; filtered: a content filter answered; empty: nothing outside thinking; unparsed: no answer was found in what it said.",
		"A share of refusals is a lower bound: a refusal is recognised by its words.",
		noteFinishedOnly)
	if slices.ContainsFunc(rows, func(r *replyRow) bool { return isAudit(r.task) }) {
		t.Notes = append(t.Notes, "mended: the reply needed a repair to be read; repairs of steps are not recorded (–).")
	}
	t.Notes = append(t.Notes, replyModels(rows, short)...)
	t.Warnings = c.lostReplies(isAny)
	return t
}

// Repairs tells what was mended to read replies.
func (c *Collector) Repairs() Table {
	rows := each(c.replyRows(isAudit), func(r *replyRow) []string { return slices.Sorted(maps.Keys(r.repairs)) })
	t := Table{
		ID:    "repairs",
		Title: "Repairs: what was mended to read a reply",
		About: "A reply that is not the JSON that was asked for is mended where its meaning is beyond doubt, and every repair is recorded. One reply may need several.",
		Need:  "audits with a reply that was mended; there is none",
	}
	short := c.modelNames()
	fill(&t, append(replyLabels(short), []definition[replyRow]{
		{Column{Key: "repair", Heading: "repair", Kind: Label}, func(r *replyRow) Cell { return Cell{Label: r.name} }},
		{Column{Key: "replies", Heading: "replies", Unit: "share of calls", Kind: Share, Decimals: 3}, func(r *replyRow) Cell { return shareOf(r.repairs[r.name].replies, r.calls) }},
		{Column{Key: "verdicts", Heading: "verdicts read with it", Unit: "share of answered entries", Kind: Share, Decimals: 3},
			func(r *replyRow) Cell { return shareOf(r.repairs[r.name].verdicts, r.said.answered()) }},
	}...), rows)
	t.Notes = append(t.Notes, "replies: of all calls, those whose reply as a whole needed it; a repair of single verdicts has none.", noteFinishedOnly)
	t.Notes = append(t.Notes, replyModels(rows, short)...)
	t.Warnings = c.lostReplies(isAudit)
	return t
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

// Fallbacks tells why steps were not the model's own.
func (c *Collector) Fallbacks() Table {
	rows := each(c.replyRows(isStep), func(r *replyRow) []string { return slices.Sorted(maps.Keys(r.outcomes)) })
	t := Table{
		ID:    "fallbacks",
		Title: "Fallbacks: why steps were not the model’s own",
		About: "A step whose reply gave no action is a blind greedy one. Shares of all steps; in brackets, where there is room, their number.",
		Need:  "steps without an action in the reply; there is none",
	}
	short := c.modelNames()
	fill(&t, append(replyLabels(short), []definition[replyRow]{
		{Column{Key: "reading", Heading: "the reply", Kind: Label}, func(r *replyRow) Cell { return Cell{Label: r.name} }},
		{Column{Key: "steps", Heading: "steps", Unit: "share of steps", Kind: Share, Decimals: 3}, func(r *replyRow) Cell { return shareOf(r.outcomes[r.name], r.calls) }},
	}...), rows)
	var words []string
	for _, name := range slices.Sorted(maps.Keys(readings)) {
		if slices.ContainsFunc(rows, func(r *replyRow) bool { return r.name == name }) {
			words = append(words, name+": "+readings[name])
		}
	}
	if len(words) > 0 {
		t.Notes = append(t.Notes, strings.Join(words, "; ")+".")
	}
	t.Notes = append(t.Notes, replyModels(rows, short)...)
	t.Warnings = c.lostReplies(isStep)
	return t
}
