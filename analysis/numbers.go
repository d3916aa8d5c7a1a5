package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// A Row is one trial of the plan. Its numbers are nil until the trial has
// finished.
type Row struct {
	Key           string
	Seed, Episode int
	task          string
	run           int // of the frame, that the trial is of
	failed        bool
	paid          *paid // what its calls took; nil where none was paid for
	*numbers
}

// lost reports whether the trial has no result.
func (r *Row) lost() bool { return r.numbers == nil }

// The ends of an episode, as indices of record.Outcomes.
const (
	endSuccess = iota
	endDeath
	endTimeout
	endNone // a detection
)

// A pair is a numerator and a denominator.
type pair struct{ count, of int32 }

func (p *pair) add(yes bool) { p.count, p.of = p.count+int32(index(yes)), p.of+1 }
func (p *pair) plus(q pair)  { p.count, p.of = p.count+q.count, p.of+q.of }

// numbers is what a finished trial says, in integers: sums of them do not depend
// on their order. Everything that tables, figures and tests show is a quotient
// of two sums over such numbers.
type numbers struct {
	end       int // of endSuccess …
	cause     int // of a death, as an index of record.Causes; behind the last for one that it lacks
	onStale   pair
	steps     int32
	fallbacks int32
	dropped   int32

	counts, answered record.Counts
	opaque           bool           // the judgments behind some unanswered entries are not known
	flags            [2][2]flagged  // by the entry's claim and whether it is stale
	nearWrong, near  pair           // valid entries that were flagged, and all: those beside a stale one
	audits           int32          // windows whose calls are known
	calls            int32          // of these audits
	repaired         int32          // replies of them with a repair
	unknownIDs       int32          // verdicts on entries that were not asked
	named            []namedCount   // outcomes, repairs and readings that are not the ordinary ones
	said             said           // confidence and reasons
	route            routeCounts    // where the entries lie
	exposure         exposureCounts // how stale the memory was
	safety           safetyCounts   // what was left in view
	behaviour        behaviour      // how it moved
	distractors      *[3]flagged    // by record.DistractorKinds; nil for none
	scores           *scoreCounts   // of the score ablation
	certainty        *certainty     // of verdicts with probabilities
	moves            []byte         // four actions a byte; nil when the route cannot be drawn
}

// flagged counts entries that are alike, and what was said of them.
type flagged struct{ entries, flagged, unanswered int32 }

// A namedCount counts something that has a name of its own.
type namedCount struct {
	kind     nameKind
	name     string
	n        int32
	verdicts int32 // of a repair: the verdicts that were read with it
}

type nameKind uint8

const (
	auditOutcome nameKind = iota // how an audit's reply was read, other than "answered"
	auditRepair
	stepReading // how a step's reply was read that gave no action
)

func (n *numbers) name(kind nameKind, name string, replies, verdicts int32) {
	for i := range n.named {
		if k := &n.named[i]; k.kind == kind && k.name == name {
			k.n, k.verdicts = k.n+replies, k.verdicts+verdicts
			return
		}
	}
	n.named = append(n.named, namedCount{kind, name, replies, verdicts})
}

// count returns how often a name came up.
func (n *numbers) count(kind nameKind, name string) (replies, verdicts int) {
	for _, k := range n.named {
		if k.kind == kind && k.name == name {
			return int(k.n), int(k.verdicts)
		}
	}
	return 0, 0
}

// notRecorded stands for a fallback whose record does not say why.
const notRecorded = "not recorded"

// How a reply is read that answers all that was asked, and one that was cut off
// behind its last verdict, so that nothing is lost.
const (
	answered        = "answered"
	answeredThenCut = "answered-then-cut"
)

// scoreStrategy is the detector that gives each entry a score in [0,1] (paper,
// appendix D), auditStrategy the paper's audit.
const (
	scoreStrategy = "score"
	auditStrategy = "omcd"
)

