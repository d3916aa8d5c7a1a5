package report

import (
	"slices"

	"github.com/spatialstale/spatialstale/record"
)

// chosenRule says in words what chooser does; a page prints it.
const chosenRule = "For each model, modality and regime: one lake walked under every strategy, which is the first on which NoFilter died on a stale entry in its view " +
	"(the first lake where that never happened). For each setting, where these do not hold one: the first death on a stale entry in view (or else the first death), and the first success. " +
	"For each detector: the first detection with a missed, wrongly flagged or unanswered entry, or else the first."

// A chooser picks trials worth replaying as they come by, in plan order.
type chooser struct {
	order    []trialSetting
	settings map[trialSetting]*candidates
	lakes    map[trialSetting]*sharedLake // by the setting without its strategy
}

// candidates are the trials of one setting that may be chosen; "" for none.
type candidates struct {
	first, faulty              string // of detections
	staleDeath, death, success string

	opening string // on the first lake
	last    walk   // the latest before the shared lake was found, and its trial
	lastKey string
	shared  string // on the shared lake, seen after that was found
}

// A walk is an episode's place: its lake and its number.
type walk struct{ seed, episode int }

// A sharedLake is the lake on which all strategies are shown.
type sharedLake struct {
	walk
	found bool // NoFilter died on it by a stale entry in view
}

// rawMemory is the strategy that shows every entry, stale ones too.
const rawMemory = "no-filter"

func (c *chooser) add(s trialSetting, t *record.Trial) {
	if t.Outcome == record.Failed {
		return
	}
	if c.settings == nil {
		c.settings, c.lakes = map[trialSetting]*candidates{}, map[trialSetting]*sharedLake{}
	}
	have := c.settings[s]
	if have == nil {
		have = &candidates{}
		c.settings[s] = have
		c.order = append(c.order, s)
	}
	if t.Task == record.Detect {
		keep(&have.first, t.Key)
		if k := t.Counts; k.FP+k.FN+k.Unanswered > 0 {
			keep(&have.faulty, t.Key)
		}
		return
	}
	at, lake := walk{t.Seed, t.Episode}, c.lake(s, t)
	switch {
	case lake.found && at == lake.walk:
		keep(&have.shared, t.Key)
	case !lake.found:
		have.last, have.lastKey = at, t.Key
		if at == lake.walk {
			keep(&have.opening, t.Key)
		}
	}
	switch {
	case t.Outcome == record.Success:
		keep(&have.success, t.Key)
	case t.Death != nil && t.Death.Cause == record.CauseStaleShown:
		keep(&have.staleDeath, t.Key)
		fallthrough
	case t.Death != nil:
		keep(&have.death, t.Key)
	}
}

// lake returns the lake to show, which the trial may make its own.
func (c *chooser) lake(s trialSetting, t *record.Trial) *sharedLake {
	id := lakeOf(s)
	lake := c.lakes[id]
	if lake == nil {
		lake = &sharedLake{walk: walk{t.Seed, t.Episode}}
		c.lakes[id] = lake
	}
	if !lake.found && s.strategy == rawMemory && t.Death != nil && t.Death.Cause == record.CauseStaleShown {
		lake.walk, lake.found = walk{t.Seed, t.Episode}, true
	}
	return lake
}

// on returns the setting's trial on the lake that all strategies are shown on.
func (have *candidates) on(lake *sharedLake) string {
	switch {
	case !lake.found:
		return have.opening
	case have.shared == "" && have.last == lake.walk:
		return have.lastKey
	}
	return have.shared
}

// lakeOf is what trials on one lake under different strategies share.
func lakeOf(s trialSetting) trialSetting {
	s.strategy, s.batch = "", 0
	return s
}

func keep(first *string, key string) {
	if *first == "" {
		*first = key
	}
}

// keys returns what was chosen, each once: first the shared lakes, then the
// detections, then deaths and successes that are not among them.
func (c *chooser) keys() []string {
	var shared, detections, rest []string
	for _, s := range c.order {
		have := c.settings[s]
		if s.task == record.Detect {
			if have.faulty != "" {
				detections = append(detections, have.faulty)
			} else {
				detections = append(detections, have.first)
			}
			continue
		}
		shared = append(shared, have.on(c.lakes[lakeOf(s)]))
		death := have.death
		if have.staleDeath != "" {
			death = have.staleDeath
		}
		rest = append(rest, death, have.success)
	}
	var out []string
	seen := map[string]bool{"": true}
	for _, key := range slices.Concat(shared, detections, rest) {
		if !seen[key] {
			seen[key] = true
			out = append(out, key)
		}
	}
	return out
}
