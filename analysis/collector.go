// Package analysis turns the records of a run into measures and tables: how
// much of the memory is stale, which stale entries a model finds, how its
// episodes end and how long they last (paper, sections 3.4, 5.2 and 5.3). It
// stands between record, where producers end, and report, which draws.
//
// A Collector takes records one by one and keeps a few integers a seed, so
// that memory does not grow with windows, judgments or steps. Sums are of
// integers, and means are taken over seeds in ascending order: the same
// records give the same bytes in whatever order they come.
//
// It refuses to guess. What is undefined (precision without a flag) stays
// undefined and is left out of means, which say how many seeds they rest on;
// failed and missing trials are in no denominator and are counted in the
// notes; contradictory records are errors. It draws nothing, reads no files
// and calls no model.
package analysis

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

// A Collector gathers the records of a run. Its zero value is empty and ready
// for use. It is not safe for concurrent use, and keeps nothing of what it is
// given.
type Collector struct {
	plan      appearance
	instances map[instanceKey]instanceTally
	detection groups[detectionTally]
	episodes  groups[episodeTally]
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

type instanceKey struct {
	regime     string
	rows, cols int
	seed       int
}

// An instanceTally is what the regime table needs of an instance; sum tells
// two different instances of one seed apart.
type instanceTally struct {
	stale, thaw int
	sum         [sha256.Size]byte
}

// A progress counts one seed's trials of one setting.
type progress struct {
	planned, finished, failed int
	seen                      map[int]struct{} // episodes
}

// claim marks an episode as added; false when it already was.
func (p *progress) claim(episode int) bool {
	if _, ok := p.seen[episode]; ok {
		return false
	}
	if p.seen == nil {
		p.seen = make(map[int]struct{})
	}
	p.seen[episode] = struct{}{}
	return true
}

// missing returns the planned trials of which there is no record.
func (p *progress) missing() int { return max(0, p.planned-p.finished-p.failed) }

// A detectionTally holds one seed's detection trials of one setting.
type detectionTally struct {
	progress
	counts   record.Counts
	answered record.Counts
	opaque   bool // the judgments behind some unanswered entries are not known
}

// An episodeTally holds one seed's episodes of one setting.
type episodeTally struct {
	progress
	ends      [3]int // episodes by end, in the order of ends
	steps     [3]int // their steps
	fallbacks int
	dropped   int
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
// models are sorted by name.
func (c *Collector) Expect(spec record.Spec) error {
	p, err := c.progressOf(&spec)
	if err != nil {
		return err
	}
	c.plan.add(&spec)
	p.planned++
	return nil
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

// AddInstance adds an instance for the regime table. Its entry for a cell is
// stale when the hazard of the original cell differs from that of the cell
// after all changes (paper, section 3.3). The same instance may come again;
// another one under the same seed, regime and size is an error.
func (c *Collector) AddInstance(in record.Instance) error {
	where := fmt.Sprintf("instance of seed %d, regime %s", in.Seed, in.Regime)
	before, err := lake.Parse(in.Rows)
	if err != nil {
		return fmt.Errorf("%s: rows: %w", where, err)
	}
	after, err := lake.Parse(in.RowsAfter)
	if err != nil {
		return fmt.Errorf("%s: rows_after: %w", where, err)
	}
	if before.NumRows() != after.NumRows() || before.NumCols() != after.NumCols() {
		return fmt.Errorf("%s: rows is %d×%d and rows_after %d×%d", where, before.NumRows(), before.NumCols(), after.NumRows(), after.NumCols())
	}
	tally := instanceTally{sum: sha256.Sum256([]byte(before.String() + "\n\n" + after.String()))}
	for r := range before.NumRows() {
		for col := range before.NumCols() {
			p := lake.Pos{Row: r, Col: col}
			was, is := before.At(p).Hazard(), after.At(p).Hazard()
			if was != is {
				tally.stale++
			}
			if is && !was {
				tally.thaw++
			}
		}
	}
	key := instanceKey{in.Regime, before.NumRows(), before.NumCols(), in.Seed}
	if old, ok := c.instances[key]; ok && old != tally {
		return fmt.Errorf("%s: two different instances of %d×%d", where, key.rows, key.cols)
	}
	if c.instances == nil {
		c.instances = make(map[instanceKey]instanceTally)
	}
	c.instances[key] = tally
	return nil
}

// AddTrial adds a finished or failed trial. It is an error when the record
// contradicts itself, is of a newer version, or repeats a trial.
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
	if !p.claim(t.Episode) {
		return fmt.Errorf("trial %s: %s in %s, regime %s, seed %d, strategy %s, episode %d was already added, perhaps with a setting that tables cannot tell apart",
			t.Key, t.Model, t.Modality, t.Regime, t.Seed, t.Strategy, t.Episode)
	}
	if t.Outcome == record.Failed {
		p.failed++
		return nil
	}
	p.finished++
	if t.Task == record.Detect {
		d := c.detection.at(&t.Spec)
		d.counts = d.counts.Plus(t.Counts)
		d.answered = d.answered.Plus(answered)
		d.opaque = d.opaque || opaque
		return nil
	}
	e := c.episodes.at(&t.Spec)
	end := slices.Index(ends[:], t.Outcome)
	e.ends[end]++
	e.steps[end] += len(t.Steps)
	e.fallbacks += t.Fallbacks()
	e.dropped += t.DroppedFlips()
	return nil
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

// Tables returns every table that has rows: regimes, detection, navigation
// from text and from images, and the length of episodes.
func (c *Collector) Tables() []Table {
	tables := []Table{c.Regimes(), c.Detection()}
	for _, modality := range c.modalities() {
		tables = append(tables, c.Navigation(modality))
	}
	tables = append(tables, c.Lengths())
	return slices.DeleteFunc(tables, func(t Table) bool { return len(t.Rows) == 0 })
}