// numbersOf reads a finished trial. Without its instance nothing is known of
// where entries lie and how stale the memory was. Errors: a record that
// contradicts itself or its instance.
func numbersOf(t *record.Trial, h *history, reader *reasonReader) (*numbers, error) {
	n := &numbers{end: endNone, counts: t.Counts, steps: int32(len(t.Steps)), fallbacks: int32(t.Fallbacks()), dropped: int32(t.DroppedFlips())}
	if err := n.countAnswered(t); err != nil {
		return nil, err
	}
	if t.Task == record.Navigate {
		n.end = record.Outcomes.Index(t.Outcome)
		if err := n.follow(t, h); err != nil {
			return nil, err
		}
		n.look(t, h)
		n.die(t, h)
		n.moves = packed(t)
		n.behaviour = behave(t.Steps)
		for i := range t.Steps {
			if s := &t.Steps[i]; s.Fallback {
				reading := s.Reply
				if reading == "" {
					reading = notRecorded
				}
				n.name(stepReading, reading, 1, 0)
			}
		}
	}
	n.auditRoutes(t, h)
	var lakes *replay
	if h != nil {
		lakes = newReplay(h, t)
	}
	for i := range t.Windows {
		w := &t.Windows[i]
		n.judge(w)
		if t.Strategy == scoreStrategy && t.Task == record.Detect {
			if n.scores == nil {
				n.scores = new(scoreCounts)
			}
			n.scores.add(w)
		}
		if t.Task == record.Detect {
			n.certainty = n.certainty.add(w)
		}
		if len(w.Replies) > 0 { // an oracle asks no model
			n.reply(w, t.Batch)
			n.said.add(w, t.Batch, lakes, reader)
		}
	}
	return n, nil
}

// countAnswered counts a trial's answered entries only. Unanswered ones are
// hidden among FN and TN, so without judgments their counts are opaque.
func (n *numbers) countAnswered(t *record.Trial) error {
	if len(t.Windows) == 0 {
		n.answered, n.opaque = t.Counts, t.Counts.Unanswered > 0
		return nil
	}
	var all record.Counts
	for i := range t.Windows {
		for j := range t.Windows[i].Judgments {
			jd := &t.Windows[i].Judgments[j]
			all.Add(jd.Truth, jd.Verdict)
			if jd.Verdict != record.Unanswered {
				n.answered.Add(jd.Truth, jd.Verdict)
			}
		}
	}
	if all != t.Counts {
		return fmt.Errorf("trial %s: its counts %+v are not those of its judgments, %+v", t.Key, t.Counts, all)
	}
	return nil
}

// judge counts a window's flags by kind of entry, and where wrong ones fall.
func (n *numbers) judge(w *record.Window) {
	for i := range w.Distractors {
		d := &w.Distractors[i]
		if n.distractors == nil {
			n.distractors = new([3]flagged)
		}
		if kind := slices.Index(record.DistractorKinds, d.Kind); kind >= 0 {
			f := &n.distractors[kind]
			f.entries++
			f.flagged += int32(index(d.Verdict == record.Stale))
			f.unanswered += int32(index(d.Verdict == record.Unanswered))
		}
	}
	var stale cellSet
	for i := range w.Judgments {
		if j := &w.Judgments[i]; j.Truth {
			stale.add(j.Pos)
		}
	}
	for i := range w.Judgments {
		j := &w.Judgments[i]
		flag := j.Verdict == record.Stale
		if claim, ok := claimOf(j.Claim); ok {
			f := &n.flags[claim][index(j.Truth)]
			f.entries++
			f.flagged += int32(index(flag))
			f.unanswered += int32(index(j.Verdict == record.Unanswered))
		}
		if j.Truth {
			continue
		}
		near := stale.beside(j.Pos)
		n.near.add(near)
		if flag {
			n.nearWrong.add(near)
		}
	}
}

