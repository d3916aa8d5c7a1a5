// Package view shows runs in a browser: every run below a folder, how far each is
// while it goes on, its tables and figures, its trials in pages from its database,
// and any trial step by step, alone or beside another. With a token it also stops
// runs, goes on with them, and lets a person play.
//
// It refuses to answer without its token, for another host than those it was told,
// or to another page, and to read a run that is not below its folder.
package view

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/results"
	"github.com/spatialstale/spatialstale/run"
)

// Options say what is shown.
type Options struct {
	Folder string // in which runs are looked for
	// Hosts are names besides those of the loopback that requests may be for.
	Hosts []string
	// Token is what a browser must bring once, in an address; empty for a viewer that
	// asks for none, and changes nothing.
	Token string
	// Words are what the process itself knows of a run that it makes, which the
	// database does not: calls under way, waits and their reasons. Nil for nothing.
	Words func(dir string) string
	// Every is how often a run is looked at while somebody watches it; 0 is a second.
	Every time.Duration
}

// A Viewer is an http.Handler.
type Viewer struct {
	options Options
	mux     http.Handler
	ctx     context.Context // of what begins here
	leave   context.CancelFunc
	working sync.WaitGroup // what has begun here

	reading sync.Mutex // of what runs come to, one at a time

	listingOne sync.Mutex
	listings   []keptListing
	warmed     atomic.Bool

	mu      sync.Mutex
	begun   map[string]*begun     // by folder
	ended   map[string]string     // why what had begun here ended, by folder
	comes   map[string]*soFar     // by folder
	listed  map[string]run.Listed // of runs that have ended, by folder, to be read once
	reports map[string]made
}

// A made page is kept until its run is written to again.
type made struct {
	of   time.Time
	page []byte
}

//go:embed assets/pages.html
var pagesHTML string

//go:embed assets/view.css
var viewCSS string

//go:embed assets/view.js
var viewJS string

// New returns a Viewer.
func New(o Options) *Viewer {
	if o.Every == 0 {
		o.Every = time.Second
	}
	v := &Viewer{options: o, listed: map[string]run.Listed{}, reports: map[string]made{},
		begun: map[string]*begun{}, ended: map[string]string{}, comes: map[string]*soFar{}}
	v.ctx, v.leave = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	v.mux = http.NewCrossOriginProtection().Handler(mux)
	text := func(kind, content string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
		}
	}
	mux.Handle("GET /assets/style.css", text("text/css; charset=utf-8", report.Styles()+viewCSS))
	mux.Handle("GET /assets/view.js", text("text/javascript; charset=utf-8", report.Player()+viewJS))
	pages := map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /{$}": v.list, "GET /run": v.run, "GET /report": v.report, "GET /trial": v.trial,
		"GET /prompt": v.prompt, "GET /part": v.part, "GET /events": v.events,
	}
	if v.controls() {
		pages["POST /stop"], pages["POST /resume"], pages["POST /branch"] = v.stop, v.resume, v.branch
		pages["GET /play"], pages["POST /play"], pages["GET /walk"], pages["POST /walk"] = v.newGame, v.begin, v.walk, v.answer
	}
	for path, page := range pages {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if err := page(w, r); err != nil {
				v.fail(w, r, err)
			}
		})
	}
	return v
}

// ServeHTTP implements http.Handler.
func (v *Viewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !v.allowed(r.Host) {
		http.Error(w, fmt.Sprintf("this viewer does not answer for the host %q", r.Host), http.StatusMisdirectedRequest)
		return
	}
	if v.known(w, r) {
		v.mux.ServeHTTP(w, r)
	}
}

// allowed reports whether a request is for a host that is ours: a page of another
// could otherwise read what is here, under a name that leads to this machine.
func (v *Viewer) allowed(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.Trim(name, "[]")
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	return strings.EqualFold(name, "localhost") || slices.ContainsFunc(v.options.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// A missing is the error of something that is not there.
type missing struct{ error }

// fail tells a person what is wrong.
func (v *Viewer) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	var gone missing
	var bad badRequest
	switch {
	case errors.As(err, &gone):
		status = http.StatusNotFound
	case errors.As(err, &bad):
		status = http.StatusBadRequest
	case r.Context().Err() != nil:
		return
	}
	_ = v.page(w, status, "error", map[string]any{"Title": http.StatusText(status), "Error": err.Error()}) // who asked has gone
}

// A badRequest is a mistake in an address.
type badRequest struct{ error }

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"ago": ago, "minute": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
	"percent": func(a, b int) int {
		if b == 0 {
			return 100
		}
		return 100 * a / b
	},
	"pick": func(chosen, value, words string) option { return option{value, words, chosen == value} },
	"named": func(name string, rows [][]boardCell) any {
		return struct {
			Name string
			Rows [][]boardCell
		}{name, rows}
	},
	"url":  func(s string) template.URL { return template.URL(s) }, // a picture that this program has made
	"join": strings.Join, "thousands": thousands, "cell": cell, "brief": brief,
	"seconds": func(s float64) string { return strconv.FormatFloat(s, 'f', 1, 64) },
}).Parse(pagesHTML))

