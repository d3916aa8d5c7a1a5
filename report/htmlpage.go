package report

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
)

// A pageView is a page as its template takes it.
type pageView struct {
	CSS       template.CSS
	Policy    string
	Title     string
	Lede      string
	Ribbon    string // stands on top of everything when models are built-in agents
	Controls  string // what more there is to say of them
	Only      bool   // all of them are
	Facts     []htmlFact
	Headlines []htmlHeadline
	Headline  *htmlTable // behind them
	Results   []htmlResult
	Runs      []htmlRun
	Tasks     []htmlTask
	// TrialsLeft says why there are no tasks although there are trials.
	TrialsLeft string
	incomplete bool // planned trials have no result
	Listed     string
	Rule       string
	Replays    []htmlReplayGroup
	Embedded   string
	First      string // the replay that is open at the beginning
	Warnings   []string
	Lossy      bool // some headline has lost trials
}

// An htmlFact is one of the things that a page's head says; Full is what its
// value is short for.
type htmlFact struct{ Name, Value, Full string }

// An htmlResult is a table or a figure in its place.
type htmlResult struct {
	Table  *htmlTable
	Figure *htmlFigure
}

type htmlFigure struct {
	ID, Title, Place, About string
	Warnings, Notes         []string
	Need                    string // why there is nothing to show
	Left                    string // why it is not shown here
	Controls                bool
	Light                   template.URL
	Dark                    template.Srcset
}

type htmlReplayGroup struct {
	Model   string
	Replays []htmlReplayChoice
}

type htmlReplayChoice struct{ Key, Title string }

func newPageView(p *Page, art *artwork, replays *replaySet, left *leftOut) (*pageView, error) {
	v := &pageView{CSS: template.CSS(pageCSS), Policy: policy(), Rule: chosenRule}
	trials := newTrialIndex(p.Trials)
	if left.trials {
		trials = newTrialIndex(nil) // nothing leads to lists that are not there
	}
	v.controls(p)
	if err := v.about(p); err != nil {
		return nil, err
	}
	for i := range p.Runs {
		run, err := htmlRunOf(&p.Runs[i])
		if err != nil {
			return nil, err
		}
		if left.sent && len(run.Sent) > 0 {
			run.Sent = nil
			run.SentLeft = left.left("Prompts as they were sent are", "This shows one: spatialstale trace "+left.run+" TRIAL --prompt SLOT")
		}
		v.Runs = append(v.Runs, run)
	}
	v.Headlines = headlines(p.Tables)
	v.Lossy = slices.ContainsFunc(v.Headlines, func(h htmlHeadline) bool { return h.Lossy })
	if err := v.results(p, trials, art, left); err != nil {
		return nil, err
	}
	if p.Trials != nil {
		v.Tasks = trials.tasks(replays, len(p.Runs) > 1, left)
		if left.trials {
			v.TrialsLeft = left.left("The lists of trials are", "This writes all trials: spatialstale export "+left.run+" --format jsonl --out DIR")
		}
		v.replays(p, replays)
	}
	return v, nil
}

// controls says what built-in agents are, when there are any.
func (v *pageView) controls(p *Page) {
	models, controls := 0, 0
	for i := range p.Runs {
		for _, m := range p.Runs[i].Manifest.Models {
			models++
			if m.Control {
				controls++
			}
			if answered := analysis.Rehearsed(&m); len(answered) > 0 {
				controls++
				v.Warnings = append(v.Warnings, fmt.Sprintf("A rehearsal: the built-in control %s answered in the name of %s.", clean(strings.Join(answered, ", ")), clean(m.Name)))
			}
		}
	}
	switch {
	case controls == 0:
	case controls == models:
		v.Only = true
		v.Ribbon = "Reference agents, no language model"
		v.Controls = "The agents of this run are controls with known behaviour. The page shows what the numbers mean and that the machinery is right; it says nothing about any language or vision model."
	default:
		v.Ribbon = "Some models are reference agents (controls), no language models"
	}
}