// reply counts how an audit's replies were read.
func (n *numbers) reply(w *record.Window, batch int) {
	n.audits++
	n.calls += int32(len(w.Replies))
	whole := w.AnsweredThenCut(batch)
	for i := range w.Replies {
		p := &w.Replies[i]
		n.unknownIDs += int32(p.UnknownIDs)
		switch {
		case whole[i]:
			n.name(auditOutcome, answeredThenCut, 1, 0)
		case p.Outcome != answered:
			n.name(auditOutcome, p.Outcome, 1, 0)
		}
		n.repaired += int32(index(len(p.Repairs) > 0))
		for k, name := range p.Repairs {
			if !slices.Contains(p.Repairs[:k], name) {
				n.name(auditRepair, name, 1, 0)
			}
		}
	}
	for i := range w.Judgments {
		repairs := w.Judgments[i].Repairs
		for k, name := range repairs {
			if !slices.Contains(repairs[:k], name) {
				n.name(auditRepair, name, 0, 1)
			}
		}
	}
}

// die looks at a death: its cause, and whether the entry for its cell was stale
// then, shown or not: whether it says SAFE, because the cell was a hole. Without
// the instance that is what the cause says.
func (n *numbers) die(t *record.Trial, h *history) {
	if n.end != endDeath {
		return
	}
	cause := ""
	if t.Death != nil {
		cause = t.Death.Cause
	}
	if n.cause = record.Causes.Index(cause); n.cause < 0 {
		n.cause = len(record.Causes)
	}
	switch {
	case t.Death == nil:
	case h != nil:
		n.onStale.add(slices.ContainsFunc(h.claims, func(c claim) bool { return c.pos == t.Death.Pos && !c.danger }))
	case cause == record.CauseStaleShown || cause == record.CauseStaleRemoved:
		n.onStale.add(true)
	case cause == record.CauseWarned || cause == record.CauseWarningRemoved:
		n.onStale.add(false)
	}
}

// exposureCounts say how stale the memory was while an episode walked. Shares
// are of entries, over all steps or at the last step; in view means after what
// audits removed.
type exposureCounts struct {
	known          bool // the instance is
	blind          bool // what was in view is not known
	steps, last    pair
	atEnd          pair // were all changes of the schedule made
	view, viewLast pair
}

// follow walks a finished episode through its lake and counts at each step, as
// the agent decides, the entries that are false and those of them in view. It
// is an error when the view lacks an entry that the memory never had.
func (n *numbers) follow(t *record.Trial, h *history) error {
	if h == nil {
		return nil
	}
	e := &n.exposure
	entries := int32(len(h.claims))
	e.known, e.atEnd = true, pair{int32(h.atEnd), entries}
	g := h.begin
	stale := h.countFalse(&g)
	var removed []string
	hidden, hiddenStale := 0, 0
	for i := range t.Steps {
		s := &t.Steps[i]
		if len(s.Event) > 0 {
			apply(&g, s.Event)
			stale = h.countFalse(&g)
		}
		if len(s.Event) > 0 || !slices.Equal(removed, s.Removed) {
			removed = s.Removed
			var known bool
			var err error
			if hidden, hiddenStale, known, err = h.hidden(t.Key, removed, &g); err != nil {
				return err
			}
			e.blind = e.blind || !known
		}
		at, view := pair{int32(stale), entries}, pair{int32(stale - hiddenStale), entries - int32(hidden)}
		if s.Memory == record.MemoryNone {
			view = pair{}
		}
		e.steps.plus(at)
		e.view.plus(view)
		e.last, e.viewLast = at, view
	}
	if e.blind {
		e.view, e.viewLast = pair{}, pair{}
	}
	return nil
}

// safetyCounts say what an agent was left with in view at its last step, and
// what it cost.
type safetyCounts struct {
	known    bool  // the last view is
	missed   int32 // SAFE entries about a hole, in view
	valid    int32 // valid entries kept out of view
	warnings int32 // of these, DANGER entries
	killed   bool  // it died on a cell whose SAFE entry was in view
}

// look looks at a finished episode's last view. An agent without memory has
// none, and neither has one whose removed entries cannot be told.
func (n *numbers) look(t *record.Trial, h *history) {
	if h == nil || len(t.Steps) == 0 {
		return
	}
	last := &t.Steps[len(t.Steps)-1]
	if last.Memory == record.MemoryNone || h.ids == nil && len(last.Removed) > 0 {
		return
	}
	s := &n.safety
	s.known = true
	g := newReplay(h, t).at(last.T - 1)
	hidden := make([]bool, len(h.claims))
	for _, id := range last.Removed {
		hidden[h.ids[id]] = true // follow has refused any other id
	}
	for i, c := range h.claims {
		stale := h.falseAt(i, g)
		switch {
		case stale && !c.danger && !hidden[i]:
			s.missed++
			s.killed = s.killed || t.Death != nil && t.Death.Pos == c.pos
		case !stale && hidden[i]:
			s.valid++
			s.warnings += int32(index(c.danger))
		}
	}
}

