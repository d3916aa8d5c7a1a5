package analysis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// showAudits picks the detections of the paper's audit.
func (d *drawing) showAudits() {
	d.show(record.Detect, func(s *Setting) bool { return s.Strategy == auditStrategy })
}

// detection is F1 by model, regime and modality, with the difference that seeing
// makes (paper, Figure 3).
func (d *drawing) detection() {
	d.Figure = Figure{ID: "figure-3-detection", Title: "Detection: F1 by model, regime and modality", Topic: TopicDetection, Paper: "Figure 3", Need: needDetections,
		About: "Mean over seeds of the F1 of one audit of the whole memory (L3: of all audits of a seed together), stale being the positive class. Below: how much worse or better the same model is from images, on the same seeds, with the p of a sign-flip test."}
	d.showAudits()
	d.losses = []string{nextTo}
	models := d.byWeights()
	d.chart(chart{panels: d.by(byRegime), series: d.by(byLook), rows: models, measure: f1, axis: "F1"})
	mean := "Mean over " + spread("seed", d.seeds) + "."
	if len(d.by(byLook)) < len(record.Modalities) {
		d.foot(mean)
		d.Notes = append(d.Notes, "The difference between images and text needs detections of both: spatialstale run --task detect --modality text,vision.")
		return
	}
	rows := d.frame.modalityRows()
	for _, regime := range d.by(byRegime) {
		d.Panels = append(d.Panels, d.visionMinusText(regime, models, rows))
	}
	d.foot(mean)
	d.Feet = append(d.Feet, "p: exact two-sided sign-flip test over the seeds’ differences, of each model and regime by itself, not adjusted; as in the table vision-text.")
	d.Notes = append(d.Notes, "images − text: of each seed that has lost neither detection, F1 from images minus F1 from text. Intervals and p are those of the table vision-text, which has Holm’s adjustment and the paper’s test too.")
}

// weights say by a model's name in small letters whether anybody can run its
// weights: closed are families that their vendors alone serve; open are servers of
// one's own, families whose weights are published, and names with a number of
// parameters, as in 8b. What fits neither is unknown. Figure 3 has its groups in
// this order, and the first that fits counts.
var weights = []struct {
	group string
	names *regexp.Regexp
}{
	{"closed models", regexp.MustCompile(`^(anthropic|zai|openai/azure)/|/(gpt-\d|chatgpt|o\d|claude|gemini)|/qwen[-.\w]*-(plus|max|turbo|flash)`)},
	{"open models", regexp.MustCompile(`^(vllm|llamacpp|ollama)/|/(internvl|llama|gemma|mistral|ministral|pixtral|molmo|llava|deepseek|phi-|gpt-oss)|[-:_]\d+(\.\d+)?b\b`)},
	{"models not known to be closed or open", regexp.MustCompile(``)},
	{"controls", nil},
}

// weightsOf is a model's place among them.
func weightsOf(model string) int {
	i := 0
	for i < len(weights)-1 && (isControl(model) || !weights[i].names.MatchString(strings.ToLower(model))) {
		i++
	}
	return i
}

// byWeights has models in groups, and says so where there are several.
func (d *drawing) byWeights() []facet {
	models := d.byModel()
	slices.SortStableFunc(models, func(a, b facet) int { return weightsOf(a.key) - weightsOf(b.key) })
	if n := len(models); n > 0 && weightsOf(models[0].key) != weightsOf(models[n-1].key) {
		for i := range models {
			models[i].group = weights[weightsOf(models[i].key)].group
		}
		d.Notes = append(d.Notes, "Closed or open is told by a model’s name: closed are families that their vendors alone serve, open those whose weights anybody can run.")
	}
	return models
}

// visionMinusText is a regime's panel of differences, with a dot for each model:
// the rows of the table vision-text.
func (d *drawing) visionMinusText(regime facet, models []facet, rows []*versus) Panel {
	p := Panel{Title: regime.name + ": images − text", Categories: categories(models), X: Axis{"difference of F1", -1, 1},
		Guides: []Guide{{Line: [][2]float64{{0, 0}, {0, 1}}}}, Series: []Series{{Key: "difference", Mark: Dots}}}
	for _, row := range rows {
		if !regime.has(&row.Setting) || !slices.ContainsFunc(d.groups, func(g *Group) bool { return g.Setting == row.Setting }) {
			continue
		}
		cell := row.differenceCell()
		point := Point{Category: slices.IndexFunc(models, func(k facet) bool { return k.has(&row.Setting) }), X: cell.Value, N: cell.N, XBounds: row.bounds()}
		if point.X != nil {
			point.XRange, point.Label = d.interval(row.boot, nil), probability(row.flip.P)
		}
		point.count(&Trials{Finished: len(row.pairs), Planned: row.shared}, true)
		p.Series[0].Points = append(p.Series[0].Points, point)
	}
	return p
}

