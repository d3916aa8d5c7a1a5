package store

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spatialstale/spatialstale/record"
)

// partialName is the database's name until all of Create's work is in it.
const partialName = DatabaseName + ".partial"

// Create makes the folder of a new run, with its plan and instances, and
// returns a Writer that adds what happens. Parents are made as needed. The
// plan is gone through twice and must be the same both times; m.Trials is set
// to its length.
//
// The folder may exist but must be empty: a run is never overwritten (the
// error wraps ErrExists). When Create fails, nothing that it made is left.
func Create(dir string, m record.Manifest, plan iter.Seq[record.Spec], instances []record.Instance, opts Options) (w *Writer, err error) {
	opts, err = opts.withDefaults()
	if err != nil {
		return nil, err
	}
	o, err := newOutline(plan)
	if err != nil {
		return nil, err
	}
	m.Trials = len(o.checksums)
	manifest, err := manifestJSON(m)
	if err != nil {
		return nil, err
	}
	made, err := makeFolder(dir)
	defer func() {
		if err != nil {
			made.undo()
		}
	}()
	if err != nil {
		return nil, err
	}
	lock, err := lockRun(dir)
	if err != nil {
		return nil, err
	}
	made.add(lock.file.Path())
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	if opts.Sync {
		if err := checkRoom(dir); err != nil {
			return nil, err
		}
	}
	partial, final := filepath.Join(dir, partialName), filepath.Join(dir, DatabaseName)
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s: %w: another process is just making a run in it; choose another folder: %w", dir, ErrExists, err)
	}
	if err != nil {
		return nil, explain(partial, err)
	}
	made.add(partial, partial+"-wal", partial+"-shm")
	db, err := connect(partial, creating)
	if err == nil {
		err = errors.Join(fillDatabase(db, schemaVersion, manifest, func(in *inserter) error {
			return errors.Join(fillPlan(in, plan), fillInstances(in, instances))
		}), db.close())
	}
	if err != nil {
		f.Close()
		return nil, explain(partial, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return nil, explain(partial, err)
	}
	manifestPath := filepath.Join(dir, ManifestName)
	if err := writeAtomically(manifestPath, manifest); err != nil {
		return nil, explain(manifestPath, err)
	}
	made.add(manifestPath)
	if err := os.Rename(partial, final); err != nil {
		return nil, explain(final, err)
	}
	made.add(final, final+"-wal", final+"-shm")
	if err := syncFolder(dir); err != nil {
		return nil, explain(dir, err)
	}
	c, err := newCommitter(final, make([]bool, len(o.checksums)), opts)
	if err != nil {
		return nil, err
	}
	w = startWriter(c, o, opts)
	w.dir, w.lock, w.manifest = dir, lock, m
	return w, nil
}

// fillDatabase makes the tables and writes all that is known at first. format is
// the version of the tables that the run was made with.
func fillDatabase(db *database, format int, manifest []byte, rows func(*inserter) error) error {
	setup := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; BEGIN;", applicationID, schemaVersion)
	if err := db.exec(setup + schema); err != nil {
		return err
	}
	if err := db.exec("INSERT INTO meta(name, value) VALUES ('manifest', ?), ('first_format', ?)", string(manifest), fmt.Sprint(format)); err != nil {
		return err
	}
	in, err := newInserter(db)
	if err != nil {
		return err
	}
	if err := rows(in); err != nil {
		return err
	}
	return db.exec("COMMIT")
}

func fillPlan(in *inserter, plan iter.Seq[record.Spec]) error {
	i := 0
	for spec := range plan {
		if err := in.spec(i, &spec); err != nil {
			return err
		}
		i++
	}
	return nil
}

func fillInstances(in *inserter, instances []record.Instance) error {
	for i := range instances {
		if err := in.instance(i, &instances[i]); err != nil {
			return err
		}
	}
	return nil
}

// creation is what Create has made so far, in order.
type creation []string

func (c *creation) add(paths ...string) { *c = append(*c, paths...) }

// undo removes it again, latest first. A folder that somebody else has put
// something into in the meantime stays.
func (c creation) undo() {
	for i := len(c) - 1; i >= 0; i-- {
		os.Remove(c[i])
	}
}

// makeFolder makes dir and its parents unless dir is an empty folder already,
// and returns the folders that it made.
func makeFolder(dir string) (made creation, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) == 0:
		return nil, nil
	case err == nil:
		return nil, taken(dir, entries)
	case !errors.Is(err, fs.ErrNotExist):
		if info, statErr := os.Stat(dir); statErr == nil && !info.IsDir() {
			return nil, fmt.Errorf("%s: %w: it is a file, not a folder; choose another name for the run's folder", dir, ErrExists)
		}
		return nil, explain(dir, err)
	}
	var missing []string
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, at)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := os.Mkdir(missing[i], 0o777); err != nil {
			return made, explain(missing[i], err)
		}
		made.add(missing[i])
	}
	return made, nil
}

// taken says what a folder holds that is not empty.
func taken(dir string, entries []os.DirEntry) error {
	for _, e := range entries {
		if e.Name() == DatabaseName {
			return fmt.Errorf("%s: %w: it holds a run already, and a run is never overwritten; choose another folder, or delete this one if the run is no longer wanted", dir, ErrExists)
		}
	}
	return fmt.Errorf("%s: %w: it is not empty (%s, …); choose a new or an empty folder", dir, ErrExists, entries[0].Name())
}

// syncFolder makes the names in a folder durable, where the system can.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Discard removes what a Create that was killed has left in a folder: no trial had
// begun, and nothing is lost. A folder that holds a run, or is not there, stays as it
// is. Errors: ErrBusy while another process makes the run, and those of the system.
func Discard(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, DatabaseName)); err == nil {
		return nil
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := tryLock(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	for _, name := range []string{partialName, partialName + "-wal", partialName + "-shm", partialName + "-journal", ManifestName} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return explain(dir, err)
		}
	}
	return os.Remove(lock.file.Path())
}