// routeCounts count audits by where the entries' cells lie. On the route: on a
// shortest route from S to G, on the lake as it was remembered or as it was when
// the audit looked. Both are fixed before the agent has walked: where it went
// says nothing about which cells count.
type routeCounts struct {
	recall [2][2]pair // stale entries flagged, by whether on the route (1) and by claim
	wrong  [2]pair    // valid entries flagged, by whether on the route
	beside pair       // stale entries flagged, of those whose cell the walk entered or came beside
}

// stale returns the stale entries that were flagged, of how many, on the route
// or off it.
func (r *routeCounts) stale(on int) pair {
	p := r.recall[on][saysSafe]
	p.plus(r.recall[on][saysDanger])
	return p
}

// thaw is the same of SAFE entries alone, wherever they lie.
func (r *routeCounts) thaw() pair {
	p := r.recall[0][saysSafe]
	p.plus(r.recall[1][saysSafe])
	return p
}

// auditRoutes counts a trial's audits by where the entries lie.
func (n *numbers) auditRoutes(t *record.Trial, h *history) {
	if h == nil || len(t.Windows) == 0 {
		return
	}
	var touched cellSet // where an episode's agent stood, and beside
	for i := range t.Steps {
		for _, p := range []record.Pos{t.Steps[i].Pos, t.Steps[i].Next} {
			touched.add(p)
			for _, q := range neighbours(p) {
				touched.add(q)
			}
		}
	}
	lakes := newReplay(h, t)
	for i := range t.Windows {
		w := &t.Windows[i]
		route := h.route
		route.join(shortest(lakes.at(w.Step)))
		for k := range w.Judgments {
			j := &w.Judgments[k]
			claim, ok := claimOf(j.Claim)
			if !ok {
				continue
			}
			on, flag := index(route.has(j.Pos)), j.Verdict == record.Stale
			if !j.Truth {
				n.route.wrong[on].add(flag)
				continue
			}
			n.route.recall[on][claim].add(flag)
			if touched.has(j.Pos) {
				n.route.beside.add(flag)
			}
		}
	}
}

// packed packs an episode's actions. It returns nil where they do not lead
// where the record says, and where a change that was due was dropped: the lake
// under such an episode is not its instance's.
func packed(t *record.Trial) []byte {
	grid, err := lake.New(t.Rows, t.Cols)
	if err != nil || t.DroppedFlips() > 0 {
		return nil
	}
	out := make([]byte, (len(t.Steps)+3)/4)
	at := grid.Start()
	for i := range t.Steps {
		s := &t.Steps[i]
		a, ok := lake.ParseAction(s.Action)
		if !ok || position(s.Pos) != at {
			return nil
		}
		if at = grid.Move(at, a); position(s.Next) != at {
			return nil
		}
		out[i/4] |= byte(a) << (i % 4 * 2)
	}
	return out
}

// cells returns the positions of an episode on lakes of a size, from S on.
func (n *numbers) cells(rows, cols int) []record.Pos {
	grid, err := lake.New(rows, cols)
	if err != nil || n.moves == nil {
		return nil
	}
	at := grid.Start()
	out := []record.Pos{{at.Row, at.Col}}
	for i := range int(n.steps) {
		at = grid.Move(at, lake.Action(n.moves[i/4]>>(i%4*2)&3))
		out = append(out, record.Pos{at.Row, at.Col})
	}
	return out
}

// thresholds are those from which on a score counts as stale. The paper names
// only the last.
var thresholds = [...]float64{0.3, 0.5, 0.7}

