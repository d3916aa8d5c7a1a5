package view

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// events tells a page how its run, or the list of runs, has changed, as
// server-sent events: each is the part of the page that takes the place of the one
// before.
func (v *Viewer) events(w http.ResponseWriter, r *http.Request) error {
	render := func() (string, error) {
		if !r.Form.Has("name") {
			return v.listPart(r.FormValue("q"))
		}
		return v.livePart(r)
	}
	if err := r.ParseForm(); err != nil {
		return badRequest{err}
	}
	last, err := render()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	tick := time.NewTicker(v.options.Every)
	defer tick.Stop()
	send := func(text string) error {
		if _, err := fmt.Fprintf(w, "data: %s\n\n", strings.ReplaceAll(text, "\n", "\ndata: ")); err != nil {
			return err
		}
		return control.Flush()
	}
	if send(last) != nil {
		return nil // whoever watched has gone
	}
	for quiet := 0; ; quiet++ {
		select {
		case <-r.Context().Done():
			return nil
		case <-tick.C:
		}
		now, err := render()
		if err != nil { // it may have vanished: the page keeps what it shows, and says so
			now = `<p class="warning">` + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(err.Error()) + "</p>"
		}
		if now == last {
			if quiet%15 == 14 { // that connections are not taken for dead
				if _, err := fmt.Fprint(w, ": \n\n"); err != nil || control.Flush() != nil {
					return nil
				}
			}
			continue
		}
		if last = now; send(now) != nil {
			return nil
		}
	}
}

func (v *Viewer) listPart(search string) (string, error) {
	runs, err := v.runs(search)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = templates.ExecuteTemplate(&b, "runs", map[string]any{"Runs": v.rows(runs), "Folder": v.options.Folder, "Search": search})
	return b.String(), err
}

func (v *Viewer) livePart(r *http.Request) (string, error) {
	l, stored, err := v.open(r)
	if err != nil {
		return "", err
	}
	defer stored.Close()
	now, err := v.status(&l, stored)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = templates.ExecuteTemplate(&b, "live", now)
	return b.String(), err
}
