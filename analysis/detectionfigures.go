package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// detectionNeed is what figures of detections ask for.
const detectionNeed = "detections: spatialstale run --task detect"

// modalityNames are the words for modalities in figures.
var modalityNames = map[string]string{record.Text: "from text", record.Vision: "from images"}

// A detections is what figures of detections show: the audit of the paper, one
// batch, wording and size. Cells all of whose detections are lost keep their
// places.
type detections struct {
	groups                      groups[detectionTally]
	models, regimes, modalities []string
	choice                      string // what is shown of what the run has; empty when that is all
}

// shownDetections picks them.
func (c *Collector) shownDetections() detections {
	var settings []setting
	for s := range c.detection {
		if s.strategy == auditStrategy {
			settings = append(settings, s)
		}
	}
	keep, choice := c.principal(settings)
	d := detections{groups: make(groups[detectionTally]), choice: choice}
	for _, s := range settings {
		if !keep(s) {
			continue
		}
		d.groups[s] = c.detection[s]
		addNew(&d.models, s.model)
		addNew(&d.regimes, s.regime)
		addNew(&d.modalities, s.modality)
	}
	slices.SortFunc(d.models, c.plan.compareModels)
	slices.SortFunc(d.regimes, c.plan.compareRegimes)
	slices.SortFunc(d.modalities, compareModalities)
	return d
}

// at returns the seeds of one cell of a figure, nil for none.
func (d *detections) at(model, regime, modality string) map[int]*detectionTally {
	for s, seeds := range d.groups {
		if s.model == model && s.regime == regime && s.modality == modality {
			return seeds
		}
	}
	return nil
}

// warnings says what is lost of the trials in these regimes.
func (d *detections) warnings(regimes []string) []string {
	var all []*detectionGroup
	for s, seeds := range d.groups {
		if slices.Contains(regimes, s.regime) {
			all = append(all, &detectionGroup{setting: s, seeds: slices.Collect(maps.Values(seeds))})
		}
	}
	return progressWarnings(all, "detection runs", progressOfDetection)
}

// trials counts the detections of a model from one modality; of all of them for
// empty names.
func (d *detections) trials(model, modality string, regimes []string) *Trials {
	var t *Trials
	for s, seeds := range d.groups {
		if (model == "" || s.model == model) && (modality == "" || s.modality == modality) && slices.Contains(regimes, s.regime) {
			t = t.plus(trialsOf(seeds, progressOfDetection))
		}
	}
	return t
}

// finish adds what all figures of detections say of those in the regimes that it
// shows; then are the sentences that follow the one on lost trials.
func (d *detections) finish(c *Collector, f *Figure, regimes []string, then ...string) {
	f.Warnings = d.warnings(regimes)
	f.lose(d.trials("", "", regimes), "detection runs", then...)
	if d.choice != "" {
		f.Feet = append(f.Feet, d.choice)
	}
	f.about(c, d.models)
}

// boundsElsewhere says where the drawing does not show them.
const boundsElsewhere = "What they could change: table bounds-%s."

// bySeed returns a value of each seed that has finished, in ascending order of
// seeds.
func bySeed[T, V any](seeds map[int]*T, of func(*T) *progress, value func(*T) V) []V {
	var out []V
	for _, seed := range slices.Sorted(maps.Keys(seeds)) {
		if of(seeds[seed]).finished > 0 {
			out = append(out, value(seeds[seed]))
		}
	}
	return out
}

func f1OfSeed(d *detectionTally) *float64 { return d.counts.F1() }

