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
// batch, wording and size.
type detections struct {
	groups                      groups[detectionTally]
	models, regimes, modalities []string
	others                      bool
}

// shownDetections picks them.
func (c *Collector) shownDetections() detections {
	var settings []setting
	for s := range c.detection {
		if s.strategy == auditStrategy {
			settings = append(settings, s)
		}
	}
	keep, others := c.principal(settings)
	d := detections{groups: make(groups[detectionTally]), others: others}
	for _, s := range settings {
		if !keep(s) || finishedIn(c.detection[s], progressOfDetection) == 0 {
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

func finishedIn[T any](seeds map[int]*T, of func(*T) *progress) int {
	n := 0
	for _, s := range seeds {
		n += of(s).finished
	}
	return n
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

// warnings says what is lost of the trials behind a figure.
func (d *detections) warnings() []string {
	var all []*detectionGroup
	for s, seeds := range d.groups {
		all = append(all, &detectionGroup{setting: s, seeds: slices.Collect(maps.Values(seeds))})
	}
	return progressWarnings(all, "detection runs", progressOfDetection)
}

// finish adds what all figures of detections say.
func (d *detections) finish(c *Collector, f *Figure) {
	f.Warnings = d.warnings()
	if d.others {
		f.Notes = append(f.Notes, otherVariants)
	}
	f.about(c, d.models)
}

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
		About: "Mean over seeds of the F1 of one audit of the whole memory (L3: of all audits of a seed together), stale being the positive class. Right: how much worse or better the same model is from images, per seed, with the p of a sign-flip test.",
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
				ns = append(ns, point.N)
				s.Points = append(s.Points, point)
			}
			p.Series = append(p.Series, s)
		}
		f.Panels = append(f.Panels, p)
	}
	f.Across = len(f.Panels)
	if slices.Contains(d.modalities, record.Text) && slices.Contains(d.modalities, record.Vision) {
		f.Panels = append(f.Panels, c.visionLessText(&d))
		f.Across++
		f.Notes = append(f.Notes, "images − text: of each seed that has both in every regime of the model, the mean over regimes of F1 from images less F1 from text; p is that of the exact two-sided sign-flip test over seeds, of each model by itself.")
	} else {
		f.Notes = append(f.Notes, "The difference between images and text needs detections of both: spatialstale run --task detect --modality text,vision.")
	}
	f.Feet = []string{"Mean over " + spread("seed", ns) + ". " + iv.words()}
	d.finish(c, &f)
	return f
}

// visionLessText is the panel of differences, a dot for each model.
func (c *Collector) visionLessText(d *detections) Panel {
	iv := c.intervals()
	p := Panel{
		Title:      "images − text",
		Categories: c.categoriesOf(d.models),
		X:          Axis{Label: "difference of F1", Min: -1, Max: 1},
		Guides:     []Guide{{Line: [][2]float64{{0, 0}, {0, 1}}}},
		Series:     []Series{{Key: "difference", Mark: Dots}},
	}
	for i, model := range d.models {
		differences := d.visionLessText(model)
		if len(differences) == 0 {
			continue
		}
		values := make([]*float64, len(differences))
		for j := range differences {
			values[j] = &differences[j]
		}
		point := iv.mean(values, -1, 1)
		point.Category = i
		point.Label = probability(signFlip(differences))
		p.Series[0].Points = append(p.Series[0].Points, point)
	}
	return p
}

