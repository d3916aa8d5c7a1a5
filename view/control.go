package view

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spatialstale/spatialstale/play"
	"github.com/spatialstale/spatialstale/run"
)

// A begun run is one that this viewer has started or gone on with.
type begun struct {
	session *run.Session
	leave   context.CancelFunc // ends it at once
	person  *play.Person       // who plays it; nil for none
}

// cookieName is what the token is kept under: another viewer on this machine has
// another.
func (v *Viewer) cookieName() string {
	sum := sha256.Sum256([]byte(v.options.Token))
	return "spatialstale-" + hex.EncodeToString(sum[:4])
}

// known reports whether a request has the token; one that brings it in its address
// is sent to the address without it.
func (v *Viewer) known(w http.ResponseWriter, r *http.Request) bool {
	if v.options.Token == "" {
		return true
	}
	same := func(text string) bool { return subtle.ConstantTimeCompare([]byte(text), []byte(v.options.Token)) == 1 }
	if query := r.URL.Query(); r.Method == http.MethodGet && query.Has("token") {
		if same(query.Get("token")) {
			http.SetCookie(w, &http.Cookie{Name: v.cookieName(), Value: v.options.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			query.Del("token")
			to := *r.URL
			to.RawQuery = query.Encode()
			http.Redirect(w, r, to.RequestURI(), http.StatusSeeOther)
			return false
		}
	} else if kept, err := r.Cookie(v.cookieName()); err == nil && same(kept.Value) {
		return true
	}
	http.Error(w, "This viewer wants its token: open the address that the program printed when it started, which ends with it.", http.StatusForbidden)
	return false
}

// controls reports whether runs can be changed from here.
func (v *Viewer) controls() bool { return v.options.Token != "" }

// begins keeps a run that has begun here until it ends.
func (v *Viewer) begins(dir string, b *begun) {
	v.mu.Lock()
	v.begun[dir] = b
	delete(v.ended, dir)
	v.mu.Unlock()
	v.working.Go(func() {
		_, err := b.session.Wait()
		b.leave()
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.begun, dir)
		if err != nil && !errors.Is(err, run.ErrStopped) && !errors.Is(err, context.Canceled) {
			v.ended[dir] = err.Error()
		}
	})
}

func (v *Viewer) begunIn(dir string) *begun {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.begun[dir]
}

// stop asks a run to stop, whoever is at work on it.
func (v *Viewer) stop(w http.ResponseWriter, r *http.Request) error {
	l, err := v.find(r.FormValue("name"))
	if err != nil {
		return err
	}
	switch b := v.begunIn(l.Dir); {
	case b == nil:
		err = run.AskToStop(l.Dir)
	case b.person != nil:
		b.leave()
	default:
		b.session.Stop()
	}
	if err != nil {
		return badRequest{err}
	}
	http.Redirect(w, r, "/run?"+query(l.Name), http.StatusSeeOther)
	return nil
}

// resume goes on with a run in this process. A game wants its person.
func (v *Viewer) resume(w http.ResponseWriter, r *http.Request) error {
	l, err := v.find(r.FormValue("name"))
	if err != nil {
		return err
	}
	if name := personOf(&l); name != "" {
		return v.play(w, r, l.Dir, &play.Game{Name: name})
	}
	ctx, leave := context.WithCancel(v.ctx)
	session, err := run.Resume(ctx, l.Dir, run.ResumeOptions{RetryErrors: l.Failed > 0 && l.Done == l.Planned})
	if err != nil {
		leave()
		return badRequest{fmt.Errorf("it cannot go on: %w", err)}
	}
	v.begins(l.Dir, &begun{session: session, leave: leave})
	http.Redirect(w, r, "/run?"+query(l.Name), http.StatusSeeOther)
	return nil
}

// branch continues an episode from one step on under something else.
func (v *Viewer) branch(w http.ResponseWriter, r *http.Request) error {
	l, err := v.find(r.FormValue("name"))
	if err != nil {
		return err
	}
	at, err := whole(r, "at")
	if err != nil {
		return err
	}
	key := r.FormValue("key")
	o := run.BranchOptions{At: at, Model: r.FormValue("model"), Action: r.FormValue("action")}
	if by := r.FormValue("strategy"); by != "" {
		o.Strategies = []string{by}
	}
	o.Dir = v.unused(fmt.Sprintf("branch-%.8s-at-%d", key, at))
	ctx, leave := context.WithCancel(v.ctx)
	session, err := run.Branch(ctx, l.Dir, key, o)
	if err != nil {
		leave()
		return badRequest{err}
	}
	v.begins(o.Dir, &begun{session: session, leave: leave})
	http.Redirect(w, r, "/run?"+query(run.NameIn(v.options.Folder, o.Dir))+"#trials", http.StatusSeeOther)
	return nil
}

// unused is a folder below ours that is not there yet.
func (v *Viewer) unused(name string) string {
	dir := filepath.Join(v.options.Folder, name)
	for n := 2; there(dir); n++ {
		dir = filepath.Join(v.options.Folder, fmt.Sprintf("%s-%d", name, n))
	}
	return dir
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Close ends what was begun here: calls under way get some seconds, and what is
// finished is kept.
func (v *Viewer) Close() error {
	v.mu.Lock()
	for _, b := range v.begun {
		if b.person != nil {
			b.leave()
		} else {
			b.session.Stop()
		}
	}
	v.mu.Unlock()
	late := time.AfterFunc(patience, v.leave)
	v.working.Wait()
	late.Stop()
	v.leave()
	return nil
}

// patience is how long calls under way are waited for at the end.
const patience = 5 * time.Second