// An option of a choice.
type option struct {
	Value, Words string
	Chosen       bool
}

// page writes a page from a template.
func (v *Viewer) page(w http.ResponseWriter, status int, name string, data any) error {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, err := w.Write(b.Bytes())
	return err
}

// ago is how long something is in the past.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	}
	return fmt.Sprintf("%d days ago", d/(24*time.Hour))
}

// thousands writes a number with its thousands apart.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// look reads what there is to say of a run; one that has ended is read once for
// each time that it was written to.
func (v *Viewer) look(dir string) (run.Listed, bool) {
	v.mu.Lock()
	kept, known := v.listed[dir]
	v.mu.Unlock()
	if known && kept.Updated.Equal(run.Updated(dir)) {
		return kept, true
	}
	l, there := run.Look(v.options.Folder, dir)
	v.mu.Lock()
	defer v.mu.Unlock()
	if there && !l.Writing && l.Err == nil {
		v.listed[dir] = l
	} else {
		delete(v.listed, dir)
	}
	return l, there
}

// list shows the runs below the folder.
func (v *Viewer) list(w http.ResponseWriter, r *http.Request) error {
	runs, err := v.runs(r.FormValue("q"))
	if err != nil {
		return err
	}
	return v.page(w, http.StatusOK, "list", map[string]any{"Title": "Runs", "Folder": v.options.Folder, "Runs": v.rows(runs), "Search": r.FormValue("q"), "Controls": v.controls()})
}

// A listRow is a run and what it comes to, in a sentence.
type listRow struct {
	run.Listed
	Finding string
}

func (v *Viewer) rows(runs []run.Listed) []listRow {
	v.warm(runs)
	out := make([]listRow, len(runs))
	for i := range runs {
		out[i].Listed = runs[i]
		if now := v.soFar(&runs[i]); len(now.Findings) > 0 {
			out[i].Finding = now.Findings[0]
		}
	}
	return out
}

// runs are those of which the name, study, models or state have all words of a
// search, the newest first.
func (v *Viewer) runs(search string) ([]run.Listed, error) {
	dirs, err := run.Find(v.options.Folder)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(strings.ToLower(search))
	var runs []run.Listed
	for _, dir := range dirs {
		l, there := v.look(dir)
		text := strings.ToLower(strings.Join(append(l.Models, l.Name, l.Title, l.Status()), " "))
		if there && !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) }) {
			runs = append(runs, l)
		}
	}
	slices.SortStableFunc(runs, func(a, b run.Listed) int { return b.Created.Compare(a.Created) })
	return runs, nil
}

// find returns the run that an address names: one below the folder, whatever the
// name says.
func (v *Viewer) find(name string) (run.Listed, error) {
	dirs, err := run.Find(v.options.Folder)
	if err != nil {
		return run.Listed{}, err
	}
	for _, dir := range dirs {
		if run.NameIn(v.options.Folder, dir) == name {
			if l, there := v.look(dir); there {
				return l, nil
			}
		}
	}
	return run.Listed{}, missing{fmt.Errorf("there is no run %q below %s; it may have been moved or deleted", name, v.options.Folder)}
}

// open opens the run that a request names.
func (v *Viewer) open(r *http.Request) (run.Listed, *run.Stored, error) {
	l, err := v.find(r.FormValue("name"))
	if err != nil {
		return l, nil, err
	}
	if l.Err != nil {
		return l, nil, l.Err
	}
	stored, err := run.Open(l.Dir)
	return l, stored, err
}

// report shows the report of a run, as far as it is.
func (v *Viewer) report(w http.ResponseWriter, r *http.Request) error {
	l, err := v.find(r.FormValue("name"))
	if err != nil {
		return err
	}
	v.mu.Lock()
	kept := v.reports[l.Dir]
	v.mu.Unlock()
	if kept.page == nil || !kept.of.Equal(l.Updated) {
		maker := &results.PageMaker{}
		defer maker.Close()
		frame, err := results.Read([]string{l.Dir}, "", maker)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := report.HTML(&b, maker.Page(frame.Summary(), frame.Tables(), frame.Figures())); err != nil {
			return err
		}
		kept = made{l.Updated, b.Bytes()}
		v.mu.Lock()
		v.reports = map[string]made{l.Dir: kept} // the last one, which somebody reloads
		v.mu.Unlock()
	}
	w.Header().Del("Content-Security-Policy") // the page has one of its own, which is stricter
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, err = w.Write(kept.page)
	return err
}

// query is the part of an address that names a run.
func query(name string, more ...string) string {
	values := url.Values{"name": {name}}
	for i := 0; i+1 < len(more); i += 2 {
		values.Set(more[i], more[i+1])
	}
	return values.Encode()
}
