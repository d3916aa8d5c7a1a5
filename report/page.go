package report

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report/figure"
)

// A Page is what an HTML report shows: a run, several, or a comparison of two.
type Page struct {
	Summary analysis.Summary
	Runs    []PageRun
	Tables  []analysis.Table
	Figures []analysis.Figure
	Trials  *Trials // nil for a page without replays
}

// A PageRun is one of the runs behind a page.
type PageRun struct {
	Name     string // as commands take it
	Manifest record.Manifest
	Prompts  map[string]string // texts of prompt files, those at hand
}

//go:embed assets/page.html
var pageHTML string

//go:embed assets/page.css
var pageCSS string

// playerJS replays one trial, and knows nothing of the page around it; pageJS is
// the rest of the page.
//
//go:embed assets/player.js
var playerJS string

//go:embed assets/page.js
var pageJS string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// HTML writes a page that needs nothing else: its styles, its scripts, its figures and
// its trials are in it, and a policy in its head forbids it to load anything. It
// works without its scripts, except for replays. The same records give the same
// bytes. Errors are those of w, or say what cannot be drawn.
func HTML(w io.Writer, p *Page) error {
	view, err := pageViewOf(p)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if err := pageTemplate.ExecuteTemplate(out, "page", view); err != nil {
		return err
	}
	return out.Flush()
}

// policy is the page's content security policy: nothing is loaded, and no style
// or script runs but the page's own.
func policy() string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; img-src data:; style-src " + hash(pageCSS) + "; script-src " + hash(playerJS) + " " + hash(pageJS) + "; base-uri 'none'; form-action 'none'"
}

// A pageView is a page as its template takes it.
type pageView struct {
	CSS                template.CSS
	PlayerJS, PageJS   template.JS
	Policy             string
	Title, Facts       string
	Ribbon             string // is on top of everything when models are built-in agents
	Lost, Names        []string
	Findings, Controls []analysis.Finding // of models, and of controls alone
	Topics             []pageTopic
	Few                bool     // results: they need no folding
	Absent             []string // what is not in the run
	Runs               []pageRunView
	Trials             template.HTML // base64: letters, digits, + and /
	Replayed, Words    string
	Capped             string // how to see the trials that are not on the page
}

// fewResults are unfolded from the beginning, such as those of a comparison, or
// those that --table chose.
const fewResults = 8

// A pageTopic is the tables and figures on one subject.
type pageTopic struct {
	ID, Name string
	Results  []pageResult
}

// Holds says in words what a topic has.
func (t *pageTopic) Holds() string {
	tables := 0
	for i := range t.Results {
		if t.Results[i].Table != nil {
			tables++
		}
	}
	var parts []string
	if tables > 0 {
		parts = append(parts, counted(tables, "table"))
	}
	if n := len(t.Results) - tables; n > 0 {
		parts = append(parts, counted(n, "figure"))
	}
	return strings.Join(parts, ", ")
}

// A pageResult is a table or a figure.
type pageResult struct {
	Table  *pageTable
	Figure *pageFigure
}

type pageFigure struct {
	ID, Title, Place, About string
	Warnings, Notes         []string
	Light                   template.URL
	Dark                    template.Srcset
}

func pageViewOf(p *Page) (*pageView, error) {
	v := &pageView{
		CSS: template.CSS(pageCSS), PlayerJS: template.JS(playerJS), PageJS: template.JS(pageJS), Policy: policy(),
		Title: clean(p.Summary.Title), Lost: cleaned(p.Summary.Lost), Names: cleaned(p.Summary.Names),
	}
	for _, f := range p.Summary.Findings {
		f.Text = clean(f.Text)
		if f.Control {
			v.Controls = append(v.Controls, f)
		} else {
			v.Findings = append(v.Findings, f)
		}
	}
	for i := range p.Runs {
		run, err := runOf(&p.Runs[i])
		if err != nil {
			return nil, err
		}
		v.Runs = append(v.Runs, run)
	}
	v.about(p)
	if err := v.results(p); err != nil {
		return nil, err
	}
	return v, v.replays(p)
}

// about says what was run, when and with what.
func (v *pageView) about(p *Page) {
	var dates, programs, models []string
	controls := 0
	add := func(list *[]string, s string) {
		if !slices.Contains(*list, s) {
			*list = append(*list, s)
		}
	}
	for i := range p.Runs {
		m := &p.Runs[i].Manifest
		add(&dates, m.Created.UTC().Format("2 January 2006"))
		add(&programs, "spatialstale "+m.Program)
		for _, model := range m.Models {
			if model.Control && !slices.Contains(models, model.Name) {
				controls++
			}
			add(&models, model.Name)
		}
	}
	var facts []string
	for _, list := range [][]string{dates, programs} {
		if len(list) > 0 {
			facts = append(facts, strings.Join(list, ", "))
		}
	}
	if len(models) > 0 {
		facts = append(facts, counted(len(models), "model")+": "+strings.Join(models, ", "))
	}
	v.Facts = clean(strings.Join(facts, " · "))
	switch {
	case controls == 0:
	case controls == len(models):
		v.Ribbon = "Reference agents, no language model: controls with known behaviour. Their numbers say nothing about any model."
	default:
		v.Ribbon = "Some models are reference agents (controls), no language models. They are marked."
	}
}