// detectionFigure is F1 by model, regime and modality, with the difference that
// seeing makes (paper, Figure 3).
func (c *Collector) detectionFigure() Figure {
	iv := c.intervals()
	f := Figure{
		ID:    "figure-3-detection",
		Title: "Detection: F1 by model, regime and modality",
		Paper: "Figure 3",
		About: "Mean over seeds of the F1 of one audit of the whole memory (L3: of all audits of a seed together), stale being the positive class. Below: how much worse or better the same model is from images, on the same seeds, with the p of a sign-flip test.",
		Need:  detectionNeed,
	}
	d := c.shownDetections()
	if len(d.models) == 0 {
		return f
	}
	var ns []int
	for _, regime := range d.regimes {
		p := Panel{Title: regimeTitle(regime), Categories: c.categoriesOf(d.models), X: share("F1")}
		for _, modality := range d.modalities {
			s := Series{Key: modality, Name: modalityNames[modality], Mark: Bars}
			for i, model := range d.models {
				seeds := d.at(model, regime, modality)
				if seeds == nil {
					continue
				}
				point := iv.mean(bySeed(seeds, progressOfDetection, f1OfSeed), 0, 1)
				point.Category = i
				point.count(trialsOf(seeds, progressOfDetection))
				point.XBounds = boundsOf(seeds, func(t *detectionTally) seedValue { return t.value(record.Counts.F1) })
				if point.N > 0 {
					ns = append(ns, point.N)
				}
				s.Points = append(s.Points, point)
			}
			p.Series = append(p.Series, s)
		}
		f.Panels = append(f.Panels, p)
	}
	f.Across = len(f.Panels)
	both := slices.Contains(d.modalities, record.Text) && slices.Contains(d.modalities, record.Vision)
	if both {
		f.Panels = append(f.Panels, c.visionLessText(&d, iv)...)
	}
	f.Feet = feet(meanOver(spread("seed", ns)) + iv.words())
	if both {
		f.Feet = append(f.Feet, "p: exact two-sided sign-flip test over the seeds’ differences, of each model and regime by itself, not adjusted; as in the table vision-text.")
		f.Notes = append(f.Notes, "images − text: of each seed that has lost neither detection, F1 from images less F1 from text. Intervals and p are those of the table vision-text, which has Holm’s adjustment and the paper’s test too.")
	} else {
		f.Notes = append(f.Notes, "The difference between images and text needs detections of both: spatialstale run --task detect --modality text,vision.")
	}
	d.finish(c, &f, d.regimes, beside)
	return f
}

// meanOver begins a line below a drawing; nothing where no seed has a value.
func meanOver(seeds string) string {
	if seeds == "" {
		return ""
	}
	return "Mean over " + seeds + ". "
}

