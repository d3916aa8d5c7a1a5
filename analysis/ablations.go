package analysis

import (
	"maps"
	"slices"

	"github.com/spatialstale/spatialstale/lake"
)

// A settingRow is one setting with what both tasks say of it, seed by seed.
type settingRow struct {
	setting
	detection map[int]*detectionTally
	episodes  map[int]*episodeTally
	base      *settingRow // what it is compared with; nil when there is none
}

// settingRows returns a row for every setting of either task, in the order of
// tables of episodes.
func (c *Collector) settingRows() []*settingRow {
	all := make(map[setting]bool)
	for s := range c.detection {
		all[s] = s.strategy != scoreStrategy
	}
	for s := range c.episodes {
		all[s] = true
	}
	var out []*settingRow
	for _, s := range slices.SortedFunc(maps.Keys(all), c.byModelAndModality) {
		if all[s] {
			out = append(out, &settingRow{setting: s, detection: c.detection[s], episodes: c.episodes[s]})
		}
	}
	return out
}

// A seedMeasure is a measure of one seed of a row; nil where it is undefined,
// and not there at all for a seed without a finished trial.
type seedMeasure func(r *settingRow, seed int) (value *float64, there bool)

func seedF1(r *settingRow, seed int) (*float64, bool) {
	d := r.detection[seed]
	if d == nil || d.finished == 0 {
		return nil, false
	}
	return d.counts.F1(), true
}

func seedRate(end int) seedMeasure {
	return func(r *settingRow, seed int) (*float64, bool) {
		e := r.episodes[seed]
		if e == nil || e.finished == 0 {
			return nil, false
		}
		return quotient(e.ends[end], e.finished), true
	}
}