// scoreCounts hold a trial's scores: what they come to by each threshold, and
// how many entries of a bin are stale.
type scoreCounts struct {
	at   [len(thresholds)]record.Counts
	bins [11]binCount
}

// A binCount holds the entries whose numbers are alike: from k/10 on, below the
// next; the last bin holds exactly 1.
type binCount struct {
	stale pair
	sum   int64 // of the numbers, in billionths
}

// add counts a window's scores. An entry without one counts as not flagged.
func (s *scoreCounts) add(w *record.Window) {
	for i := range w.Judgments {
		j := &w.Judgments[i]
		score, ok := billionths(j.Score)
		for k, limit := range thresholds {
			verdict := record.Unanswered
			switch {
			case ok && *j.Score >= limit:
				verdict = record.Stale
			case ok:
				verdict = record.Valid
			}
			s.at[k].Add(j.Truth, verdict)
		}
		if ok {
			b := &s.bins[binOf(*j.Score)]
			b.stale.add(j.Truth)
			b.sum += score
		}
	}
}

// binOf returns the bin of a number. It compares with the same decimals that a
// model writes, so that 0.3 falls into the bin that begins at 0.3.
func binOf(x float64) int {
	k := 0
	for k < 10 && x >= float64(k+1)/10 {
		k++
	}
	return k
}

// binName says which numbers a bin holds.
func binName(bin int) string {
	if bin == 10 {
		return "1"
	}
	return fmt.Sprintf("%.1f to <%.1f", float64(bin)/10, float64(bin+1)/10)
}

// billionths returns a number in [0,1] in billionths, of which sums do not
// depend on their order; false when it is absent or none.
func billionths(x *float64) (int64, bool) {
	if x == nil || !(*x >= 0 && *x <= 1) {
		return 0, false
	}
	return int64(*x*1e9 + 0.5), true
}

// A certainty holds the probabilities behind a trial's verdicts. Entries are
// kept by the logarithm of their odds on a grid of 1/oddsGrid, which is too fine
// to make ties of its own that would show in a table, and bounds what is kept.
type certainty struct {
	with     int32 // verdicts with probabilities
	oneSided int32 // of these, with one of the two only
	byOdds   map[int32][2]int32
	p        [2]binCount // of valid and of stale entries
	bins     [10]binCount
}

const (
	oddsGrid = 10_000
	maxOdds  = 30 * oddsGrid // probabilities of 1e-13 and less are not told apart
)

// add counts a window's verdicts; nil stays nil where none has probabilities.
func (c *certainty) add(w *record.Window) *certainty {
	for i := range w.Judgments {
		j := &w.Judgments[i]
		if j.Verdict == record.Unanswered {
			continue
		}
		odds, ok := logOdds(j.StaleLogprob, j.ValidLogprob)
		if !ok {
			continue
		}
		if c == nil {
			c = &certainty{byOdds: map[int32][2]int32{}}
		}
		c.with++
		c.oneSided += int32(index(j.StaleLogprob == nil || j.ValidLogprob == nil))
		key := int32(max(-maxOdds, min(maxOdds, math.Round(odds*oddsGrid))))
		t := c.byOdds[key]
		t[index(j.Truth)]++
		c.byOdds[key] = t
		p := 1 / (1 + math.Exp(-odds))
		sum, _ := billionths(&p)
		c.p[index(j.Truth)].stale.add(true)
		c.p[index(j.Truth)].sum += sum
		b := &c.bins[min(binOf(p), 9)]
		b.stale.add(j.Truth)
		b.sum += sum
	}
	return c
}

// logOdds returns the logarithm of the odds of stale against valid. Where the
// server gave one of the two only, all the rest counts for the other, which is
// then the least that can be said.
func logOdds(stale, valid *float64) (odds float64, ok bool) {
	given := func(p *float64) bool { return p != nil && *p <= 0 }
	switch {
	case given(stale) && given(valid):
		odds = *stale - *valid
	case given(stale):
		odds = *stale - math.Log(-math.Expm1(*stale))
	case given(valid):
		odds = math.Log(-math.Expm1(*valid)) - *valid
	default:
		return 0, false
	}
	return odds, !math.IsNaN(odds)
}

