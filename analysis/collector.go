// Package analysis turns the records of a run into measures and tables: how
// much of the memory is stale, which stale entries a model finds, how its
// episodes end, how long they last and what its deaths come from, how it says
// its answers (paper, sections 3.4, 4 and 5 and appendices D to J). It stands
// between record, where producers end, and report, which draws.
//
// A Collector takes records one by one and keeps a few integers a seed, an
// instance and an episode, and an episode's way in a quarter of a byte a step,
// so that memory does not grow with windows or judgments. Sums
// are of integers, and means are taken over seeds in ascending order: the same
// records give the same bytes in whatever order they come.
//
// It refuses to guess. What is undefined (precision without a flag) stays
// undefined and is left out of means, which say how many seeds they rest on;
// failed and missing trials are in no denominator and are counted in the
// notes; contradictory records are errors; the paper's figures stand only
// beside the model that they are of. It draws nothing, reads no files but the
// lists that it carries, and calls no model.
package analysis

import (
	"fmt"
	"slices"

	"github.com/spatialstale/spatialstale/record"
)

// A Collector gathers the records of a run. Its zero value is empty and ready
// for use. It is not safe for concurrent use, and keeps nothing of what it is
// given.
type Collector struct {
	plan      appearance
	declared  []record.Tests
	instances map[instanceKey]*world
	rosters   map[digest]*roster
	detection groups[detectionTally]
	episodes  groups[episodeTally]
	replies   map[asked]*replyTally
	reader    reasonReader
	calls     map[callKey]*callTally   // those that were paid for
	pricedBy  []string                 // the dates of the lists of prices, ascending
	asked     []record.ModelInfo       // what the run says of its models
	warnings  []string                 // that concern all tables
	homes     map[setting]map[int]bool // of episodes: the studies that plan them, by the order in which they were declared
}

// groups holds a tally for each setting and seed.
type groups[T any] map[setting]map[int]*T

// A setting is everything that trials of one table row have in common. Trials
// that differ in any of it are never averaged with each other.
type setting struct {
	model, modality, regime, strategy, framing string
	batch, rows, cols                          int
}

func settingOf(s *record.Spec) setting {
	return setting{s.Model, s.Modality, s.Regime, s.Strategy, s.Framing, s.Batch, s.Rows, s.Cols}
}

// A progress counts one seed's trials of one setting.
type progress struct {
	planned, finished, failed int
	expected, seen            episodeSet
}

// missing returns the planned trials of which there is no record.
func (p *progress) missing() int { return max(0, p.planned-p.finished-p.failed) }

// lost returns the trials without a result, and all counts all of them.
func (p *progress) lost() int { return p.failed + p.missing() }
func (p *progress) all() int  { return p.finished + p.lost() }

// An episodeSet holds numbers of episodes, of which there are few.
type episodeSet struct {
	low  uint64 // 0 to 63
	more map[int]struct{}
}

// add puts a number into the set; false when it was there already.
func (s *episodeSet) add(n int) bool {
	if 0 <= n && n < 64 {
		fresh := s.low&(1<<n) == 0
		s.low |= 1 << n
		return fresh
	}
	if _, ok := s.more[n]; ok {
		return false
	}
	if s.more == nil {
		s.more = make(map[int]struct{})
	}
	s.more[n] = struct{}{}
	return true
}

// An episodeTally holds one seed's episodes of one setting.
type episodeTally struct {
	progress
	ends      [3]int // episodes by end, in the order of ends
	free      [3]int // of these, the episodes without a fallback
	steps     [3]int // the steps of all of them
	fallbacks int
	dropped   int
	deaths    deathTally
	exposure  exposureTally
	route     routeTally // of the episodes' own audits
	safety    safetyTally
	walks     []walk // in the order in which they came
}

// The ends of an episode, as indices of an episodeTally.
const (
	endSuccess = iota
	endDeath
	endTimeout
)

var ends = [3]string{record.Success, record.Death, record.Timeout}

// Expect announces a trial of the plan. The order of announcements fixes the
// order of models in the tables, and a trial that was announced and never
// added counts as missing. Without any announcement nothing is missing and
// models are sorted by name. It is an error to announce a trial twice.
func (c *Collector) Expect(spec record.Spec) error {
	p, err := c.progressOf(&spec)
	if err != nil {
		return err
	}
	if !p.expected.add(spec.Episode) {
		return fmt.Errorf("%s is planned twice, perhaps with a setting that tables cannot tell apart", describe(&spec))
	}
	c.plan.add(&spec)
	p.planned++
	if spec.Task == record.Navigate {
		c.settle(settingOf(&spec))
	}
	return nil
}

// settle keeps that the study which was declared last plans a setting.
func (c *Collector) settle(s setting) {
	if c.homes == nil {
		c.homes = make(map[setting]map[int]bool)
	}
	if c.homes[s] == nil {
		c.homes[s] = make(map[int]bool)
	}
	c.homes[s][len(c.declared)] = true
}