// seeds returns the row's seeds in ascending order.
func (r *settingRow) seeds() []int {
	all := make(map[int]bool)
	for seed := range r.detection {
		all[seed] = true
	}
	for seed := range r.episodes {
		all[seed] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func (r *settingRow) mean(of seedMeasure) Cell {
	var values []*float64
	for _, seed := range r.seeds() {
		if v, ok := of(r, seed); ok {
			values = append(values, v)
		}
	}
	return overSeeds(values)
}

// difference is the mean over the seeds that both rows have of the row's value
// less its base's. A seed on which either is undefined is left out.
func (r *settingRow) difference(of seedMeasure) Cell {
	if r.base == nil {
		return Cell{}
	}
	var values []*float64
	for _, seed := range r.seeds() {
		v, ok := of(r, seed)
		b, both := of(r.base, seed)
		switch {
		case !ok || !both:
		case v == nil || b == nil:
			values = append(values, nil)
		default:
			values = append(values, new(*v-*b))
		}
	}
	return overSeeds(values)
}

// settingLabels are the label columns of tables over both tasks; varied is the
// one that the table is about. The batch is shown where rows differ in it alone.
func settingLabels(rows []*settingRow, short map[string]string, varied definition[settingRow]) []definition[settingRow] {
	return []definition[settingRow]{
		{Column{Key: "model", Heading: "model", Kind: Label, Section: true}, func(r *settingRow) Cell { return modelCell(r.model, short) }},
		{Column{Key: "modality", Heading: "modality", Kind: Label}, func(r *settingRow) Cell { return Cell{Label: r.modality} }},
		{Column{Key: "regime", Heading: "regime", Kind: Label}, func(r *settingRow) Cell { return regimeCell(r.regime) }},
		{Column{Key: "strategy", Heading: "strategy", Kind: Label}, func(r *settingRow) Cell { return strategyCell(r.strategy) }},
		varied,
		{Column{Key: "batch", Heading: "batch", Unit: "entries a call", Kind: Label, Align: Right,
			DataOnly: len(varying(rows, settingOfRow, func(s *setting) { s.batch = 0 })) == 0},
			func(r *settingRow) Cell { return batchCell(r.batch) }},
	}
}

// episodesColumn counts the finished episodes behind rates.
func (r *settingRow) finishedEpisodes() int {
	n := 0
	for _, e := range r.episodes {
		n += e.finished
	}
	return n
}

// Framing tells what the words that introduce the memory do. It has rows when a
// run uses several.
func (c *Collector) Framing() Table {
	rows := varying(c.settingRows(), settingOfRow, func(s *setting) { s.framing = "" })
	for _, r := range rows {
		for _, base := range rows {
			s := base.setting
			s.framing = r.framing
			if base.framing == framingOrder[0] && r.framing != framingOrder[0] && s == r.setting {
				r.base = base
			}
		}
	}
	t := Table{
		ID:    "framing",
		Title: "Wording: how the memory is introduced",
		About: "The same trials with three wordings of what the memory is: neutral says nothing of whether it may be outdated, trusted calls it reliable, warned says that it may be outdated. Δ: the difference to neutral, mean ± sd over seeds.",
		Need:  "several wordings: spatialstale run framing",
	}
	short := c.modelNames()
	defs := settingLabels(rows, short, definition[settingRow]{Column{Key: "framing", Heading: "wording", Kind: Label},
		func(r *settingRow) Cell { return Cell{Label: r.framing} }})
	defs = append(defs,
		definition[settingRow]{Column{Key: "grid", Heading: "grid", Unit: "rows x columns", Kind: Label, DataOnly: sameEverywhere(rows, gridOfRow)},
			func(r *settingRow) Cell { return gridCell(r.rows, r.cols) }},
		definition[settingRow]{Column{Key: "episodes", Heading: "episodes", Unit: "episodes", Kind: Count, Priority: 1, DataOnly: noEpisodes(rows)},
			func(r *settingRow) Cell { return Cell{Count: r.finishedEpisodes()} }})
	for _, m := range []struct {
		key, heading string
		of           seedMeasure
		hidden       bool
	}{
		{"f1", "F1", seedF1, noDetection(rows)},
		{"success", "success", seedRate(endSuccess), noEpisodes(rows)},
		{"death", "death", seedRate(endDeath), noEpisodes(rows)},
	} {
		defs = append(defs,
			definition[settingRow]{Column{Key: m.key, Heading: m.heading, Unit: "share", Kind: Mean, Decimals: 3, Brief: true, DataOnly: m.hidden},
				func(r *settingRow) Cell { return r.mean(m.of) }},
			definition[settingRow]{Column{Key: m.key + "_difference", Heading: "Δ\u00a0" + m.heading, Unit: "difference of shares", Kind: Mean, Decimals: 3, DataOnly: m.hidden},
				func(r *settingRow) Cell { return r.difference(m.of) }})
	}
	fill(&t, defs, rows)
	t.Notes = append(undefinedNotes(&t, "–: there is nothing to show: neutral has no difference to itself, a strategy that asks nobody has no F1, a detection no success."),
		"F1 is that of the detection with the same audit; success and death are of the episodes.")
	t.Warnings = lostWarnings(rows)
	t.Notes = append(t.Notes, modelNotes(groupsOf(rows), short)...)
	return t
}

// Sizes tells what larger lakes do. It has rows when a run has several sizes.
func (c *Collector) Sizes() Table {
	rows := varying(c.settingRows(), settingOfRow, func(s *setting) { s.rows, s.cols = 0, 0 })
	t := Table{
		ID:    "sizes",
		Title: "Size of the lake",
		About: "The same study on lakes of different size. The step budget grows with the way to G, the number of changes with the cells.",
		Need:  "lakes of several sizes: spatialstale run sizes",
	}
	short := c.modelNames()
	defs := settingLabels(rows, short, definition[settingRow]{Column{Key: "grid", Heading: "grid", Unit: "rows x columns", Kind: Label, Align: Right},
		func(r *settingRow) Cell { return gridCell(r.rows, r.cols) }})
	sum := func(r *settingRow, of func(*episodeTally) int) int {
		n := 0
		for _, e := range r.episodes {
			n += of(e)
		}
		return n
	}
	defs = append(defs, []definition[settingRow]{
		{Column{Key: "framing", Heading: "framing", Kind: Label, DataOnly: sameEverywhere(rows, func(r *settingRow) any { return r.framing })},
			func(r *settingRow) Cell { return Cell{Label: r.framing} }},
		{Column{Key: "budget", Heading: "step budget", Unit: "steps", Kind: Count, Priority: 1},
			func(r *settingRow) Cell {
				g, err := lake.New(r.rows, r.cols)
				if err != nil {
					return Cell{}
				}
				return Cell{Count: g.StepBudget()}
			}},
		{Column{Key: "f1", Heading: "F1", Unit: "share", Kind: Mean, Decimals: 3, DataOnly: noDetection(rows)}, func(r *settingRow) Cell { return r.mean(seedF1) }},
		{Column{Key: "episodes", Heading: "episodes", Unit: "episodes", Kind: Count, Priority: 1, DataOnly: noEpisodes(rows)},
			func(r *settingRow) Cell { return Cell{Count: r.finishedEpisodes()} }},
		{Column{Key: "success", Heading: "success", Unit: "share of finished episodes", Kind: Mean, Decimals: 3, DataOnly: noEpisodes(rows)}, func(r *settingRow) Cell { return r.mean(seedRate(endSuccess)) }},
		{Column{Key: "death", Heading: "death", Unit: "share of finished episodes", Kind: Mean, Decimals: 3, DataOnly: noEpisodes(rows)}, func(r *settingRow) Cell { return r.mean(seedRate(endDeath)) }},
		{Column{Key: "steps", Heading: "steps", Unit: "steps", Kind: Average, Decimals: 1, Brief: true, DataOnly: noEpisodes(rows)},
			func(r *settingRow) Cell { return averageOf(sum(r, (*episodeTally).allSteps), r.finishedEpisodes()) }},
		{Column{Key: "steps_success", Heading: "steps to G", Unit: "steps", Kind: Average, Decimals: 1, Brief: true, DataOnly: noEpisodes(rows)},
			func(r *settingRow) Cell {
				return averageOf(sum(r, func(e *episodeTally) int { return e.steps[endSuccess] }), sum(r, func(e *episodeTally) int { return e.ends[endSuccess] }))
			}},
	}...)
	fill(&t, defs, rows)
	t.Notes = append([]string{noteSD + " A seed’s episodes are averaged first; steps are the mean over all episodes, and over those that reached G."},
		undefinedNotes(&t, "–: there is nothing to show: a strategy that asks nobody has no F1, a detection no success, and where nobody reached G there are no steps to it.")...)
	t.Warnings = lostWarnings(rows)
	t.Notes = append(t.Notes, modelNotes(groupsOf(rows), short)...)
	return t
}

func noDetection(rows []*settingRow) bool {
	return !slices.ContainsFunc(rows, func(r *settingRow) bool { return len(r.detection) > 0 })
}

func noEpisodes(rows []*settingRow) bool {
	return !slices.ContainsFunc(rows, func(r *settingRow) bool { return len(r.episodes) > 0 })
}

func settingOfRow(r *settingRow) setting { return r.setting }
func gridOfRow(r *settingRow) any        { return [2]int{r.rows, r.cols} }

// groupsOf gives rows the form that notes about models take.
func groupsOf(rows []*settingRow) []*group[struct{}] {
	out := make([]*group[struct{}], len(rows))
	for i, r := range rows {
		out[i] = &group[struct{}]{setting: r.setting}
	}
	return out
}

// lostWarnings says how many planned trials behind the rows have no result.
func lostWarnings(rows []*settingRow) []string {
	lost, all := 0, 0
	for _, r := range rows {
		for _, d := range r.detection {
			lost, all = lost+d.lost(), all+d.all()
		}
		for _, e := range r.episodes {
			lost, all = lost+e.lost(), all+e.all()
		}
	}
	if lost == 0 {
		return nil
	}
	return []string{thousands(lost) + " of " + thousands(all) + " planned trials failed or have no record. They are in no denominator."}
}
