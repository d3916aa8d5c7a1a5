package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// A Resumption says how a run goes on.
type Resumption struct {
	Options
	RetryErrors bool       // forget the ends of failed trials, so that they are made again; their finished calls stay
	Extend      *Extension // add trials to the plan; nil for none
}

// An Extension is a run's larger configuration. Its plan holds every trial of
// the run so far, in any places.
type Extension struct {
	Manifest  record.Manifest // Trials is set to the plan's length
	Plan      iter.Seq[record.Spec]
	Instances []record.Instance
}

// Resume opens a run to go on with it: one that was interrupted in any way, or
// that is to be extended. Errors are those of Open, and ErrBusy while another
// process writes to the run.
func Resume(dir string, how Resumption) (w *Writer, err error) {
	opts, err := how.Options.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := checkSound(dir); err != nil { // says what is wrong before anything is touched
		return nil, err
	}
	lock, err := lockRun(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	path := filepath.Join(dir, DatabaseName)
	if err := upgrade(path); err != nil {
		return nil, err
	}
	var manifest []byte
	if how.Extend != nil {
		m := how.Extend.Manifest
		m.Trials = 0
		for range how.Extend.Plan {
			m.Trials++
		}
		if manifest, err = manifestJSON(m); err != nil {
			return nil, err
		}
	}
	if err := prepareResume(path, how, manifest); err != nil {
		return nil, err
	}
	if manifest != nil {
		if err := writeAtomically(filepath.Join(dir, ManifestName), manifest); err != nil {
			return nil, explain(dir, err)
		}
	}
	run, err := Open(dir)
	if err != nil {
		return nil, err
	}
	if opts.Sync {
		if err := checkRoom(dir); err != nil {
			return nil, errors.Join(err, run.Close())
		}
	}
	found := run.Manifest()
	if err := renewManifest(dir, found); err != nil {
		return nil, errors.Join(err, run.Close())
	}
	plan, ended, begun, err := run.progress()
	if err := errors.Join(err, run.Close()); err != nil {
		return nil, err
	}
	c, err := newCommitter(path, slices.Clone(ended), opts)
	if err != nil {
		return nil, err
	}
	w = startWriter(c, plan, opts)
	w.dir, w.lock, w.manifest, w.ended, w.begun = dir, lock, found, ended, begun
	return w, nil
}

// checkSound opens a run and closes it. What the database has beside our tables
// is refused: a trigger would change what is written.
func checkSound(dir string) error {
	run, err := Open(dir)
	if err != nil {
		return err
	}
	strange, err := run.strangeObjects()
	if err == nil && len(strange) > 0 {
		err = damaged(run.db.path, fmt.Errorf("its database has what no version of this program makes: %s", strings.Join(strange, "; ")))
	}
	return errors.Join(err, run.Close())
}

// prepareResume makes the changes that a resumption asks for, all or none.
func prepareResume(path string, how Resumption, manifest []byte) (err error) {
	db, err := connect(path, writing)
	if err != nil {
		return explain(path, err)
	}
	defer func() { err = errors.Join(err, db.close()) }()
	// What an earlier log holds goes into the database, so that logs do not add
	// up where the disk is nearly full.
	if err := db.exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return explain(path, err)
	}
	if !how.RetryErrors && how.Extend == nil {
		return nil
	}
	if err := db.exec("BEGIN IMMEDIATE"); err != nil {
		return explain(path, err)
	}
	if how.RetryErrors {
		err = db.exec("DELETE FROM results WHERE outcome = ?", record.Failed)
	}
	if err == nil && how.Extend != nil {
		err = extend(db, how.Extend, manifest)
	}
	if err != nil {
		return explain(path, errors.Join(err, db.exec("ROLLBACK")))
	}
	return explain(path, db.exec("COMMIT"))
}

