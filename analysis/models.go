package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// AddModel adds what a run's manifest says of one of its models. Several runs
// may say something of the same model.
func (c *Collector) AddModel(m record.ModelInfo) {
	i := slices.IndexFunc(c.asked, func(k record.ModelInfo) bool { return k.Name == m.Name })
	if i < 0 {
		c.asked = append(c.asked, m)
		return
	}
	k := &c.asked[i]
	for _, e := range m.Endpoints {
		addNew(&k.Endpoints, e)
	}
	for _, s := range m.ServerModels {
		addNew(&k.ServerModels, s)
	}
	for _, ch := range m.Changes {
		if !slices.ContainsFunc(k.Changes, func(known record.ParamChange) bool { return known.Param == ch.Param && known.Instead == ch.Instead }) {
			k.Changes = append(slices.Clip(k.Changes), ch)
		}
	}
	if k.Settings == nil {
		k.Settings = m.Settings
	}
}

// Models tells how the models of the run were reached and what became of what
// they were asked: where, under which names their servers answered, what was
// asked beside the study's parameters, and what a server refused. It has rows
// for models with a server.
func (c *Collector) Models() Table {
	var models []*record.ModelInfo
	for i := range c.asked {
		if !c.asked[i].Control {
			models = append(models, &c.asked[i])
		}
	}
	t := Table{
		ID:    "models",
		Title: "Models: where they were asked, and what their servers said",
		About: "Parameters that a server does not take are left out or renamed after its refusal. A server that reports two names in one run may have answered with two models.",
		Need:  "a model with a server: spatialstale run quick --model openai/gpt-4o",
	}
	fill(&t, []definition[record.ModelInfo]{
		{Column{Key: "model", Heading: "model", Kind: Label}, func(m *record.ModelInfo) Cell { return Cell{Label: m.Name} }},
		{Column{Key: "reported", Heading: "its server calls it", Kind: Label}, func(m *record.ModelInfo) Cell { return listCell(m.ServerModels) }},
		{Column{Key: "changed", Heading: "refused parameters", Kind: Label}, func(m *record.ModelInfo) Cell {
			var list []string
			for _, ch := range m.Changes {
				list = append(list, ch.String())
			}
			return listCell(list)
		}},
		{Column{Key: "settings", Heading: "asked besides", Kind: Label}, func(m *record.ModelInfo) Cell { return listCell(settingWords(m.Settings)) }},
		{Column{Key: "endpoints", Heading: "at", Kind: Label, Priority: 1}, func(m *record.ModelInfo) Cell { return listCell(m.Endpoints) }},
	}, models)
	t.Warnings = c.mixedModels()
	return t
}

func listCell(list []string) Cell {
	if len(list) == 0 {
		return Cell{Label: "–"}
	}
	return Cell{Label: strings.Join(list, ", ")}
}

func settingWords(s *record.ModelSettings) []string {
	var words []string
	if s == nil {
		return nil
	}
	if s.Detail != "" {
		words = append(words, "detail "+s.Detail)
	}
	if s.NoSchema {
		words = append(words, "no schema")
	}
	if len(s.ExtraBody) > 0 {
		words = append(words, string(s.ExtraBody))
	}
	for _, name := range s.Headers {
		words = append(words, "header "+name)
	}
	return words
}

// mixedModels warns of models under whose name more than one may have answered.
func (c *Collector) mixedModels() []string {
	var warnings []string
	for i := range c.asked {
		if m := &c.asked[i]; len(m.ServerModels) > 1 {
			warnings = append(warnings, fmt.Sprintf("The server of %s reported %d names: %s. Its figures may mix as many models.", m.Name, len(m.ServerModels), strings.Join(m.ServerModels, ", ")))
		}
	}
	return warnings
}

// Warn adds what tables and figures of results must say beside them.
func (c *Collector) Warn(text string) { addNew(&c.warnings, text) }

// Rehearsed returns the built-in controls that answered in a model's name, as a
// server of rehearse reports them.
func Rehearsed(m *record.ModelInfo) (controls []string) {
	for _, name := range m.ServerModels {
		if strings.HasPrefix(name, controlPrefix) && !m.Control {
			controls = append(controls, name)
		}
	}
	return controls
}

// rehearsed reports whether a control answered in a model's name.
func (c *Collector) rehearsed(model string) bool {
	return slices.ContainsFunc(c.asked, func(m record.ModelInfo) bool { return m.Name == model && len(Rehearsed(&m)) > 0 })
}

// rehearsals warns of models in whose name a built-in control answered.
func (c *Collector) rehearsals() []string {
	var warnings []string
	for i := range c.asked {
		for _, control := range Rehearsed(&c.asked[i]) {
			warnings = append(warnings, fmt.Sprintf("%s is no such model here: the built-in control %s answered in its name. A rehearsal, and no result of a model.", c.asked[i].Name, control))
		}
	}
	return warnings
}

// runWarnings are those that concern the whole run.
func (c *Collector) runWarnings() []string {
	return slices.Concat(c.rehearsals(), c.warnings, c.mixedModels())
}

// ask completes the command in what a table or a figure needs with the models of
// the run: without them it would run the controls.
func (c *Collector) ask(need string) string {
	if !strings.Contains(need, "spatialstale run") || strings.Contains(need, "--model") {
		return need
	}
	for _, m := range c.models() {
		if !strings.HasPrefix(m, controlPrefix) {
			need += " --model " + m
		}
	}
	return need
}

// warned puts the warnings that concern the whole run onto its tables of
// results, and the run's models into what the others need.
func (c *Collector) warned(tables []Table) []Table {
	warnings := c.runWarnings()
	for i := range tables {
		t := &tables[i]
		t.Need = c.ask(t.Need)
		if len(t.Rows) > 0 && t.ID != "models" && t.ID != "regimes" && len(warnings) > 0 {
			t.Warnings = slices.Concat(warnings, t.Warnings)
		}
	}
	return tables
}