// A studyOutline is what a page's head tells of a study.
type studyOutline struct {
	Name      string   `json:"name"`
	Models    []string `json:"models"`
	Seeds     []int    `json:"seeds"`
	Sizes     []string `json:"sizes"`
	Regimes   []string `json:"regimes"`
	Framings  []string `json:"framings"`
	Detection *struct {
		Modalities []string                `json:"modalities"`
		Detectors  []struct{ Name string } `json:"detectors"`
	} `json:"detection"`
	Navigation *struct {
		Modalities []string                `json:"modalities"`
		Strategies []struct{ Name string } `json:"strategies"`
		Episodes   int                     `json:"episodes"`
	} `json:"navigation"`
}

// about says what was run and on what.
func (v *pageView) about(p *Page) error {
	var names []string
	for i := range p.Runs {
		var s studyOutline
		if raw := p.Runs[i].Manifest.Study; len(raw) > 0 {
			if err := json.Unmarshal(raw, &s); err != nil {
				return fmt.Errorf("run %s: the study in its manifest: %w", p.Runs[i].Name, err)
			}
		}
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
		prefix := ""
		if len(p.Runs) > 1 {
			prefix = clean(p.Runs[i].Name) + ": "
		}
		v.Facts = append(v.Facts, s.facts(prefix, &p.Runs[i])...)
	}
	v.Title = clean("Study " + strings.Join(names, " and "))
	if p.Trials == nil {
		return nil
	}
	planned, ended, failed := p.Trials.planned(), p.Trials.ended(), p.Trials.outcome(record.Failed)
	trials := thousands(planned) + " trials"
	switch {
	case ended < planned || failed > 0:
		v.incomplete = true
		var lost []string
		if n := planned - ended; n > 0 {
			lost = append(lost, thousands(n)+" have no record")
		}
		if failed > 0 {
			lost = append(lost, thousands(failed)+" failed")
		}
		v.Warnings = append(v.Warnings, fmt.Sprintf("Incomplete: of %s planned trials, %s. They are in no figure.", thousands(planned), strings.Join(lost, " and ")))
		trials += ", of which " + thousands(ended-failed) + " finished"
	default:
		trials += ", all finished"
	}
	v.Facts = append(v.Facts, htmlFact{Name: "Trials", Value: trials})
	return nil
}

func (s *studyOutline) facts(prefix string, r *PageRun) []htmlFact {
	var models, whole []string
	for _, m := range r.Manifest.Models {
		name, parameters, _ := strings.Cut(m.Name, "?")
		if parameters != "" {
			name += "?…"
		}
		models, whole = append(models, name), append(whole, m.Name)
	}
	strategies := func(list []struct{ Name string }) string {
		var out []string
		for _, one := range list {
			if name := analysis.StrategyName(one.Name); !slices.Contains(out, name) { // once, whatever its batches
				out = append(out, name)
			}
		}
		return strings.Join(out, ", ")
	}
	facts := []htmlFact{
		{prefix + "Models", strings.Join(models, ", "), strings.Join(whole, ", ")},
		{prefix + "Lakes", fmt.Sprintf("%s under %s, %s cells", counted(len(s.Seeds), "seed"), strings.Join(s.Regimes, ", "), strings.ReplaceAll(strings.Join(s.Sizes, ", "), "x", "×")), ""},
	}
	if d := s.Detection; d != nil {
		facts = append(facts, htmlFact{Name: prefix + "Detection", Value: "from " + strings.Join(d.Modalities, " and ") + ", by " + strategies(d.Detectors)})
	}
	if n := s.Navigation; n != nil {
		facts = append(facts, htmlFact{Name: prefix + "Navigation", Value: "from " + strings.Join(n.Modalities, " and ") + ", " + counted(n.Episodes, "episode") + " each with " + strategies(n.Strategies)})
	}
	if len(s.Framings) > 1 {
		facts = append(facts, htmlFact{Name: prefix + "Wordings", Value: strings.Join(s.Framings, ", ")})
	}
	for i := range facts {
		facts[i].Value, facts[i].Full = clean(facts[i].Value), clean(facts[i].Full)
		if facts[i].Full == facts[i].Value {
			facts[i].Full = ""
		}
	}
	return facts
}

// counted writes "1 seed", "50 seeds".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return thousands(n) + " " + what + "s"
}

// absent says why a table or a figure has nothing to show. Where trials were
// lost, it may be for that.
func (v *pageView) absent(need string) string {
	if v.incomplete {
		return "Not in what this run finished. It needs " + clean(need) + "."
	}
	return "Not in this run. It needs " + clean(need) + "."
}

