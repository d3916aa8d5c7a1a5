package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

// pageRows is how many trials a page has.
const pageRows = 100

// A column is one of the table of trials.
type column struct {
	Name, Label string
	Values      []string // to choose from; none where all trials have the same
	Chosen      string
	Sorted      string // "ascending", "descending" or ""
	Link        string // that sorts by it
}

// sortable are the columns, in the table's order.
var sortable = []struct{ name, label string }{
	{"seed", "seed"}, {"task", "task"}, {"model", "model"}, {"modality", "modality"}, {"regime", "regime"}, {"strategy", "strategy"}, {"batch", "batch"},
	{"framing", "framing"}, {"size", "size"}, {"episode", "episode"}, {"outcome", "outcome"}, {"cause", "cause of death"}, {"moves", "steps"},
	{"missed", "missed"}, {"flagged", "flagged wrongly"}, {"unanswered", "unanswered"}, {"fallbacks", "fallbacks"},
}

// cell is what a column says of a trial.
func cell(name string, r store.Row) string {
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	switch name {
	case "seed":
		return strconv.Itoa(r.Seed)
	case "task":
		return r.Task
	case "model":
		return r.Model
	case "modality":
		return r.Modality
	case "regime":
		return r.Regime
	case "strategy":
		return r.Strategy
	case "batch":
		return number(r.Batch)
	case "framing":
		return r.Framing
	case "size":
		return fmt.Sprintf("%d×%d", r.Spec.Rows, r.Cols)
	case "episode":
		return number(r.Episode)
	case "outcome":
		return r.Outcome
	case "cause":
		return r.Cause
	case "moves":
		if r.Moves != nil {
			return strconv.Itoa(*r.Moves)
		}
	}
	if r.Outcome == "" {
		return ""
	}
	switch name {
	case "missed":
		return strconv.Itoa(r.Counts.FN)
	case "flagged":
		return strconv.Itoa(r.Counts.FP)
	case "unanswered":
		return strconv.Itoa(r.Counts.Unanswered)
	case "fallbacks":
		return strconv.Itoa(r.Fallbacks)
	}
	return ""
}

// always are the columns that a table has though all trials say the same.
var always = []string{"seed", "outcome", "cause", "moves", "missed", "flagged", "unanswered", "fallbacks"}

// brief is a model's name without its settings.
func brief(name string) string {
	before, _, found := strings.Cut(name, "?")
	if found {
		before += "?…"
	}
	return before
}

// unended is how a condition says that a trial has not ended.
const unended = "not ended"

// run shows a run: how far it is, and its trials.
func (v *Viewer) run(w http.ResponseWriter, r *http.Request) error {
	l, stored, err := v.open(r)
	if err != nil {
		return err
	}
	defer stored.Close()
	q := store.Query{Where: map[string][]string{}, Order: r.FormValue("sort"), Desc: r.FormValue("desc") != "", Limit: pageRows}
	if q.Offset, err = whole(r, "from"); err != nil {
		return err
	}
	address := url.Values{"name": {l.Name}}
	for _, c := range sortable {
		value := r.FormValue(c.name)
		if value == "" {
			continue
		}
		address.Set(c.name, value)
		if c.name == "outcome" && value == unended {
			value = ""
		}
		q.Where[c.name] = []string{value}
	}
	for _, key := range []string{"sort", "desc"} {
		if value := r.FormValue(key); value != "" {
			address.Set(key, value)
		}
	}
	rows, all, choices, err := v.rowsOf(&l, stored, q)
	if err != nil {
		return badRequest{err}
	}
	repaired := map[string]string{}
	for i := range rows {
		if rows[i].Outcome == "" {
			continue
		}
		t, err := stored.Trial(rows[i].Key)
		if err != nil {
			return err
		}
		repaired[rows[i].Key] = strconv.Itoa(t.Repaired())
	}
	at := func(from int) string {
		if from < 0 || from >= all {
			return ""
		}
		page := url.Values{}
		for k, values := range address {
			page[k] = values
		}
		if from > 0 {
			page.Set("from", strconv.Itoa(from))
		}
		return "/run?" + page.Encode() + "#trials"
	}
	var columns []column
	for _, c := range sortable {
		if choices[c.name] == nil && !slices.Contains(always, c.name) && !(c.name == "episode" && len(rows) > 0 && rows[0].Episode > 0) {
			continue
		}
		col := column{Name: c.name, Label: c.label, Values: choices[c.name], Chosen: address.Get(c.name)}
		if c.name == "outcome" {
			for i, value := range col.Values {
				if value == "" {
					col.Values[i] = unended
				}
			}
		}
		col.Values = slices.DeleteFunc(col.Values, func(v string) bool { return v == "" })
		by := url.Values{}
		for k, values := range address {
			by[k] = values
		}
		by.Set("sort", c.name)
		by.Del("desc")
		if q.Order == c.name {
			col.Sorted = "ascending"
			if q.Desc {
				col.Sorted = "descending"
			} else {
				by.Set("desc", "1")
			}
		}
		col.Link = "/run?" + by.Encode() + "#trials"
		columns = append(columns, col)
	}
	live, err := v.status(&l, stored)
	if err != nil {
		return err
	}
	return v.page(w, http.StatusOK, "run", map[string]any{
		"Title": l.Name, "Run": l, "Live": live, "Columns": columns, "Rows": rows, "Repaired": repaired, "All": all, "From": q.Offset + 1, "To": q.Offset + len(rows),
		"Before": at(q.Offset - pageRows), "After": at(q.Offset + pageRows), "Query": template.URL(query(l.Name)), "Filtered": len(q.Where) > 0,
		"Sort": r.FormValue("sort"), "Desc": r.FormValue("desc"),
	})
}