// feet leaves out lines without words.
func feet(lines ...string) []string {
	var out []string
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// visionLessText are the panels of differences, one a regime, with a dot for
// each model: the rows of the table vision-text.
func (c *Collector) visionLessText(d *detections, iv *intervals) []Panel {
	rows := c.sightRows()
	panels := make([]Panel, len(d.regimes))
	for i, regime := range d.regimes {
		p := Panel{
			Title:      regimeTitle(regime) + ": images − text",
			Categories: c.categoriesOf(d.models),
			X:          Axis{Label: "difference of F1", Min: -1, Max: 1},
			Guides:     []Guide{{Line: [][2]float64{{0, 0}, {0, 1}}}},
			Series:     []Series{{Key: "difference", Mark: Dots}},
		}
		for _, row := range rows {
			model := slices.Index(d.models, row.model)
			if d.groups[row.setting] == nil || row.regime != regime || model < 0 {
				continue
			}
			cell := row.differenceCell()
			point := Point{Category: model, X: cell.Value, N: cell.N}
			if point.X != nil {
				point.XRange = iv.span(row.boot)
				point.Label = probability(row.flip.P)
			}
			point.count(&Trials{Finished: len(row.pairs), Planned: row.shared})
			if b := row.bounds(); b.least != nil && b.most != nil {
				point.XBounds = &Span{Low: *b.least, High: *b.most}
			}
			p.Series[0].Points = append(p.Series[0].Points, point)
		}
		panels[i] = p
	}
	return panels
}

// regimeTitle is a regime's name above a panel.
func regimeTitle(regime string) string {
	if name, ok := regimeNames[regime]; ok {
		return name
	}
	return regime
}

// A kindOfEntry is a claim and whether it is false, in words.
type kindOfEntry struct {
	key, name    string
	claim, stale int
}

var kindsOfEntry = []kindOfEntry{
	{"thaw", "SAFE, hole (stale)", saysSafe, 1},
	{"safe", "SAFE, safe", saysSafe, 0},
	{"freeze", "DANGER, safe (stale)", saysDanger, 1},
	{"danger", "DANGER, hole", saysDanger, 0},
}

// flagFigure is how often entries are called stale, by claim and truth (paper,
// Figure 4).
func (c *Collector) flagFigure() Figure {
	iv := c.intervals()
	f := Figure{
		ID:    "figure-4-flags",
		Title: "Flag rate, by what the entry claims and what the cell is",
		Paper: "Figure 4",
		About: "The share of entries that the model calls stale, by what the entry claims and what its cell is now, L1 and L2 together. A model that sees the lake flags the two stale kinds and leaves the others; one that does not flags all alike.",
		Need:  detectionNeed,
	}
	d := c.shownDetections()
	pooled := []string{"L1", "L2"}
	where := spotAndCluster
	if !slices.Contains(d.regimes, "L1") || !slices.Contains(d.regimes, "L2") {
		pooled, where = d.regimes, strings.Join(d.regimes, "+")
	}
	var ns []int
	for _, modality := range d.modalities {
		p := Panel{Title: modalityNames[modality], Categories: c.categoriesOf(d.models), X: share("flag rate")}
		for k, kind := range kindsOfEntry {
			s := Series{Key: kind.key, Name: kind.name, Mark: Bars}
			for i, model := range d.models {
				trials := d.trials(model, modality, pooled)
				if trials == nil {
					continue
				}
				pairs := d.flagsBySeed(model, pooled, modality, kind.claim, kind.stale)
				point := iv.pooled(pairs, &stats.Range{Low: 0, High: 1})
				point.Category = i
				if kind.key == "safe" && trials.Finished > 0 {
					point.Label = probability(d.flagTest(iv.boot, model, pooled, modality))
				}
				if point.Trials = trials; k == 0 || trials.Finished == 0 {
					point.count(trials) // once a model: its kinds of entries are of the same trials
				}
				if len(pairs) > 0 {
					ns = append(ns, len(pairs))
				}
				s.Points = append(s.Points, point)
			}
			p.Series = append(p.Series, s)
		}
		f.Panels = append(f.Panels, p)
	}
	f.Across = len(f.Panels)
	if len(f.Panels) > 0 {
		entries := where + ". "
		if len(ns) > 0 {
			entries = fmt.Sprintf("%s, entries of %s together. ", where, spread("seed", ns))
		}
		f.Feet = feet(entries+iv.words(),
			"p: SAFE claims on holes against SAFE claims on safe cells, exact two-sided sign-flip test over seeds, not adjusted; as in the table flags-test.")
		f.Notes = append(f.Notes, "The test: of each seed, the flag rate of SAFE claims on holes less that of SAFE claims on safe cells, which is 0 for a model that does not see the lake; exact two-sided sign-flip test over the seeds that have lost no detection. An entry without an answer counts as not flagged.")
	}
	d.finish(c, &f, pooled, beside, "A seed that has lost one is in no test.")
	return f
}

// flagsBySeed returns the flags of one kind of entry, seed by seed, over
// several regimes.
func (d *detections) flagsBySeed(model string, regimes []string, modality string, claim, stale int) []pair {
	bySeed := d.flags(model, regimes, modality, claim, stale)
	var out []pair
	for _, seed := range slices.Sorted(maps.Keys(bySeed)) {
		out = append(out, bySeed[seed])
	}
	return out
}

func (d *detections) flags(model string, regimes []string, modality string, claim, stale int) map[int]pair {
	out := make(map[int]pair)
	for _, regime := range regimes {
		for seed, t := range d.at(model, regime, modality) {
			if t.finished == 0 {
				continue
			}
			p := out[seed]
			p.plus(pair{t.flags[claim][stale].flagged, t.flags[claim][stale].entries})
			out[seed] = p
		}
	}
	return out
}

// flagTest returns the p of the table flags-test: whether false SAFE claims are
// flagged more often than true ones. A seed that has lost a detection is in no
// test.
func (d *detections) flagTest(boot *record.Bootstrap, model string, regimes []string, modality string) *float64 {
	seeds := make(map[int][]*detectionTally)
	for _, regime := range regimes {
		for seed, t := range d.at(model, regime, modality) {
			seeds[seed] = append(seeds[seed], t)
		}
	}
	var p paired
	p.pairFlags(seeds)
	p.test(boot, false)
	return p.flip.P
}

// precisionRecallFigure sets precision against recall over curves of equal F1
// (paper, Figure 7).
func (c *Collector) precisionRecallFigure() Figure {
	iv := c.intervals()
	f := Figure{
		ID:    "figure-7-precision-recall",
		Title: "Precision and recall",
		Paper: "Figure 7",
		About: "Means over seeds of precision and recall of one audit; on a dotted line F1 is the same everywhere. To the upper left a model finds few of the stale entries and is right about them, to the lower right it flags much.",
		Need:  detectionNeed,
	}
	d := c.shownDetections()
	names := c.categoriesOf(d.models)
	without := 0
	var ns []int
	for _, modality := range d.modalities {
		for _, regime := range d.regimes {
			p := Panel{
				Title: regimeTitle(regime) + ", " + modalityNames[modality],
				X:     share("recall"), Y: share("precision"), Guides: isoF1(),
			}
			of := func(i int) *Trials { return d.trials(d.models[i], modality, []string{regime}) }
			p.Remarks = finishedRemark(names, of)
			for i, model := range d.models {
				s := Series{Key: fmt.Sprint(i + 1), Name: named(names[i]), Mark: Dots}
				if trials := of(i); trials != nil && trials.Finished > 0 {
					seeds := d.at(model, regime, modality)
					recall := iv.mean(bySeed(seeds, progressOfDetection, func(t *detectionTally) *float64 { return t.counts.Recall() }), 0, 1)
					precision := iv.mean(bySeed(seeds, progressOfDetection, func(t *detectionTally) *float64 { return t.counts.Precision() }), 0, 1)
					if precision.X == nil || recall.X == nil {
						without++
					} else {
						recall.Trials = trials
						recall.Y, recall.YRange = precision.X, precision.XRange
						ns = append(ns, recall.N, precision.N)
						s.Points = []Point{recall}
					}
				}
				p.Series = append(p.Series, s)
			}
			if all := d.trials("", modality, []string{regime}); all.lossy() && all.Finished == 0 {
				p.Empty, p.Remarks = all.told()+" finished", nil
			}
			f.Panels = append(f.Panels, p)
		}
	}
	f.Across = len(d.regimes)
	if len(f.Panels) > 0 {
		f.Feet = feet(meanOver(spread("seed", ns)) + "Dotted: equal F1. " + iv.words())
		f.Notes = append(f.Notes, "A seed without a flag has no precision and is left out of its mean; its recall of 0 is in the other mean.")
	}
	if without > 0 {
		f.Feet = append(f.Feet, fmt.Sprintf("Not shown: %s without a single flag, which has no precision.", countOf(without, "point")))
	}
	d.finish(c, &f, d.regimes, fmt.Sprintf(boundsElsewhere, "detection"))
	return f
}

// named is a category's name with its tag.
func named(c Category) string {
	if c.Tag == "" {
		return c.Name
	}
	return c.Name + " (" + c.Tag + ")"
}

// isoF1 returns curves on which F1 is 0.2, 0.4, 0.6 and 0.8, from the top down.
func isoF1() []Guide {
	var out []Guide
	for _, f1 := range []float64{0.2, 0.4, 0.6, 0.8} {
		g := Guide{Label: fmt.Sprintf("%.1f", f1)}
		const pieces = 40
		least := f1 / (2 - f1) // the other side is 1
		for i := range pieces + 1 {
			recall := least + (1-least)*float64(i)/pieces
			g.Line = append(g.Line, [2]float64{recall, min(1, f1*recall/(2*recall-f1))})
		}
		out = append(out, g)
	}
	return out
}

// directionFigure is recall of changes that make a cell deadly and of those
// that make it safe (paper, Figure 8).
func (c *Collector) directionFigure() Figure {
	iv := c.intervals()
	f := Figure{
		ID:    "figure-8-directions",
		Title: "Recall by direction of change",
		Paper: "Figure 8",
		About: "thaw: the entry says SAFE and the cell has become a hole; freeze: it says DANGER and the hole is gone. The share of such entries that the model calls stale.",
		Need:  "detections with stale entries: spatialstale run --task detect",
	}
	d := c.shownDetections()
	directions := []kindOfEntry{{"thaw", "thaw (SAFE, now a hole)", saysSafe, 1}, {"freeze", "freeze (DANGER, now safe)", saysDanger, 1}}
	for _, modality := range d.modalities {
		for _, regime := range d.regimes {
			p := Panel{Title: regimeTitle(regime) + ", " + modalityNames[modality], Categories: c.categoriesOf(d.models), X: share("recall")}
			for _, direction := range directions {
				s := Series{Key: direction.key, Name: direction.name, Mark: Bars}
				for i, model := range d.models {
					trials := d.trials(model, modality, []string{regime})
					if trials == nil {
						continue
					}
					point := iv.pooled(d.flagsBySeed(model, []string{regime}, modality, direction.claim, 1), &stats.Range{Low: 0, High: 1})
					point.Category = i
					if trials.Finished > 0 {
						point.Label = fmt.Sprintf("n = %s", thousands(point.N))
					}
					point.count(trials)
					s.Points = append(s.Points, point)
				}
				p.Series = append(p.Series, s)
			}
			f.Panels = append(f.Panels, p)
		}
	}
	f.Across = len(d.regimes)
	if len(f.Panels) > 0 {
		f.Feet = feet("n: stale entries of that direction, of all seeds (L3: of all audits). " + iv.words())
	}
	d.finish(c, &f, d.regimes, beside)
	return f
}