// describe names a trial in errors.
func describe(s *record.Spec) string {
	return fmt.Sprintf("trial %s (%s, %s, %s, regime %s, seed %d, strategy %s, episode %d)",
		s.Key, s.Task, s.Model, s.Modality, s.Regime, s.Seed, s.Strategy, s.Episode)
}

func (c *Collector) progressOf(spec *record.Spec) (*progress, error) {
	switch spec.Task {
	case record.Detect:
		return &c.detection.at(spec).progress, nil
	case record.Navigate:
		return &c.episodes.at(spec).progress, nil
	}
	return nil, fmt.Errorf("trial %s has the task %q; tables are made of %q and %q", spec.Key, spec.Task, record.Detect, record.Navigate)
}

// at returns the tally of a trial's setting and seed, making it when needed.
func (g *groups[T]) at(spec *record.Spec) *T {
	if *g == nil {
		*g = make(groups[T])
	}
	s := settingOf(spec)
	seeds := (*g)[s]
	if seeds == nil {
		seeds = make(map[int]*T)
		(*g)[s] = seeds
	}
	if seeds[spec.Seed] == nil {
		seeds[spec.Seed] = new(T)
	}
	return seeds[spec.Seed]
}

// AddTrial adds a finished or failed trial. What it says of the memory can be
// set against the lake only when its instance was added before. It is an error
// when the record contradicts itself or its instance, is of a newer version, or
// repeats a trial.
func (c *Collector) AddTrial(t *record.Trial) error {
	if t.Version > record.Version {
		return fmt.Errorf("trial %s was written by a newer program: its record has version %d, this program reads up to %d", t.Key, t.Version, record.Version)
	}
	finished := []string{record.Done}
	if t.Task == record.Navigate {
		finished = ends[:]
	}
	if t.Outcome != record.Failed && !slices.Contains(finished, t.Outcome) {
		return fmt.Errorf("trial %s: a %q trial cannot have the outcome %q", t.Key, t.Task, t.Outcome)
	}
	answered, opaque, err := answeredCounts(t)
	if err != nil {
		return err
	}
	p, err := c.progressOf(&t.Spec)
	if err != nil {
		return err
	}
	w := c.worldOf(&t.Spec)
	var followed exposureTally
	if t.Task == record.Navigate && t.Outcome != record.Failed {
		if followed, err = follow(t, w); err != nil {
			return err
		}
	}
	if !p.seen.add(t.Episode) {
		return fmt.Errorf("%s was already added, perhaps with a setting that tables cannot tell apart", describe(&t.Spec))
	}
	if t.Outcome == record.Failed {
		p.failed++
		return nil
	}
	p.finished++
	if t.Task == record.Detect {
		d := c.detection.at(&t.Spec)
		d.add(t, answered, opaque)
		route := auditedRoute(t, w)
		d.route.plus(&route)
	} else {
		c.episodes.at(&t.Spec).add(t, w, followed)
	}
	c.addReplies(t, w)
	return nil
}

// add adds a finished episode and what following it through its lake gave.
func (e *episodeTally) add(t *record.Trial, w *world, followed exposureTally) {
	end := slices.Index(ends[:], t.Outcome)
	fallbacks := t.Fallbacks()
	e.ends[end]++
	e.steps[end] += len(t.Steps)
	e.fallbacks += fallbacks
	e.dropped += t.DroppedFlips()
	if fallbacks == 0 {
		e.free[end]++
	}
	if end == endDeath {
		e.deaths.add(t, w)
	}
	e.exposure.plus(&followed)
	route := auditedRoute(t, w)
	e.route.plus(&route)
	e.safety.add(t, w)
	one := walkOf(t, w)
	one.audits.onRoute = route.stale(1)
	e.walks = append(e.walks, one)
}

// answeredCounts counts a trial's answered entries only. Unanswered ones are
// hidden among FN and TN, so without judgments their counts are opaque.
func answeredCounts(t *record.Trial) (answered record.Counts, opaque bool, err error) {
	if len(t.Windows) == 0 {
		return t.Counts, t.Counts.Unanswered > 0, nil
	}
	var all record.Counts
	for i := range t.Windows {
		for j := range t.Windows[i].Judgments {
			jd := &t.Windows[i].Judgments[j]
			all.Add(jd.Truth, jd.Verdict)
			if jd.Verdict != record.Unanswered {
				answered.Add(jd.Truth, jd.Verdict)
			}
		}
	}
	if all != t.Counts && t.Outcome != record.Failed {
		return answered, false, fmt.Errorf("trial %s: its counts %+v are not those of its judgments, %+v", t.Key, t.Counts, all)
	}
	return answered, false, nil
}

// Tables returns the tables that a run ends with, those that have rows:
// regimes, detection, navigation from text and from images, the length of
// episodes, and the headline.
func (c *Collector) Tables() []Table {
	tables := []Table{c.Regimes(), c.Detection()}
	for _, modality := range c.modalities() {
		tables = append(tables, c.Navigation(modality))
	}
	tables = append(tables, c.Lengths(), c.Headline())
	return c.warned(slices.DeleteFunc(tables, func(t Table) bool { return len(t.Rows) == 0 }))
}
