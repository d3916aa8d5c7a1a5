package report

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

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

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"css":      func() template.CSS { return template.CSS(pageCSS) },
	"playerJS": func() template.JS { return template.JS(playerJS) },
	"pageJS":   func() template.JS { return template.JS(pageJS) },
	"policy":   policy, "place": paperPlace, "heading": heading, "fullName": fullName, "manifest": manifest,
	"counted": counted, "join": strings.Join, "thousands": thousands, "table": pageTableOf, "replays": replaysOf,
	"drawing": drawing,
	"minute":  func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") },
}).Parse(pageHTML))

// HTML writes a page that needs nothing else: its styles, its scripts, its figures and
// its trials are in it, and a policy in its head forbids it to load anything. It
// works without its scripts, except for replays. The same records give the same
// bytes. Errors are those of w, or say what cannot be drawn.
func HTML(w io.Writer, p *Page) error {
	return execute(w, "page", pageViewOf(p))
}

// execute writes a part of the page. Whatever names and words are in it, no
// control character comes out.
func execute(w io.Writer, name string, data any) error {
	buffer := bufio.NewWriterSize(w, 1<<16)
	out := transform.NewWriter(buffer, runes.Map(func(r rune) rune { return harmless(r, "\n\t") }))
	if err := pageTemplate.ExecuteTemplate(out, name, data); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return buffer.Flush()
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
	*Page
	Dates, Programs, Models []string           // of the runs
	References              int                // models that are built-in agents
	Findings, Controls      []analysis.Finding // of models, and of controls alone
	Topics                  []pageTopic
	Few                     bool     // results: they need no folding
	Absent                  []string // what is not in the run
}

// fewResults are unfolded from the beginning, such as those of a comparison, or
// those that --table chose.
const fewResults = 8

// A pageTopic is the tables and figures on one subject.
type pageTopic struct {
	ID      string
	Name    analysis.Topic
	Figures []*analysis.Figure
	Tables  []*analysis.Table
}

// pageReplays are the trials of a page.
type pageReplays struct {
	Packed             template.HTML // base64: letters, digits, + and /
	Shown, All, Failed int
	Run                string // the first, as a shell takes it
}

func pageViewOf(p *Page) *pageView {
	v := &pageView{Page: p}
	for _, f := range p.Summary.Findings {
		if f.Control {
			v.Controls = append(v.Controls, f)
		} else {
			v.Findings = append(v.Findings, f)
		}
	}
	v.about()
	v.results()
	return v
}

// about says what was run, when and with what.
func (v *pageView) about() {
	var controls []string
	for i := range v.Runs {
		m := &v.Runs[i].Manifest
		v.Dates = append(v.Dates, m.Created.UTC().Format("2 January 2006"))
		v.Programs = append(v.Programs, "spatialstale "+m.Program)
		for _, model := range m.Models {
			v.Models = append(v.Models, model.Name)
			if model.Control {
				controls = append(controls, model.Name)
			}
		}
	}
	v.Dates, v.Programs, v.Models = distinct(v.Dates), distinct(v.Programs), distinct(v.Models)
	v.References = len(distinct(controls))
}

// distinct returns each of several strings once, in the order of a list.
func distinct(list []string) (out []string) {
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// results puts tables and figures under their topics, in the topics' order;
// those without one are last.
func (v *pageView) results() {
	tables, absent := split(v.Tables)
	for _, name := range append(slices.Clone(analysis.Topics), "") {
		topic := pageTopic{ID: fmt.Sprintf("topic-%d", len(v.Topics)+1), Name: cmp.Or(name, "Results")}
		for i := range v.Figures {
			if f := &v.Figures[i]; f.Topic == name && len(f.Panels) > 0 {
				topic.Figures = append(topic.Figures, f)
			}
		}
		for _, t := range tables {
			if t.Topic == name {
				topic.Tables = append(topic.Tables, t)
			}
		}
		if len(topic.Figures)+len(topic.Tables) > 0 {
			v.Topics = append(v.Topics, topic)
		}
	}
	for _, f := range v.Figures {
		if len(f.Panels) == 0 {
			v.Absent = append(v.Absent, need(f.ID, f.Paper, f.Need))
		}
	}
	v.Absent = append(v.Absent, absent...)
	v.Few = len(tables)+len(v.Figures) <= fewResults
}

// drawing returns a figure as a page embeds it.
func drawing(f *analysis.Figure) (template.URL, error) {
	var b bytes.Buffer
	err := figure.Draw(&b, f, "svg", figure.Screen)
	return template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(b.Bytes())), err
}

// replaysOf says which trials a page has, nil for none.
func replaysOf(p *Page) (*pageReplays, error) {
	ts := p.Trials
	if ts == nil || ts.added == 0 {
		return nil, nil
	}
	packed, err := ts.base64()
	if err != nil {
		return nil, err
	}
	out := &pageReplays{Packed: template.HTML(packed), Shown: ts.embedded, All: ts.added, Failed: ts.failed}
	if len(p.Runs) > 0 {
		out.Run = quoted(p.Runs[0].Name)
	}
	return out, nil
}

// behind returns the fragment of a page that lists the trials behind a row: what
// its labels have in common with their settings. It is empty when there are none.
func (ts *Trials) behind(t *analysis.Table, row []analysis.Cell) string {
	if ts == nil {
		return ""
	}
	query := url.Values{}
	for i := range t.Columns {
		if t.Columns[i].Kind != analysis.Label {
			continue
		}
		switch key := t.Columns[i].Key; key {
		case "detector":
			query.Set("task", record.Detect)
			query.Set("strategy", row[i].Label)
		case "strategy":
			query.Set("task", record.Navigate)
			fallthrough
		case "model", "modality", "regime":
			query.Set(key, row[i].Label)
		}
	}
	some := slices.ContainsFunc(ts.doc.Settings, func(s replaySetting) bool {
		has := map[string]string{"task": s.Task, "model": s.Model, "modality": s.Modality, "regime": s.Regime, "strategy": s.Strategy}
		for key := range query {
			if has[key] != query.Get(key) {
				return false
			}
		}
		return true
	})
	if len(query) < 2 || !some {
		return ""
	}
	return "#trials?" + query.Encode()
}

// manifest shows a manifest as it is, without what the page shows next to it and
// without the hashes of instances, of which there are hundreds.
func manifest(m record.Manifest) (string, error) {
	m.Instances, m.Prompts = nil, nil
	var b strings.Builder
	err := indented(&b, m, "  ")
	return strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(b.String()), err
}

// quoted protects a word from a shell.
func quoted(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.:@+,") == "" && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
