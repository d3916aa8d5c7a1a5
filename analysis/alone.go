package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// fewSeeds is how many seeds are named one by one.
const fewSeeds = 10

// runs is the table of what the two runs are and how their studies differ.
func (p *pairing) runs(differences []Difference) Table {
	t := Table{
		ID:    "compare-runs",
		Title: "Two runs side by side",
		About: "What A and B are, and everything in which their studies differ.",
	}
	rows := make([]*Difference, len(differences))
	for i := range differences {
		rows[i] = &differences[i]
	}
	fill(&t, []definition[Difference]{
		{Column{Key: "what", Heading: "", Kind: Label}, func(d *Difference) Cell { return Cell{Label: d.What} }},
		{Column{Key: "a", Heading: "A", Kind: Label}, func(d *Difference) Cell { return Cell{Label: d.A} }},
		{Column{Key: "b", Heading: "B", Kind: Label}, func(d *Difference) Cell { return Cell{Label: d.B} }},
	}, rows)
	for _, a := range p.modelsA {
		if b := p.inB[a]; b != "" && b != a {
			t.Notes = append(t.Notes, fmt.Sprintf("A’s %s is paired with B’s %s.", p.shown(a), p.shown(b)))
		}
	}
	shared, onlyA, onlyB := sides(p.a.seeds(), p.b.seeds())
	if len(shared) == 0 {
		t.Warnings = append(t.Warnings, "The runs share no seed: nothing can be paired.")
	}
	said := "Paired by seed: " + countOf(len(shared), "seed") + " in both runs"
	var alone []string
	for _, side := range []struct {
		name  string
		seeds []int
	}{{"A", onlyA}, {"B", onlyB}} {
		if len(side.seeds) > 0 {
			alone = append(alone, countOf(len(side.seeds), "seed")+" only in "+side.name+listed(side.seeds))
		}
	}
	switch len(alone) {
	case 0:
		said += ", none in one alone."
	default:
		said += "; not used: " + strings.Join(alone, ", ") + "."
	}
	t.Notes = append(t.Notes, said)
	return t
}

// shown is a model's name for people.
func (p *pairing) shown(model string) string {
	c := modelCell(model, p.short)
	return c.Display()
}

// listed names seeds when they are few.
func listed(seeds []int) string {
	if len(seeds) > fewSeeds {
		return ""
	}
	words := make([]string, len(seeds))
	for i, s := range seeds {
		words[i] = strconv.Itoa(s)
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// seeds returns all seeds of a run in ascending order.
func (c *Collector) seeds() []int {
	all := make(map[int]bool)
	for _, seeds := range c.detection {
		for seed := range seeds {
			all[seed] = true
		}
	}
	for _, seeds := range c.episodes {
		for seed := range seeds {
			all[seed] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// sides tells what two ascending lists share from what one has alone.
func sides(a, b []int) (both, onlyA, onlyB []int) {
	for _, x := range a {
		if slices.Contains(b, x) {
			both = append(both, x)
		} else {
			onlyA = append(onlyA, x)
		}
	}
	for _, x := range b {
		if !slices.Contains(a, x) {
			onlyB = append(onlyB, x)
		}
	}
	return both, onlyA, onlyB
}

// A dimension is one thing that settings may differ in, in words.
type dimension struct {
	of    func(*setting) string
	words string // before the value
}

// dimensions of settings, in the order in which they are told.
func (p *pairing) dimensions() []dimension {
	models := dimension{func(s *setting) string { return p.shown(s.model) }, "the model "}
	if p.other {
		models.of = func(*setting) string { return "" }
	}
	return []dimension{
		models,
		{func(s *setting) string { return s.regime }, "regime "},
		{func(s *setting) string { return s.modality }, "modality "},
		{func(s *setting) string { return StrategyName(s.strategy) }, ""},
		{func(s *setting) string { return batchWords(s.batch) }, ""},
		{func(s *setting) string { return s.framing }, "the wording "},
		{func(s *setting) string { c := gridCell(s.rows, s.cols); return c.Display() }, "lakes of "},
	}
}

func batchWords(batch int) string {
	if batch == 0 {
		return "no batches"
	}
	return "batches of " + strconv.Itoa(batch)
}

// alone says in words which settings one run has alone, given all of the other
// run's: first those that the other lacks for one reason, such as a regime,
// then each of the rest. None is left out.
func (p *pairing) alone(task string, only, other []setting) []string {
	if len(only) > 0 && len(other) == 0 {
		return []string{fmt.Sprintf("all %s (%s)", task, countOf(len(only), "setting"))}
	}
	rest := slices.Clone(only)
	var parts []string
	for _, d := range p.dimensions() {
		has := make(map[string]bool)
		for i := range other {
			has[d.of(&other[i])] = true
		}
		var values []string
		count := make(map[string]int)
		rest = slices.DeleteFunc(rest, func(s setting) bool {
			v := d.of(&s)
			if has[v] {
				return false
			}
			addNew(&values, v)
			count[v]++
			return true
		})
		for _, v := range values {
			parts = append(parts, fmt.Sprintf("%s with %s%s (%s)", task, d.words, v, countOf(count[v], "setting")))
		}
	}
	for i := range rest {
		var words []string
		for _, d := range p.dimensions() {
			if v := d.of(&rest[i]); v != "" {
				words = append(words, v)
			}
		}
		parts = append(parts, task+" of "+strings.Join(words, ", "))
	}
	return parts
}

// groupsOfModels gives models the form that notes about them take.
func groupsOfModels(lists ...[]string) []*group[struct{}] {
	var out []*group[struct{}]
	for _, list := range lists {
		for _, m := range list {
			out = append(out, &group[struct{}]{setting: setting{model: m}})
		}
	}
	return out
}

func groupsOfRows(rows []*coupleRow) []*group[struct{}] {
	out := make([]*group[struct{}], len(rows))
	for i, r := range rows {
		out[i] = &group[struct{}]{setting: r.setting}
	}
	return out
}