// whole is a whole number of an address, 0 where there is none.
func whole(r *http.Request, name string) (int, error) {
	text := r.FormValue(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, badRequest{fmt.Errorf("%s=%s: want a whole number, not below 0", name, text)}
	}
	return n, nil
}

// A live is what is said of a run while it goes on.
type live struct {
	Run   run.Listed
	Words string
	Calls []store.LastCall
	soFar
	Can   string // what can be done with it from here: "stop", "resume" or nothing
	Ended string // why it ended, when it had begun here
	Game  bool   // a person plays it here
	Query template.URL
}

// lastCalls is how many of the last replies are shown, and how much of each.
const lastCalls, lastCharacters = 5, 300

func (v *Viewer) status(l *run.Listed, stored *run.Stored) (now live, err error) {
	now.Run = *l
	if v.options.Words != nil {
		now.Words = v.options.Words(l.Dir)
	}
	now.soFar, now.Query = v.soFar(l), template.URL(query(l.Name))
	b := v.begunIn(l.Dir)
	if b != nil {
		all, _ := b.session.Progress()
		now.Words, now.Game = all.Words(), b.person != nil
	}
	v.mu.Lock()
	now.Ended = v.ended[l.Dir]
	v.mu.Unlock()
	switch {
	case !v.controls():
	case l.Writing:
		now.Can = "stop"
	case l.Done < l.Planned || l.Failed > 0:
		now.Can = "resume"
	}
	if now.Game { // the replies of a person who still plays are their own
		return now, nil
	}
	now.Calls, err = stored.Last(lastCalls, lastCharacters)
	return now, err
}

// trialOf reads a trial of a run with its calls and gives it to the player.
func trialOf(l *run.Listed, stored *run.Stored, key string) (*record.Trial, *report.Replay, error) {
	t, err := stored.Trial(key)
	if errors.Is(err, store.ErrNotPlanned) || errors.Is(err, store.ErrUnfinished) {
		return nil, nil, missing{err}
	}
	if err != nil {
		return nil, nil, err
	}
	in, err := stored.Instance(&t.Spec)
	if err != nil {
		return nil, nil, err
	}
	calls, err := stored.TrialCalls(key)
	if err != nil {
		return nil, nil, err
	}
	return t, report.ReplayOf(l.Dir, t, in, calls), nil
}