// said counts what judgments say beside their verdicts: how sure they are, and
// what their reasons say of the cell.
type said struct {
	sure   [2]sureCounts   // of wrong and of right verdicts
	cells  [2]reasonCounts // judgments of cells that are safe, and of holes
	hedged pair            // responses with a reason that hedges, of those with a reason
}

// sureCounts count answered verdicts and their confidence.
type sureCounts struct {
	verdicts, without, certain int32 // without a confidence; with one of exactly 1
	sum                        int64 // of confidences, in billionths
}

func (s *said) answered() int { return int(s.sure[0].verdicts + s.sure[1].verdicts) }

// reasonCounts count the answered judgments of cells of one type.
type reasonCounts struct {
	answered, reasoned, unsure int32
	agree                      [2][2]int32 // reasons that are understood, by whether they agree with the memory, and with the cell
	unclear, quoted            int32       // not understood: what says both, and what only tells what the memory says
	against                    int32       // that affirm the entry and call it stale, or deny it and call it valid
	kept                       int32       // that agree with a stale entry, judged valid
	neighbour                  pair        // of the wrong ones whose lake is known, those with a neighbour of the claimed type
	chance                     pair        // of all that are understood, those with a neighbour of the other type
}

func (r *reasonCounts) wrong() int32      { return r.agree[0][0] + r.agree[1][0] }
func (r *reasonCounts) understood() int32 { return r.wrong() + r.agree[0][1] + r.agree[1][1] }

// add counts a window's answered judgments, and its responses: judgments do not
// name theirs, but an audit asks for them in their order, so many a call; what was
// asked once more counts with the call that left it out. Without the lake nothing
// is known of neighbours.
func (s *said) add(w *record.Window, batch int, lakes *replay, reader *reasonReader) {
	var g *lake.Grid
	if lakes != nil {
		g = lakes.at(w.Step)
	}
	response, gives, hedges := 0, false, false
	end := func() {
		if gives {
			s.hedged.add(hedges)
		}
		gives, hedges = false, false
	}
	for i := range w.Judgments {
		j := &w.Judgments[i]
		if batch > 0 && i/batch != response {
			end()
			response = i / batch
		}
		if j.Verdict == record.Unanswered {
			continue
		}
		sure := &s.sure[index(j.Truth == (j.Verdict == record.Stale))]
		sure.verdicts++
		if v, ok := billionths(j.Confidence); ok {
			sure.sum += v
			sure.certain += int32(index(*j.Confidence == 1))
		} else {
			sure.without++
		}
		if claim, ok := claimOf(j.Claim); ok {
			hole := (claim == saysDanger) != j.Truth // what the cell is
			c := &s.cells[index(hole)]
			reasoned, unsure := c.reasoned, c.unsure
			c.add(j, claim, g, reader)
			gives, hedges = gives || c.reasoned > reasoned, hedges || c.unsure > unsure
		}
	}
	end()
}

func (r *reasonCounts) add(j *record.Judgment, claim int, g *lake.Grid, reader *reasonReader) {
	r.answered++
	if strings.TrimSpace(j.Reason) == "" {
		return
	}
	r.reasoned++
	says := reader.read(j.Reason, j.Pos)
	r.unsure += int32(index(says.unsure))
	affirms, denies := says.of(claim)
	if affirms == denies {
		r.unclear += int32(index(affirms || says.safe && says.hole))
		r.quoted += int32(index(!affirms && !says.safe && says.quotes))
		return
	}
	right := affirms != j.Truth
	r.agree[index(affirms)][index(right)]++
	r.against += int32(index(affirms == (j.Verdict == record.Stale)))
	r.kept += int32(index(affirms && j.Truth && j.Verdict == record.Valid))
	if g == nil || !g.Contains(position(j.Pos)) {
		return
	}
	other, hole := false, (claim == saysDanger) != j.Truth
	for _, q := range neighbours(j.Pos) {
		other = other || g.Contains(position(q)) && g.IsHole(position(q)) != hole
	}
	r.chance.add(other)
	if !right {
		r.neighbour.add(other)
	}
}
