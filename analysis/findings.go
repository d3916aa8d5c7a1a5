package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// Summary returns what the runs come to, in plain sentences: the models before
// the controls, and of each the strongest contrast first.
func (f *Frame) Summary() Summary {
	f.finish()
	var s Summary
	var titles []string
	for i := range f.runs {
		if f.runs[i].title != "" {
			addNew(&titles, f.runs[i].title)
		}
	}
	s.Title = joined(titles)
	models := f.models()
	slices.SortStableFunc(models, func(a, b string) int { return index(isControl(a)) - index(isControl(b)) })
	tests := f.tests()
	rows := f.contrasted(&tests, func(v *versus) bool { return asks(v.contrast) != "" && v.measure.key == record.Death })
	var contrasts []contrastFinding
	for _, m := range models {
		for _, h := range headlines {
			if c, ok := f.contrastFinding(m, h.Contrast, rows); ok {
				contrasts = append(contrasts, c)
			}
		}
	}
	slices.SortStableFunc(contrasts, func(a, b contrastFinding) int { return cmp.Compare(b.size, a.size) })
	for _, control := range []bool{false, true} {
		for _, c := range contrasts {
			if c.control == control {
				s.Findings = append(s.Findings, Finding{Text: c.text, Control: control, Table: "contrasts"})
			}
		}
		for _, m := range models {
			if text := f.detectionFinding(m, &tests); text != "" && f.standsIn(m) == control {
				s.Findings = append(s.Findings, Finding{Text: text, Control: control, Table: "detection"})
			}
		}
	}
	for _, task := range []string{record.Detect, record.Navigate} {
		groups := f.grouped(nil, func(s *Setting) bool { return s.Task == task }, nil)
		if p := progressOf(groups...); p.lost() > 0 {
			s.Lost = append(s.Lost, fmt.Sprintf("%s of %s planned %s have no result: %s failed, %s have no record. Every table says what that could change.",
				thousands(p.lost()), thousands(p.planned()), unitsOfTasks[task], thousands(p.failed), thousands(p.missing)))
		}
	}
	s.Lost = append(s.Lost, f.runWarnings()...)
	s.Names = f.shortened(models, func(short string) bool {
		return slices.ContainsFunc(s.Findings, func(f Finding) bool { return strings.Contains(f.Text, short) }) ||
			slices.ContainsFunc(s.Lost, func(text string) bool { return strings.Contains(text, short) })
	})
	return s
}

// silent warns of models that answered nothing at all, whose scores of 0 say
// nothing of what they see.
func (f *Frame) silent() []string {
	var out []string
	for _, m := range f.models() {
		judged, unanswered, own, all := 0, 0, 0, 0
		for _, g := range f.grouped(nil, func(s *Setting) bool { return s.Model == m }, nil) {
			judged += g.sum(func(r *Row) int { return r.counts.Judged() * index(r.calls > 0) })
			unanswered += g.sum(func(r *Row) int { return r.counts.Unanswered * index(r.calls > 0) })
			own += g.sum(func(r *Row) int { return int(r.steps - r.fallbacks) })
			all += g.sum(func(r *Row) int { return int(r.steps) })
		}
		if judged > 0 && unanswered == judged {
			out = append(out, fmt.Sprintf("%s answered nothing: none of the %s entries that it was asked about has a verdict. Its scores of 0 say nothing about what it sees; spatialstale trace shows its replies.", f.shown(m), thousands(judged)))
		}
		if all > 0 && own == 0 {
			out = append(out, fmt.Sprintf("%s chose no step: all of its %s steps are the blind fallback’s, and so are the ends of its episodes.", f.shown(m), thousands(all)))
		}
	}
	return out
}

// standsIn reports whether what answers as a model is a built-in control.
func (f *Frame) standsIn(model string) bool { return isControl(model) || f.rehearsed(model) }

// A contrastFinding is a sentence, and how large the difference in it is.
type contrastFinding struct {
	text    string
	size    float64
	control bool
}

// points writes a difference of shares in percentage points.
func points(x float64) string {
	text := fmt.Sprintf("%.0f", math.Abs(100*x))
	if x < 0 && text != "0" {
		return "−" + text
	}
	return text
}