// flagRates are how often entries are called stale, by claim and truth (paper,
// Figure 4).
func (d *drawing) flagRates() {
	d.Figure = Figure{ID: "figure-4-flags", Title: "Flag rate, by what the entry claims and what the cell is", Topic: TopicDetection, Paper: "Figure 4", Need: needDetections,
		About: "The share of entries that the model calls stale, by what the entry claims and what its cell is now, L1 and L2 together. A model that sees the lake flags the two stale kinds and leaves the others; one that does not flags all alike."}
	d.showAudits()
	has := func(regime string) bool { return hasRegime(d.groups, regime) }
	if has("L1") && has("L2") {
		d.keep(func(s *Setting) bool { return slices.Contains(spotAndCluster, s.Regime) })
	}
	d.losses = []string{nextTo, "A seed counts by what is left of it."}
	d.chart(chart{panels: d.by(byLook), rows: d.byModel(), axis: "flag rate", pooled: true, once: true,
		series: []facet{
			{key: "thaw", name: "SAFE, hole (stale)", measure: safeDeadly}, {key: "safe", name: "SAFE, safe", measure: safeSafe},
			{key: "freeze", name: "DANGER, safe (stale)", measure: dangerSafe}, {key: "danger", name: "DANGER, hole", measure: dangerDeadly},
		},
		label: func(g *Group, kind *facet, _ *Point) string {
			if kind.measure != safeSafe {
				return ""
			}
			p := pairGroups(g, g, safeSafe, safeDeadly, [2]string{})
			p.test(d.boot, false)
			return probability(p.flip.P)
		}})
	d.foot(strings.Join(keys(d.by(byRegime)), "+") + ", entries of " + spread("seed", d.seeds) + " together.")
	d.Feet = append(d.Feet, "p: SAFE claims on holes against SAFE claims on safe cells, exact two-sided sign-flip test over seeds, not adjusted; as in the table flags-test.")
	d.Notes = []string{"The test: of each seed, the flag rate of SAFE claims on holes minus that of SAFE claims on safe cells, which is 0 for a model that does not see the lake; exact two-sided sign-flip test over seeds. " + noteUnanswered}
}

// precisionRecall sets precision against recall over curves of equal F1 (paper,
// Figure 7).
func (d *drawing) precisionRecall() {
	d.Figure = Figure{ID: "figure-7-precision-recall", Title: "Precision and recall", Topic: TopicDetection, Paper: "Figure 7", Need: needDetections,
		About: "Means over seeds of precision and recall of one audit; on a dotted line F1 is the same everywhere. To the upper left a model finds few of the stale entries and is right about them, to the lower right it flags much."}
	d.showAudits()
	d.losses = []string{"What they could change: table bounds-detection."}
	without := 0
	d.plane(Panel{X: Axis{"recall", 0, 1}, Y: Axis{"precision", 0, 1}, Guides: isoF1()}, Dots, crossed(d.by(byLook), d.by(byRegime)), numbered(d.byModel()), func(g *Group, _ *Panel) []Point {
		p, y := d.point(g, recall, false), d.point(g, precision, false)
		if p.X == nil || y.X == nil {
			without++
			return nil
		}
		p.Trials, p.Y, p.YRange, p.XBounds = trialsOf(g), y.X, y.XRange, nil // bounds of one axis alone would mislead
		return []Point{p}
	})
	d.Across = len(d.by(byRegime))
	d.foot("Mean over " + spread("seed", d.seeds) + ". Dotted: equal F1.")
	d.Notes = []string{"A seed without a flag has no precision and is left out of its mean; its recall of 0 is in the other mean."}
	if without > 0 {
		d.Feet = append(d.Feet, fmt.Sprintf("Not shown: %s without a single flag, which has no precision.", countOf(without, "point")))
	}
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

// directions are recall of changes that make a cell deadly and of those that make
// it safe (paper, Figure 8).
func (d *drawing) directions() {
	d.Figure = Figure{ID: "figure-8-directions", Title: "Recall by direction of change", Topic: TopicDetection, Paper: "Figure 8", Need: "detections with stale entries: spatialstale run --task detect",
		About: "thaw: the entry says SAFE and the cell has become a hole; freeze: it says DANGER and the hole is gone. The share of such entries that the model calls stale."}
	d.showAudits()
	d.losses = []string{nextTo}
	d.chart(chart{panels: crossed(d.by(byLook), d.by(byRegime)), rows: d.byModel(), axis: "recall", pooled: true, label: labelN,
		series: []facet{{key: "thaw", name: "thaw (SAFE, now a hole)", measure: recallThaw}, {key: "freeze", name: "freeze (DANGER, now safe)", measure: recallFreeze}}})
	d.Across = len(d.by(byRegime))
	d.foot("n: stale entries of that direction, of all seeds (L3: of all audits).")
}