// results puts tables and figures under their topics, in the topics' order.
func (v *pageView) results(p *Page) error {
	byTopic := map[analysis.Topic][]pageResult{}
	for i := range p.Figures {
		f := &p.Figures[i]
		if len(f.Panels) == 0 {
			v.Absent = append(v.Absent, clean(need(f.ID, f.Paper, f.Need)))
			continue
		}
		one, err := pageFigureOf(f)
		if err != nil {
			return err
		}
		byTopic[f.Topic] = append(byTopic[f.Topic], pageResult{Figure: one})
	}
	with, without := split(p.Tables)
	for _, t := range with {
		byTopic[t.Topic] = append(byTopic[t.Topic], pageResult{Table: pageTableOf(t, p.Trials)})
	}
	for _, t := range without {
		v.Absent = append(v.Absent, clean(need(t.ID, t.Paper, t.Need)))
	}
	topics := slices.Clone(analysis.Topics)
	for _, topic := range slices.Sorted(maps.Keys(byTopic)) { // such as none, of a comparison
		if !slices.Contains(topics, topic) {
			topics = append(topics, topic)
		}
	}
	for _, topic := range topics {
		if len(byTopic[topic]) > 0 {
			v.Topics = append(v.Topics, pageTopic{fmt.Sprintf("topic-%d", len(v.Topics)+1), cmp.Or(string(topic), "Results"), byTopic[topic]})
		}
	}
	v.Few = len(with)+len(p.Figures) <= fewResults
	return nil
}

func pageFigureOf(f *analysis.Figure) (*pageFigure, error) {
	out := &pageFigure{ID: f.ID, Title: clean(f.Title), Place: paperPlace(f.Paper), About: clean(f.About), Warnings: cleaned(f.Warnings), Notes: cleaned(f.Notes)}
	var drawings [2]string
	for i, theme := range []figure.Theme{figure.Light, figure.Dark} {
		var b bytes.Buffer
		if err := figure.Draw(&b, f, "svg", theme); err != nil {
			return nil, err
		}
		drawings[i] = "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
	}
	out.Light, out.Dark = template.URL(drawings[0]), template.Srcset(drawings[1])
	return out, nil
}

// replays adds the trials, and says which ones there are.
func (v *pageView) replays(p *Page) error {
	ts := p.Trials
	if ts == nil || ts.embedded == 0 {
		return nil
	}
	packed, err := ts.base64()
	if err != nil {
		return err
	}
	v.Trials = template.HTML(packed)
	v.Replayed = fmt.Sprintf("This page has %s, all that there are", counted(ts.added, "trial"))
	if ts.added > ts.embedded {
		v.Replayed = fmt.Sprintf("This page has the first %s of %s trials", thousands(ts.embedded), thousands(ts.added))
		v.Capped = fmt.Sprintf("spatialstale trace %s --seed SEED --strategy STRATEGY", quoted(p.Runs[0].Name))
	}
	if ts.failed > 0 {
		v.Replayed += fmt.Sprintf(" (%s failed)", thousands(ts.failed))
	}
	v.Words = chosenRule
	return nil
}

// behind returns the fragment of a page that lists the trials behind a row: what
// its labels have in common with their settings. It is empty when there are none.
func (ts *Trials) behind(t *analysis.Table, row []analysis.Cell) string {
	if ts == nil {
		return ""
	}
	query := url.Values{}
	for i := range t.Columns {
		key := t.Columns[i].Key
		switch {
		case t.Columns[i].Kind != analysis.Label:
			continue
		case key == "detector":
			key = "strategy"
			query.Set("task", record.Detect)
		case key == "strategy":
			query.Set("task", record.Navigate)
		}
		if slices.Contains([]string{"model", "modality", "regime", "strategy"}, key) {
			query.Set(key, row[i].Label)
		}
	}
	if len(query) < 2 || !slices.ContainsFunc(ts.doc.Settings, func(s replaySetting) bool {
		has := map[string]string{"task": s.Task, "model": s.Model, "modality": s.Modality, "regime": s.Regime, "strategy": s.Strategy}
		for key := range query {
			if has[key] != query.Get(key) {
				return false
			}
		}
		return true
	}) {
		return ""
	}
	return "#trials?" + query.Encode()
}

// A pageRunView is what a page says of how a run was made.
type pageRunView struct {
	Name, Made, Manifest string
	Prompts              []pagePrompt
}

type pagePrompt struct {
	Name, Sum, Text string
	Lost            bool // the text is not at hand
}

// runOf shows a manifest as it is, without the hashes of instances, of which
// there are hundreds.
func runOf(r *PageRun) (pageRunView, error) {
	m := r.Manifest
	out := pageRunView{Name: clean(r.Name), Made: m.Created.UTC().Format("2 January 2006, 15:04 UTC")}
	for _, name := range slices.Sorted(maps.Keys(m.Prompts)) {
		text, ok := r.Prompts[name]
		out.Prompts = append(out.Prompts, pagePrompt{clean(name), clean(m.Prompts[name]), cleanBut(text, "\n\t"), !ok})
	}
	m.Instances, m.Prompts = nil, nil
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return out, fmt.Errorf("run %s: its manifest: %w", r.Name, err)
	}
	out.Manifest = cleanBut(b.String(), "\n")
	return out, nil
}

// quoted protects a word from a shell.
func quoted(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.:@+,") == "" && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