// contrastFinding says what a contrast does to a model's deaths: where it is
// strongest, with its interval, and then elsewhere.
func (f *Frame) contrastFinding(model string, c record.Contrast, rows []*versus) (contrastFinding, bool) {
	var own []*versus
	for _, v := range rows {
		if v.Model == model && v.contrast == c && v.measure.key == record.Death && len(v.differences) > 0 {
			own = append(own, v)
		}
	}
	if len(own) == 0 {
		return contrastFinding{}, false
	}
	size := func(v *versus) float64 { return math.Abs(stats.Mean(v.differences)) }
	slices.SortStableFunc(own, func(a, b *versus) int { return cmp.Compare(size(b), size(a)) })
	top := own[0]
	d := stats.Mean(top.differences)
	interval, clear := "", false
	if in := top.boot.Interval; in != nil {
		interval = fmt.Sprintf(" [%g%% interval %s to %s]", 100*in.Level, points(in.Low), points(in.High))
		clear = in.Low > 0 || in.High < 0
	}
	first, second := record.Strategies.Label(c.A), record.Strategies.Label(c.B)
	var text string
	switch {
	case !clear:
		text = fmt.Sprintf("%s: no clear difference in deaths between %s and %s: %s points in %s%s", f.shown(model), first, second, points(d), f.whereOf(top), interval)
	default:
		what := first + " dies more than " + second
		switch {
		case c == headlines[0].Contrast && d > 0:
			what = "stale memory kills"
		case c == headlines[1].Contrast && d < 0:
			what = "the audit saves it"
		case d < 0:
			what = first + " dies less than " + second
		}
		text = fmt.Sprintf("%s: %s. In %s it dies in %.0f%% of episodes under %s, %.0f%% under %s: %s points%s%s",
			f.shown(model), what, f.whereOf(top), 100**top.mean(sideB).Value, first, 100**top.mean(sideA).Value, second, points(d), interval, starWords(top))
	}
	var elsewhere []string
	for _, v := range own[1:] {
		elsewhere = append(elsewhere, points(stats.Mean(v.differences))+" in "+f.whereOf(v))
	}
	if len(elsewhere) > 0 && len(elsewhere) <= 4 {
		text += "; " + strings.Join(elsewhere, ", ")
	}
	return contrastFinding{text + ".", size(top), f.standsIn(model)}, true
}

// starWords say whether a difference holds in its family of tests.
func starWords(v *versus) string {
	switch {
	case v.holm == nil:
		return ""
	case *v.holm > v.alpha:
		return fmt.Sprintf(", not significant among %s", countOf(v.familySize, "test"))
	case v.overturn:
		return ", significant unless lost trials differ"
	}
	return ", " + strings.Replace(probability(v.holm), "p", "Holm p", 1)
}

// whereOf says in short where a row holds: what sets it apart from others.
func (f *Frame) whereOf(v *versus) string {
	words := []string{v.Regime}
	for _, d := range []dim{byModality, byFraming, bySize, byBatch, byCondition} {
		same := true
		for s := range f.groups {
			if s.Task == record.Navigate && s.Model == v.Model && (d.Key != byBatch.Key || s.Strategy == auditStrategy) {
				o := s
				if d.Key == byBatch.Key {
					same = same && o.Batch == v.Batch || v.contrast.A != auditStrategy
				} else {
					same = same && d.cell(f, &o).Label == d.cell(f, &v.Setting).Label
				}
			}
		}
		if same {
			continue
		}
		cell := d.cell(f, &v.Setting)
		switch d.Key {
		case byModality.Key:
			words = append(words, record.Modalities.Legend(v.Modality))
		case byBatch.Key:
			words = append(words, "B="+cell.Label)
		default:
			words = append(words, cell.Display())
		}
	}
	return strings.Join(words, ", ")
}

// detectionFinding says how well a model finds stale entries: F1 of the paper's
// audit by modality, the mean over the regimes of each seed.
func (f *Frame) detectionFinding(model string, tests *record.Tests) string {
	var parts []string
	var regimes []string
	for _, modality := range record.Modalities.Names() {
		groups := f.grouped([]dim{byRegime}, func(s *Setting) bool {
			return s.Task == record.Detect && s.Model == model && s.Modality == modality && s.Strategy == auditStrategy && s.Batch == publishedBatch
		}, nil)
		if len(groups) == 0 {
			continue
		}
		first := groups[0].Setting
		groups = slices.DeleteFunc(groups, func(g *Group) bool { // one wording, size and condition
			s := g.Setting
			s.Regime = first.Regime
			return s != first
		})
		var xs []float64
		for _, s := range groups[0].Seeds {
			var of []*float64
			for _, g := range groups {
				v, _ := f1.seed(g, g.at(s.Seed))
				of = append(of, v)
			}
			if all := defined(of); len(all) == len(groups) {
				xs = append(xs, stats.Mean(all))
			}
		}
		for _, g := range groups {
			addNew(&regimes, g.Regime)
		}
		if len(xs) == 0 {
			continue
		}
		part := fmt.Sprintf("%.2f %s", stats.Mean(xs), record.Modalities.Legend(modality))
		if in := sure(stats.BootstrapMean(xs, bootstrapOptions(tests.Bootstrap, stats.Range{High: 1}))).Interval; in != nil {
			part += fmt.Sprintf(" [%.2f to %.2f]", in.Low, in.High)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	over := ""
	if len(regimes) > 1 {
		over = ", the mean of " + joined(regimes)
	}
	return fmt.Sprintf("%s finds stale entries with an F1 of %s%s.", f.shown(model), strings.Join(parts, " and "), over)
}
