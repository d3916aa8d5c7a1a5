package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// listedTrials bounds the trials that a page lists one by one.
const listedTrials = 20_000

// Trials is the outline of a report's trials: how many there are of each
// setting, how they ended, and which ones a page replays. Its zero value is
// empty and ready for use. It keeps a line of the first 20,000 trials and a few
// integers of every setting, whatever the size of the run.
type Trials struct {
	settings map[trialSetting]*trialGroup
	places   places
	lines    int
	choice   chooser
}

// A trialSetting is everything that the trials of one list have in common.
type trialSetting struct {
	run, task, model, modality, regime, strategy, framing string
	batch, rows, cols                                     int
}

func trialSettingOf(run string, s *record.Spec) trialSetting {
	return trialSetting{run, s.Task, s.Model, s.Modality, s.Regime, s.Strategy, s.Framing, s.Batch, s.Rows, s.Cols}
}

// A trialGroup is the trials of one setting.
type trialGroup struct {
	trialSetting
	planned  int
	outcomes map[string]int
	lines    []trialLine // the first of them
}

// ended returns the number of trials of which there is a record.
func (g *trialGroup) ended() int {
	n := 0
	for _, k := range g.outcomes {
		n += k
	}
	return n
}

// A trialLine is one trial in a list.
type trialLine struct {
	key           string
	seed, episode int
	outcome       string
	steps         int
	cause         string
	counts        record.Counts
}

// Expect announces a trial of a run's plan. Lists follow the order in which
// the plan names things.
func (t *Trials) Expect(run string, s *record.Spec) {
	t.group(trialSettingOf(run, s)).planned++
}

// Add adds a finished or failed trial. Trials of a run come in its plan's
// order, which decides what is replayed.
func (t *Trials) Add(run string, trial *record.Trial) {
	g := t.group(trialSettingOf(run, &trial.Spec))
	g.outcomes[trial.Outcome]++
	t.choice.add(g.trialSetting, trial)
	if t.lines == listedTrials {
		return
	}
	t.lines++
	l := trialLine{
		key: trial.Key, seed: trial.Seed, episode: trial.Episode,
		outcome: trial.Outcome, steps: len(trial.Steps), counts: trial.Counts,
	}
	if trial.Death != nil {
		l.cause = trial.Death.Cause
	}
	g.lines = append(g.lines, l)
}

// Chosen returns the keys of the trials that a page replays unless it is told
// to replay all, the most telling first.
func (t *Trials) Chosen() []string { return t.choice.keys() }

func (t *Trials) group(s trialSetting) *trialGroup {
	if g := t.settings[s]; g != nil {
		return g
	}
	if t.settings == nil {
		t.settings = map[trialSetting]*trialGroup{}
	}
	g := &trialGroup{trialSetting: s, outcomes: map[string]int{}}
	t.settings[s] = g
	t.places.add(s)
	return g
}

// planned and ended count all trials.
func (t *Trials) planned() (n int) {
	for _, g := range t.settings {
		n += g.planned
	}
	return n
}

func (t *Trials) outcome(outcome string) (n int) {
	for _, g := range t.settings {
		n += g.outcomes[outcome]
	}
	return n
}

func (t *Trials) ended() (n int) {
	for _, g := range t.settings {
		n += g.ended()
	}
	return n
}

// groups returns all groups: by run, task, model, modality, regime and
// strategy, each in the order in which the plan first names it.
func (t *Trials) groups() []*trialGroup {
	out := make([]*trialGroup, 0, len(t.settings))
	for _, g := range t.settings {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b *trialGroup) int { return t.places.compare(a.trialSetting, b.trialSetting) })
	return out
}

// A places remembers in which order names came.
type places struct {
	runs, tasks, models, modalities, regimes, framings []string
	strategies                                         []string // with their task: detectors come in an order of their own
}

func (p *places) add(s trialSetting) {
	for _, one := range []struct {
		list *[]string
		name string
	}{
		{&p.runs, s.run}, {&p.tasks, s.task}, {&p.models, s.model}, {&p.modalities, s.modality},
		{&p.regimes, s.regime}, {&p.strategies, s.task + " " + s.strategy}, {&p.framings, s.framing},
	} {
		if !slices.Contains(*one.list, one.name) {
			*one.list = append(*one.list, one.name)
		}
	}
}

func (p *places) compare(a, b trialSetting) int {
	by := func(list []string, x, y string) int { return cmp.Compare(slices.Index(list, x), slices.Index(list, y)) }
	return cmp.Or(
		by(p.tasks, a.task, b.task), by(p.models, a.model, b.model), by(p.modalities, a.modality, b.modality),
		cmp.Compare(a.rows*a.cols, b.rows*b.cols), cmp.Compare(a.rows, b.rows),
		strings.Compare(a.regime, b.regime), by(p.strategies, a.task+" "+a.strategy, b.task+" "+b.strategy),
		cmp.Compare(a.batch, b.batch), by(p.framings, a.framing, b.framing), by(p.runs, a.run, b.run))
}
