package view

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/play"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
)

// personOf is the name of the person who plays a run; empty for a run of none.
func personOf(l *run.Listed) string {
	if len(l.Models) == 1 {
		if name, ok := strings.CutPrefix(l.Models[0], record.PersonPrefix); ok {
			return name
		}
	}
	return ""
}

// newGame shows the form with which a game begins.
func (v *Viewer) newGame(w http.ResponseWriter, r *http.Request) error {
	filled := func(name, otherwise string) string { return cmp.Or(r.FormValue(name), otherwise) }
	return v.page(w, http.StatusOK, "play", map[string]any{
		"Title": "Play", "Name": filled("name", "me"), "Task": filled("task", record.Navigate), "Seeds": filled("seeds", ""), "Regime": filled("regime", "L2"),
		"Strategy": filled("strategy", ""), "Modality": filled("modality", record.Text), "Size": filled("size", "8x8"), "Radius": filled("radius", "0"), "Episodes": filled("episodes", "1"),
	})
}

// begin begins the game that the form describes.
func (v *Viewer) begin(w http.ResponseWriter, r *http.Request) error {
	g := &play.Game{Name: r.FormValue("name"), Task: r.FormValue("task"), Size: r.FormValue("size"), Modality: r.FormValue("modality"),
		Seeds: words(r.FormValue("seeds")), Regimes: words(r.FormValue("regime")), Strategy: words(r.FormValue("strategy"))}
	var err [2]error
	g.Radius, err[0] = whole(r, "radius")
	g.Episodes, err[1] = whole(r, "episodes")
	if err := errors.Join(err[:]...); err != nil {
		return err
	}
	if _, err := g.Study(); err != nil {
		return badRequest{err}
	}
	if err := run.NameModels([]string{record.PersonPrefix + g.Name}); err != nil { // which is part of a folder's name
		return badRequest{err}
	}
	return v.play(w, r, v.unused("play-"+g.Name), g)
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// play begins a game, or goes on with it.
func (v *Viewer) play(w http.ResponseWriter, r *http.Request, dir string, g *play.Game) error {
	ctx, leave := context.WithCancel(v.ctx)
	b := &begun{leave: leave, person: play.New()}
	var err error
	if b.session, err = play.Begin(ctx, dir, g, b.person); err != nil {
		leave()
		return badRequest{err}
	}
	v.begins(dir, b)
	http.Redirect(w, r, "/walk?"+query(run.NameIn(v.options.Folder, dir)), http.StatusSeeOther)
	return nil
}

// nextWait is how long the next question is waited for. It comes at once, or the
// game is over.
const nextWait = 10 * time.Second

// A cell of a board is a letter, or nothing that is known.
type boardCell struct {
	Letter string
	Words  string // for people, and for those who hear the page
	Agent  bool
}

var cellWords = map[string]string{"S": "start", "F": "ice", "H": "hole", "G": "goal", "?": "not seen", "s": "remembered as safe", "d": "remembered as danger", "u": "remembered as unknown", ".": "nothing remembered"}

func board(rows []string, agent *lake.Pos) (out [][]boardCell) {
	for r, row := range rows {
		var line []boardCell
		for c, letter := range strings.Split(row, "") {
			line = append(line, boardCell{letter, cellWords[letter], agent != nil && *agent == lake.Pos{Row: r, Col: c}})
		}
		out = append(out, line)
	}
	return out
}

// walk shows what a person is asked, as soon as it is.
func (v *Viewer) walk(w http.ResponseWriter, r *http.Request) error {
	l, b, err := v.game(r)
	if err != nil {
		return err
	}
	ended := "/run?" + query(l.Name) + "#trials"
	late := time.After(nextWait)
	for b != nil {
		q, changed := b.person.Question()
		if q != nil {
			return v.ask(w, &l, q)
		}
		select {
		case <-changed:
		case <-late:
			b = nil
		case <-r.Context().Done():
			return nil
		case <-time.After(50 * time.Millisecond):
			b = v.begunIn(l.Dir)
		}
	}
	http.Redirect(w, r, ended, http.StatusSeeOther)
	return nil
}

func (v *Viewer) ask(w http.ResponseWriter, l *run.Listed, q *play.Question) error {
	now := map[string]any{"Title": "Play", "Game": l, "Question": q, "Query": template.URL(query(l.Name)), "Seen": board(q.Rows, q.Agent), "Actions": lake.Actions}
	if q.Picture != nil {
		now["Picture"] = "data:image/png;base64," + base64.StdEncoding.EncodeToString(q.Picture)
	}
	if rows, cols := q.Goal.Row+1, q.Goal.Col+1; len(q.Entries) > 0 && q.Agent != nil && !q.Audit {
		var claims []string
		for _, line := range q.Claims(rows, cols) {
			claims = append(claims, strings.ToLower(line))
		}
		now["Claims"] = board(claims, nil)
	}
	return v.page(w, http.StatusOK, "walk", now)
}

func (v *Viewer) game(r *http.Request) (run.Listed, *begun, error) {
	l, err := v.find(r.FormValue("name"))
	if err != nil {
		return l, nil, err
	}
	b := v.begunIn(l.Dir)
	if b != nil && b.person == nil {
		return l, nil, badRequest{fmt.Errorf("%s is no game", l.Name)}
	}
	return l, b, nil
}

// answer takes what a person did.
func (v *Viewer) answer(w http.ResponseWriter, r *http.Request) error {
	l, b, err := v.game(r)
	if err != nil {
		return err
	}
	number, err := whole(r, "number")
	if err != nil {
		return err
	}
	if b != nil {
		if action, ok := lake.ParseAction(r.FormValue("action")); ok {
			err = b.person.Step(number, action)
		} else {
			err = b.person.Judge(number, r.Form["stale"])
		}
		if err != nil && !errors.Is(err, play.ErrPassed) { // of two clicks the second comes late
			return badRequest{err}
		}
		for q, changed := b.person.Question(); q != nil && q.Number == number; q, changed = b.person.Question() {
			select { // until it is taken
			case <-changed:
			case <-r.Context().Done():
				return nil
			}
		}
	}
	http.Redirect(w, r, "/walk?"+query(l.Name)+"&after="+strconv.Itoa(number), http.StatusSeeOther)
	return nil
}