// extend gives the run a larger plan. Results and calls follow their trials to
// new places.
func extend(db *database, e *Extension, manifest []byte) error {
	if err := db.exec("CREATE TEMP TABLE before AS SELECT key, ordinal FROM plan; DELETE FROM plan; DELETE FROM instances"); err != nil {
		return err
	}
	in, err := newInserter(db)
	if err != nil {
		return err
	}
	if err := errors.Join(fillPlan(in, e.Plan), fillInstances(in, e.Instances)); err != nil {
		return err
	}
	var lost int
	if err := db.queryRow("SELECT count(*) FROM before WHERE key NOT IN (SELECT key FROM plan)").Scan(&lost); err != nil {
		return err
	}
	if lost > 0 {
		return fmt.Errorf("the larger study lacks %d trials of the run; a run can only grow", lost)
	}
	if err := db.exec(`
		CREATE TEMP TABLE moved(old INTEGER PRIMARY KEY, new INTEGER NOT NULL);
		INSERT INTO moved SELECT b.ordinal, p.ordinal FROM before b JOIN plan p ON p.key = b.key;
		UPDATE results SET trial = -1 - (SELECT new FROM moved WHERE old = trial);
		UPDATE results SET trial = -1 - trial;
		UPDATE calls SET trial = -1 - (SELECT new FROM moved WHERE old = trial);
		UPDATE calls SET trial = -1 - trial;
		DROP TABLE moved;
		DROP TABLE before`); err != nil {
		return err
	}
	return db.exec("UPDATE meta SET value = ? WHERE name = 'manifest'", string(manifest))
}

// progress is how far the run is: its plan, which trials have ended, and which
// others have finished calls.
func (r *Run) progress() (plan *outline, ended []bool, begun map[string]bool, err error) {
	var broken error
	plan, err = newOutline(func(yield func(record.Spec) bool) {
		for spec, err := range r.Plan() {
			if err != nil {
				broken = err
				return
			}
			if !yield(spec) {
				return
			}
		}
	})
	if err := errors.Join(broken, err); err != nil {
		return nil, nil, nil, err
	}
	ordinals, err := values[int](r, "the results", "SELECT trial FROM results WHERE trial IN (SELECT ordinal FROM plan)")
	if err != nil {
		return nil, nil, nil, err
	}
	ended = make([]bool, len(plan.checksums))
	for _, i := range ordinals {
		ended[i] = true
	}
	keys, err := values[string](r, "the calls", "SELECT key FROM plan WHERE ordinal IN (SELECT trial FROM calls) AND ordinal NOT IN (SELECT trial FROM results)")
	if err != nil {
		return nil, nil, nil, err
	}
	begun = map[string]bool{}
	for _, key := range keys {
		begun[key] = true
	}
	return plan, ended, begun, nil
}

// Ended reports whether a trial had ended when the run was resumed.
func (w *Writer) Ended(key string) bool {
	ordinal, err := w.plan.place(key)
	return err == nil && w.ended != nil && w.ended[ordinal]
}

// Lookup returns the finished call of a trial's slot that was there when the
// run was resumed, nil when there was none. Its prompt is left out.
func (w *Writer) Lookup(_ context.Context, trial, slot string) (*record.Call, error) {
	if !w.begun[trial] {
		return nil, nil
	}
	w.pastMu.Lock()
	defer w.pastMu.Unlock()
	calls, known := w.past[trial]
	if !known {
		var err error
		if calls, err = readCalls(w.dir, trial); err != nil {
			return nil, err
		}
		if w.past == nil {
			w.past = map[string]map[string]*record.Call{}
		}
		w.past[trial] = calls
	}
	return calls[slot], nil
}

// readCalls reads the calls of one trial. The run is opened for that moment
// only: a reader that stays keeps the log from shrinking.
func readCalls(dir, trial string) (map[string]*record.Call, error) {
	run, err := Open(dir)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	list, err := run.TrialCalls(trial)
	if err != nil {
		return nil, err
	}
	calls := make(map[string]*record.Call, len(list))
	for _, c := range list {
		c.Prompt = nil
		calls[c.Slot] = c
	}
	return calls, nil
}

// forget drops the past calls of a trial that has ended.
func (w *Writer) forget(trial string) {
	if w.begun[trial] {
		w.pastMu.Lock()
		delete(w.past, trial)
		w.pastMu.Unlock()
	}
}