// visionLessText returns the differences of the seeds that have F1 from text
// and from images in every regime that the model was run in.
func (d *detections) visionLessText(model string) []float64 {
	sums := make(map[int]float64)
	counts := make(map[int]int)
	regimes := 0
	for _, regime := range d.regimes {
		text, vision := d.at(model, regime, record.Text), d.at(model, regime, record.Vision)
		if text == nil && vision == nil {
			continue
		}
		regimes++
		for seed, t := range text {
			v := vision[seed]
			if v == nil || t.finished == 0 || v.finished == 0 {
				continue
			}
			a, b := t.counts.F1(), v.counts.F1()
			if a != nil && b != nil {
				sums[seed] += *b - *a
				counts[seed]++
			}
		}
	}
	var out []float64
	for _, seed := range slices.Sorted(maps.Keys(sums)) {
		if counts[seed] == regimes {
			out = append(out, sums[seed]/float64(regimes))
		}
	}
	return out
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
	least, most := 0, 0
	for _, modality := range d.modalities {
		p := Panel{Title: modalityNames[modality], Categories: c.categoriesOf(d.models), X: share("flag rate")}
		for _, kind := range kindsOfEntry {
			s := Series{Key: kind.key, Name: kind.name, Mark: Bars}
			for i, model := range d.models {
				pairs := d.flagsBySeed(model, pooled, modality, kind.claim, kind.stale)
				if len(pairs) == 0 {
					continue
				}
				point := iv.pooled(pairs, &stats.Range{Low: 0, High: 1})
				point.Category = i
				if kind.key == "safe" {
					point.Label = probability(signFlip(d.flagDifferences(model, pooled, modality)))
				}
				if least == 0 || len(pairs) < least {
					least = len(pairs)
				}
				most = max(most, len(pairs))
				s.Points = append(s.Points, point)
			}
			p.Series = append(p.Series, s)
		}
		f.Panels = append(f.Panels, p)
	}
	f.Across = len(f.Panels)
	if len(f.Panels) > 0 {
		f.Feet = []string{
			fmt.Sprintf("%s, entries of %s together. %s", where, spread("seed", []int{least, most}), iv.words()),
			"p: SAFE claims on holes against SAFE claims on safe cells, sign-flip test over seeds.",
		}
		f.Notes = append(f.Notes, "The test: of each seed, the flag rate of SAFE claims on holes less that of SAFE claims on safe cells, which is 0 for a model that does not see the lake; exact two-sided sign-flip test over seeds. An entry without an answer counts as not flagged.")
	}
	d.finish(c, &f)
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

// flagDifferences returns, of each seed with both, the flag rate of false SAFE
// claims less that of true ones.
func (d *detections) flagDifferences(model string, regimes []string, modality string) []float64 {
	deadly := d.flags(model, regimes, modality, saysSafe, 1)
	safe := d.flags(model, regimes, modality, saysSafe, 0)
	return rateDifferences(deadly, safe)
}

// rateDifferences returns the differences of two rates of the seeds that have
// both.
func rateDifferences(a, b map[int]pair) []float64 {
	var out []float64
	for _, seed := range slices.Sorted(maps.Keys(a)) {
		x, y := quotient(a[seed].count, a[seed].of), quotient(b[seed].count, b[seed].of)
		if x != nil && y != nil {
			out = append(out, *x-*y)
		}
	}
	return out
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
			for i, model := range d.models {
				s := Series{Key: fmt.Sprint(i + 1), Name: named(names[i]), Mark: Dots}
				if seeds := d.at(model, regime, modality); seeds != nil {
					recall := iv.mean(bySeed(seeds, progressOfDetection, func(t *detectionTally) *float64 { return t.counts.Recall() }), 0, 1)
					precision := iv.mean(bySeed(seeds, progressOfDetection, func(t *detectionTally) *float64 { return t.counts.Precision() }), 0, 1)
					if precision.X == nil || recall.X == nil {
						without++
					} else {
						recall.Y, recall.YRange = precision.X, precision.XRange
						ns = append(ns, recall.N, precision.N)
						s.Points = []Point{recall}
					}
				}
				p.Series = append(p.Series, s)
			}
			f.Panels = append(f.Panels, p)
		}
	}
	f.Across = len(d.regimes)
	if len(f.Panels) > 0 {
		f.Feet = []string{"Mean over " + spread("seed", ns) + ". Dotted: equal F1. " + iv.words()}
		f.Notes = append(f.Notes, "A seed without a flag has no precision and is left out of its mean; its recall of 0 is in the other mean.")
	}
	if without > 0 {
		f.Feet = append(f.Feet, fmt.Sprintf("Not shown: %s without a single flag, which has no precision.", countOf(without, "point")))
	}
	d.finish(c, &f)
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
					pairs := d.flagsBySeed(model, []string{regime}, modality, direction.claim, 1)
					if len(pairs) == 0 {
						continue
					}
					point := iv.pooled(pairs, &stats.Range{Low: 0, High: 1})
					point.Category = i
					point.Label = fmt.Sprintf("n = %s", thousands(point.N))
					s.Points = append(s.Points, point)
				}
				p.Series = append(p.Series, s)
			}
			f.Panels = append(f.Panels, p)
		}
	}
	f.Across = len(d.regimes)
	if len(f.Panels) > 0 {
		f.Feet = []string{"n: stale entries of that direction, of all seeds (L3: of all audits). " + iv.words()}
	}
	d.finish(c, &f)
	return f
}
