package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/spatialstale/spatialstale/record"
)

// lockName is the file whose lock marks the one process that writes to a run.
// The lock goes with the process; the file stays and means nothing by itself.
const lockName = "run.lock"

// ErrBusy is wrapped by the error for a run that another process writes to.
var ErrBusy = errors.New("another process is writing to the run")

// lockRun takes the lock of a run folder, or reports ErrBusy.
func lockRun(dir string) (*flock.Flock, error) {
	path := filepath.Join(dir, lockName)
	lock := flock.New(path, flock.SetPermissions(0o644)) // readable like the rest of the folder
	switch held, err := lock.TryLock(); {
	case err != nil:
		return nil, explain(path, err)
	case !held:
		return nil, fmt.Errorf("%s: %w; wait until it has finished, or stop it", dir, ErrBusy)
	}
	return lock, nil
}

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
	run, err := Open(dir) // says what is wrong before anything is touched
	if err != nil {
		return nil, err
	}
	if err := run.Close(); err != nil {
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
	if run, err = Open(dir); err != nil {
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
	outline, ended, begun, err := run.standing()
	if err := errors.Join(err, run.Close()); err != nil {
		return nil, err
	}
	s, err := newScribe(path, len(ended), opts)
	if err != nil {
		return nil, err
	}
	copy(s.ended, ended)
	w = startWriter(s, outline, opts)
	w.dir, w.lock, w.manifest, w.ended, w.begun = dir, lock, found, ended, begun
	return w, nil
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
	if err := db.exec("CREATE TEMP TABLE before AS SELECT key, ordinal FROM trials; DELETE FROM trials"); err != nil {
		return err
	}
	if err := fillPlan(db, e.Plan); err != nil {
		return err
	}
	var lost int
	if err := db.queryRow("SELECT count(*) FROM before WHERE key NOT IN (SELECT key FROM trials)").Scan(&lost); err != nil {
		return err
	}
	if lost > 0 {
		return fmt.Errorf("the larger study lacks %d trials of the run; a run can only grow", lost)
	}
	if err := db.exec(`
		CREATE TEMP TABLE moved(old INTEGER PRIMARY KEY, new INTEGER NOT NULL);
		INSERT INTO moved SELECT b.ordinal, t.ordinal FROM before b JOIN trials t ON t.key = b.key;
		UPDATE results SET trial = -1 - (SELECT new FROM moved WHERE old = trial);
		UPDATE results SET trial = -1 - trial;
		UPDATE calls SET trial = (SELECT new FROM moved WHERE old = trial);
		DELETE FROM instances;
		DROP TABLE moved;
		DROP TABLE before`); err != nil {
		return err
	}
	if err := fillInstances(db, e.Instances); err != nil {
		return err
	}
	return db.exec("UPDATE meta SET value = ? WHERE name = 'manifest'", manifest)
}

// standing is how far the run is: its outline, which trials have ended, and
// which others have finished calls.
func (r *Run) standing() (o *outline, ended []bool, begun map[string]bool, err error) {
	var broken error
	o, err = newOutline(func(yield func(record.Spec) bool) {
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
	ended = make([]bool, len(o.sums))
	begun = map[string]bool{}
	for _, q := range []struct {
		query string
		note  func(ordinal int, key string)
	}{
		{"SELECT r.trial, t.key FROM results r JOIN trials t ON t.ordinal = r.trial", func(i int, _ string) { ended[i] = true }},
		{"SELECT DISTINCT c.trial, t.key FROM calls c JOIN trials t ON t.ordinal = c.trial", func(i int, key string) {
			if !ended[i] {
				begun[key] = true
			}
		}},
	} {
		rows, err := r.db.query(q.query)
		if err != nil {
			return nil, nil, nil, r.broken("the plan", err)
		}
		for rows.Next() {
			var ordinal int
			var key string
			if err := rows.Scan(&ordinal, &key); err != nil {
				rows.Close()
				return nil, nil, nil, r.broken("the plan", err)
			}
			q.note(ordinal, key)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, nil, nil, r.broken("the plan", err)
		}
	}
	return o, ended, begun, nil
}

// Ended reports whether a trial had ended when the run was resumed.
func (w *Writer) Ended(key string) bool {
	ordinal, err := w.outline.place(key)
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
