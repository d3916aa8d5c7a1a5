package analysis

import (
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// An ourSide is what stands beside a published figure. It is made of the seeds
// that have lost no trial of any of the figure's cells, so that a difference is
// that of the tables of tests.
type ourSide struct {
	model    string // of ours; empty where the figure is of no single model
	value    Cell   // a mean over seeds has its SD
	interval Cell
	said     string // ours where it is no number

	whole, planned int    // the seeds that it is made of, and those that all cells plan; 0 where no trials are behind it
	bound                 // what the lost trials could make of the value; nil where nothing is lost, or where no bound is known
	setting        bool   // fixed before any trial: it is the published one or is not
	note           string // what is to be known of ours, above all why there is none
}

// A measure says in words what a published figure measures, and makes ours.
type measure struct {
	words    string
	decimals int
	ours     func(e *estimator) ourSide
}

// shares and differences are the ranges that measures have.
var (
	shares      = stats.Range{Low: 0, High: 1}
	differences = stats.Range{Low: -1, High: 1}
)

// measures are those of data/paper.yaml.
var measures = map[string]measure{
	"stale-share":       {"stale share", 3, (*estimator).staleShare},
	"stale-share-least": {"stale share, least seed", 3, staleExtreme(slices.Min)},
	"stale-share-most":  {"stale share, greatest seed", 3, staleExtreme(slices.Max)},

	"step-budget": {"step budget", 0, func(*estimator) ourSide {
		g := sure(lake.New(publishedSide, publishedSide))
		return settingOfOurs(float64(g.StepBudget()))
	}},
	"reward-success": {"reward of success", 0, rewardOf(record.Success)},
	"reward-death":   {"reward of death", 0, rewardOf(record.Death)},
	"reward-timeout": {"reward of timeout", 0, rewardOf(record.Timeout)},
	"alpha": {"α of the tests", 3, func(*estimator) ourSide {
		o := settingOfOurs(PaperAlpha)
		o.note = "the level at which Wilcoxon’s test is marked; the tests’ own is declared in the study"
		return o
	}},

	"f1": {"F1", 3, func(e *estimator) ourSide { return e.mean(e.f1(e.f, e.f.Modality)) }},
	"f1-vision-less-text": {"F1, vision − text", 3, func(e *estimator) ourSide {
		return e.difference(e.f1(e.f, record.Vision), e.f1(e.f, record.Text))
	}},
	"best-over-worst-f1": {"F1, best model over worst", 1, (*estimator).bestOverWorst},
	"recall-text-over-vision": {"recall, text over vision", 1, func(e *estimator) ourSide {
		return e.bothModalities(func(d *detectionTally) []term { return []term{termOf(recallOf(d))} }, func(sums []term) *float64 {
			n := len(sums) / 2
			return quotientOf(together(sums[:n]).value(), together(sums[n:]).value())
		}, nil)
	}},
	"precision-pooled": {"precision, all entries", 3, func(e *estimator) ourSide {
		return e.pooled(func(d *detectionTally) pair { return pair{d.counts.TP, d.counts.TP + d.counts.FP} })
	}},
	"recall-pooled": {"recall, all entries", 3, func(e *estimator) ourSide { return e.pooled(recallOf) }},

	"success": {"success", 3, func(e *estimator) ourSide { return e.mean(e.rates(e.f.Strategy, endSuccess)) }},
	"death":   {"death", 3, func(e *estimator) ourSide { return e.mean(e.rates(e.f.Strategy, endDeath)) }},
	"timeout": {"timeout", 3, func(e *estimator) ourSide { return e.mean(e.rates(e.f.Strategy, endTimeout)) }},
	"success-difference": {"success, difference", 3, func(e *estimator) ourSide {
		return e.difference(e.rates(e.f.Strategy, endSuccess), e.rates(e.f.Against, endSuccess))
	}},
	"success-difference-size": {"success, size of difference", 3, func(e *estimator) ourSide {
		return e.difference(e.rates(e.f.Strategy, endSuccess), e.rates(e.f.Against, endSuccess)).size()
	}},
	"death-reduction": {"deaths avoided, relative", 2, func(e *estimator) ourSide {
		return e.deaths(func(rate, against float64) float64 { return 1 - rate/against })
	}},
	"deaths-over": {"deaths, ratio", 1, func(e *estimator) ourSide {
		return e.deaths(func(rate, against float64) float64 { return rate / against })
	}},
	"success-greatest": {"success, greatest", 3, (*estimator).greatestSuccess},

	"steps-death":           {"steps to death", 1, func(e *estimator) ourSide { return e.steps(e.f.Strategy, endDeath) }},
	"steps-success":         {"steps to success", 1, func(e *estimator) ourSide { return e.steps(e.f.Strategy, endSuccess) }},
	"deaths-within":         {"share of deaths", 3, (*estimator).deathsWithin},
	"success-length-spread": {"steps to success, spread", 1, (*estimator).lengthSpread},

	"pearson-f1-success": {"Pearson of F1 and success", 3, func(e *estimator) ourSide {
		return e.correlation(func(x, y []float64) stats.CorrelationResult {
			return sure(stats.Pearson(x, y, stats.CorrelationOptions{}))
		})
	}},
	"spearman-f1-success-size": {"Spearman of them, its size", 3, func(e *estimator) ourSide {
		return e.correlation(func(x, y []float64) stats.CorrelationResult {
			return sure(stats.Spearman(x, y, stats.CorrelationOptions{}))
		}).size()
	}},
	"f1-of-runs-with-stale-deaths": {"F1 where stale cells kill", 3, (*estimator).f1OfStaleDeaths},

	"flag-rate-safe-deadly": {"flag rate, SAFE on hole", 3, func(e *estimator) ourSide { return e.pooled(flagsOf(saysSafe, 1)) }},
	"flag-rate-safe-safe":   {"flag rate, SAFE on safe", 3, func(e *estimator) ourSide { return e.pooled(flagsOf(saysSafe, 0)) }},
	"recall-thaw":           {"recall, thaw", 3, func(e *estimator) ourSide { return e.pooled(flagsOf(saysSafe, 1)) }},
	"recall-freeze":         {"recall, freeze", 3, func(e *estimator) ourSide { return e.pooled(flagsOf(saysDanger, 1)) }},
	"recall-thaw-less-freeze": {"recall, thaw − freeze", 3, func(e *estimator) ourSide {
		cells := e.detections(e.f, e.f.Modality)
		return e.sums(units(cells, progressOfDetection, func(seed []*detectionTally) []term {
			var thaw, freeze pair
			for _, d := range seed {
				thaw.plus(flagsOf(saysSafe, 1)(d))
				freeze.plus(flagsOf(saysDanger, 1)(d))
			}
			return []term{termOf(thaw), termOf(freeze)}
		}), func(sums []term) *float64 { return less(sums[0].value(), sums[1].value()) }, &differences)
	}},
	"missed-thaw":   {"missed entries, thaw", 3, func(e *estimator) ourSide { return e.missed(saysSafe) }},
	"missed-freeze": {"missed entries, freeze", 3, func(e *estimator) ourSide { return e.missed(saysDanger) }},

	"batch-f1": {"F1", 3, func(e *estimator) ourSide { return e.mean(e.f1(e.f, e.f.Modality)) }},
	"batch-f1-difference": {"F1, difference", 3, func(e *estimator) ourSide {
		base := *e.f
		base.Batch = e.f.BaseBatch
		return e.difference(e.f1(e.f, e.f.Modality), e.f1(&base, e.f.Modality))
	}},
	"batch-calls": {"calls an audit", 0, func(e *estimator) ourSide {
		o := e.sums(units(e.detections(e.f, e.f.Modality), progressOfDetection, func(seed []*detectionTally) []term {
			return []term{termOf(pair{seed[0].asking.calls, seed[0].asking.audits})}
		}), func(sums []term) *float64 { return sums[0].value() }, nil)
		// Set by the batch, but for calls that are asked once more.
		o.setting, o.interval = true, Cell{}
		return o
	}},
	"binary-f1": {"F1, yes or no", 3, func(e *estimator) ourSide { return e.mean(e.f1(e.f, e.f.Modality)) }},
	"score-f1": {"F1 by score, from", 3, func(e *estimator) ourSide {
		k := slices.Index(thresholds[:], e.f.Threshold)
		return e.mean(averaged(e.detections(e.f, e.f.Modality), func(d *detectionTally) seedValue {
			if d.scores == nil {
				return seedValue{bound: anyShare(), lost: d.lost() > 0}
			}
			return d.value(func(record.Counts) *float64 { return d.scores.at[k].F1() })
		}))
	}},
	"stale-at-score": {"truly stale, score", 2, func(e *estimator) ourSide {
		return e.pooled(func(d *detectionTally) pair {
			if d.scores == nil {
				return pair{}
			}
			b := d.scores.bins[binOf(e.f.Threshold)]
			return pair{b.stale, b.entries}
		})
	}},

	"refusals": {"refusals", 3, func(e *estimator) ourSide { return e.pooled(func(d *detectionTally) pair { return d.told.refused }) }},
	"hedging":  {"reasons that hedge", 3, func(e *estimator) ourSide { return e.pooled(func(d *detectionTally) pair { return d.told.hedged }) }},
	"certain":  {"verdicts with confidence 1", 3, func(e *estimator) ourSide { return e.pooled(func(d *detectionTally) pair { return d.told.certain }) }},

	"trace-stale-entries": {"trace: stale entries", 0, (*estimator).traceStale},
	"trace":               {"trace", 0, (*estimator).trace},
	"tokens-16x16": {"tokens of 16×16", 0, func(*estimator) ourSide {
		return ourSide{note: "records count the tokens of whole prompts, not those of the observation in them"}
	}},
}

// An estimator makes ours of one figure.
type estimator struct {
	c     *Collector
	f     *figure
	model string            // of ours
	boot  *record.Bootstrap // nil for a value alone
}

// besidePaper makes ours of a figure, from the first of the run's models that is
// the figure's and has its cells.
func (c *Collector) besidePaper(f *figure, boot *record.Bootstrap) ourSide {
	ours := measures[f.Measure].ours
	if f.Model == "" {
		return ours(&estimator{c: c, f: f, boot: boot})
	}
	o := ourSide{note: "the run has no model of this name"}
	for _, model := range c.models() {
		switch {
		case !f.of(model):
			continue
		case c.rehearsed(model):
			if o.model == "" {
				o.note = "a built-in control answered in its name"
			}
			continue
		}
		next := ours(&estimator{c, f, model, boot})
		next.model = model
		if o.model == "" || o.planned == 0 && next.planned > 0 {
			o = next
		}
	}
	return o
}

// named are the run's models that are no controls: those that a figure without a
// model is of.
func (c *Collector) named() []string {
	return slices.DeleteFunc(c.models(), func(m string) bool { return strings.HasPrefix(m, controlPrefix) || c.rehearsed(m) })
}

// as is the same figure of another model or strategy, for its value alone.
func (e *estimator) as(model, strategy string) *estimator {
	f := *e.f
	f.Strategy = strategy
	return &estimator{c: e.c, f: &f, model: model}
}

// Why there is no value.
const (
	noCell     = "the run plans no seed in all of its cells"
	noWhole    = "every seed has lost a trial of it"
	notDefined = "undefined on these seeds"
)

// ruledOut reports whether the value, which is of the whole seeds, lies outside
// of what all planned seeds can give.
func (o *ourSide) ruledOut() bool {
	return o.value.Value != nil && o.excludes(*o.value.Value)
}

// explained says why a value is undefined, unless that has been said.
func (o ourSide) explained() ourSide {
	if o.ruledOut() && o.note == "" {
		o.note = "outside of what all planned seeds can give: those without losses are not like the others"
	}
	if o.value.Value != nil || o.said != "" || o.note != "" {
		return o
	}
	switch {
	case o.planned == 0:
		o.note = noCell
	case o.whole == 0:
		o.note = noWhole
	default:
		o.note = notDefined
	}
	return o
}

func settingOfOurs(x float64) ourSide { return ourSide{value: Cell{Value: &x}, setting: true} }

func rewardOf(outcome string) func(*estimator) ourSide {
	return func(*estimator) ourSide {
		t := record.Trial{Spec: record.Spec{Task: record.Navigate}, Outcome: outcome}
		return settingOfOurs(float64(*t.Reward()))
	}
}