// trial shows a trial step by step, and another beside it where one is named.
func (v *Viewer) trial(w http.ResponseWriter, r *http.Request) error {
	l, stored, err := v.open(r)
	if err != nil {
		return err
	}
	defer stored.Close()
	t, replay, err := trialOf(&l, stored, r.FormValue("key"))
	if err != nil {
		return err
	}
	replays := []*report.Replay{replay}
	parting := 0
	origin, err := v.origin(stored)
	if err != nil {
		return err
	}
	if with := r.FormValue("with"); with == "" && origin != nil {
		replays, parting = []*report.Replay{origin.replay, replay}, origin.At
	} else if with != "" {
		second, beside, err := trialOf(&l, stored, with)
		if err != nil {
			return err
		}
		if second.Seed != t.Seed || second.Regime != t.Regime || second.Rows != t.Rows || second.Cols != t.Cols {
			return badRequest{errors.New("the two trials are on different lakes; choose two of one seed, regime and size")}
		}
		replays, parting = append(replays, beside), part(t, second)
	}
	others, _, err := stored.Rows(store.Query{Where: map[string][]string{
		"seed": {strconv.Itoa(t.Seed)}, "regime": {t.Regime}, "task": {t.Task}, "size": {fmt.Sprintf("%dx%d", t.Rows, t.Cols)},
	}, Limit: 500})
	if err != nil {
		return err
	}
	others = slices.DeleteFunc(others, func(o store.Row) bool { return o.Key == t.Key || o.Outcome == "" })
	calls, err := stored.TrialCalls(t.Key)
	if err != nil {
		return err
	}
	data, err := json.Marshal(replays)
	if err != nil {
		return err
	}
	return v.page(w, http.StatusOK, "trial", map[string]any{
		"Title": "Trial " + t.Key, "Run": l, "Trial": t, "Data": string(data), "Others": others, "With": r.FormValue("with"), "Parting": parting,
		"Calls": calls, "Query": template.URL(query(l.Name)), "Origin": origin, "Branches": v.controls() && origin == nil && len(t.Steps) > 0, "Steps": len(t.Steps), "Strategies": study.StrategyNames(),
	})
}

// An original is the episode that a trial continues.
type original struct {
	*study.Branch
	Query  template.URL // of its run
	replay *report.Replay
}

// origin finds the episode that a run's trials continue, nil where they continue
// none or its run is not here.
func (v *Viewer) origin(stored *run.Stored) (*original, error) {
	s, err := stored.Described()
	if err != nil || s.Branch == nil {
		return nil, err
	}
	dirs, err := run.Find(v.options.Folder)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if filepath.Base(dir) != s.Branch.Run {
			continue
		}
		from, err := run.Open(dir)
		if err != nil {
			continue // another run of that name may have it
		}
		defer from.Close()
		l := run.Listed{Dir: dir, Name: run.NameIn(v.options.Folder, dir)}
		if _, replay, err := trialOf(&l, from, s.Branch.Trial); err == nil {
			return &original{s.Branch, template.URL(query(l.Name, "key", s.Branch.Trial)), replay}, nil
		}
	}
	return nil, nil
}

// part is the first step, from 1, at which two episodes go different ways; 0 when
// neither does, or they are no episodes.
func part(a, b *record.Trial) int {
	for i := 0; i < max(len(a.Steps), len(b.Steps)); i++ {
		if i >= len(a.Steps) || i >= len(b.Steps) || a.Steps[i].Next != b.Steps[i].Next {
			return i + 1
		}
	}
	return 0
}

// prompt shows one call of a trial: the prompt as it was sent, and the reply.
func (v *Viewer) prompt(w http.ResponseWriter, r *http.Request) error {
	l, stored, err := v.open(r)
	if err != nil {
		return err
	}
	defer stored.Close()
	key, slot := r.FormValue("key"), r.FormValue("slot")
	parts, err := stored.Prompt(key, slot)
	if err != nil {
		return missing{err}
	}
	calls, err := stored.TrialCalls(key)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(calls, func(c *record.Call) bool { return c.Slot == slot })
	if at < 0 {
		return missing{fmt.Errorf("trial %s has no call %s", key, slot)}
	}
	type shown struct {
		Text, Image string
	}
	var out []shown
	for i, p := range parts {
		if p.Kind == record.PartPNG {
			out = append(out, shown{Image: "/part?" + query(l.Name, "key", key, "slot", slot, "n", strconv.Itoa(i))})
		} else {
			out = append(out, shown{Text: string(p.Data)})
		}
	}
	return v.page(w, http.StatusOK, "prompt", map[string]any{
		"Title": slot + " of trial " + key, "Run": l, "Key": key, "Call": calls[at], "Parts": out, "Query": template.URL(query(l.Name)),
	})
}

// part serves a picture of a prompt.
func (v *Viewer) part(w http.ResponseWriter, r *http.Request) error {
	_, stored, err := v.open(r)
	if err != nil {
		return err
	}
	defer stored.Close()
	n, err := whole(r, "n")
	if err != nil {
		return err
	}
	parts, err := stored.Prompt(r.FormValue("key"), r.FormValue("slot"))
	if err != nil {
		return missing{err}
	}
	if n >= len(parts) || parts[n].Kind != record.PartPNG {
		return missing{errors.New("there is no such picture")}
	}
	w.Header().Set("Content-Type", "image/png")
	_, err = w.Write(parts[n].Data)
	return err
}