// results puts figures among the tables: before the table that the paper has
// the same place for, or behind the figure before it.
func (v *pageView) results(p *Page, trials *trialIndex, art *artwork, left *leftOut) error {
	before := make([][]*PageFigure, len(p.Tables)+1)
	place := 0
	for i := range p.Figures {
		f := &p.Figures[i]
		if at := slices.IndexFunc(p.Tables, func(t analysis.Table) bool { return t.Paper != "" && t.Paper == f.Paper }); at >= 0 {
			place = at
		}
		before[place] = append(before[place], f)
	}
	for i := range before {
		for _, f := range before[i] {
			figure, err := v.figure(f, art, left)
			if err != nil {
				return err
			}
			v.Results = append(v.Results, htmlResult{Figure: figure})
		}
		if i < len(p.Tables) {
			t := &p.Tables[i]
			table := htmlTableOf(t, trials)
			switch {
			case len(t.Rows) == 0:
				table.Need = v.absent(t.Need)
			case left.tables[t.ID]:
				table.Left, table.Bodies = left.file(t.ID), nil
			}
			if table.ID == headlineTable && table.Need == "" {
				v.Headline = &table
				continue
			}
			v.Results = append(v.Results, htmlResult{Table: &table})
		}
	}
	return nil
}

func (v *pageView) figure(f *PageFigure, art *artwork, left *leftOut) (*htmlFigure, error) {
	out := &htmlFigure{
		ID: f.ID, Title: clean(f.Title), About: clean(f.About),
		Warnings: cleaned(f.Warnings), Notes: cleaned(f.Notes), Controls: f.Controls,
	}
	if f.Paper != "" {
		out.Place = "the paper’s " + f.Paper
	}
	switch {
	case f.Light == nil:
		out.Need = v.absent(f.Need)
		return out, nil
	case left.figures[f.ID]:
		out.Left = left.file(f.ID)
		return out, nil
	}
	light, dark := art.drawing(f.ID)
	if large := len(light) + len(dark); large > figureBytes || left.pictures[f.ID] {
		smallLight, smallDark, err := art.picture(f.ID)
		if err != nil {
			return nil, err
		}
		if len(smallLight)+len(smallDark) < large {
			light, dark = smallLight, smallDark
		}
	}
	out.Light, out.Dark = template.URL(light), template.Srcset(dark)
	return out, nil
}

// dataURL embeds a file, "" for none.
func dataURL(kind string, data []byte) string {
	if data == nil {
		return ""
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// replays lists the replays that the page holds.
func (v *pageView) replays(p *Page, replays *replaySet) {
	byKey := map[string]*trialGroup{}
	for _, g := range p.Trials.settings {
		for i := range g.lines {
			byKey[g.lines[i].key] = g
		}
	}
	var models []string
	titles := map[string][]htmlReplayChoice{}
	for _, key := range replays.chosen {
		model := "trials that are not listed"
		if g := byKey[key]; g != nil {
			model = clean(g.model)
		}
		if !slices.Contains(models, model) {
			models = append(models, model)
		}
		titles[model] = append(titles[model], htmlReplayChoice{key, replays.titles[key]})
	}
	for _, m := range models {
		v.Replays = append(v.Replays, htmlReplayGroup{m, titles[m]})
	}
	n := len(replays.chosen)
	if p.AllReplays {
		n = len(replays.listing)
	}
	v.Embedded = fmt.Sprintf("%s of %s finished trials can be replayed on this page.", thousands(n), thousands(p.Trials.ended()-p.Trials.outcome(record.Failed)))
	if replays.left > 0 {
		v.Embedded += fmt.Sprintf(" %s more were chosen and left out for want of room.", thousands(replays.left))
	}
	v.First = replays.first(byKey)
}

// first returns the replay that a page opens with: a death with the raw memory
// that took a while, so that there is something to see.
func (s *replaySet) first(byKey map[string]*trialGroup) string {
	best := ""
	for _, key := range s.chosen {
		g := byKey[key]
		if g == nil || g.strategy != rawMemory || s.fatal[key] == 0 {
			continue
		}
		if s.fatal[key] >= 4 {
			return key
		}
		keep(&best, key)
	}
	if best == "" && len(s.chosen) > 0 {
		best = s.chosen[0]
	}
	return best
}
