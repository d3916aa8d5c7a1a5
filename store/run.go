package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/spatialstale/spatialstale/record"
)

// A Run is a run folder opened for reading. It shows the run as it was when
// Open returned, so that what its methods say fits together even while the run
// goes on; open it again to see more. One goroutine at a time may use it; its
// iterators may be nested and left early.
type Run struct {
	db       *database
	manifest record.Manifest
	blobs    *blobReader
}

// Open opens a run, finished, interrupted or still going, and changes nothing
// in it. Its errors wrap fs.ErrNotExist when there is no such folder, ErrNoRun
// when it holds no run, ErrNewer and ErrDamaged.
func Open(dir string) (*Run, error) {
	path := filepath.Join(dir, DatabaseName)
	if err := checkFiles(dir, path); err != nil {
		return nil, err
	}
	if err := rollBack(dir); err != nil {
		return nil, err
	}
	return openRun(path)
}

// checkFiles tells the common mistakes apart before SQLite says "cannot open".
// It does not look into the database: closing a file takes away the locks that
// SQLite may hold on it elsewhere in this process.
func checkFiles(dir, path string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no run folder %s; check the path: %w", dir, fs.ErrNotExist)
	case err != nil:
		return explain(dir, err)
	case !info.IsDir():
		return fmt.Errorf("%s: %w: it is a file; give the folder that holds %s", dir, ErrNoRun, DatabaseName)
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return missingDatabase(dir)
	case err != nil:
		return explain(path, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: %w: it is no file; give the folder of a run", path, ErrNoRun)
	}
	return nil
}

func missingDatabase(dir string) error {
	for _, name := range []string{ManifestName, partialName} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s: %w: it has %s but no %s, so the run is just being created, or was killed at its very start, or its database was moved away; put it back, or make the run again in another folder", dir, ErrNoRun, name, DatabaseName)
		}
	}
	return fmt.Errorf("%s: %w: there is no %s in it; give the folder that 'run' named at its end", dir, ErrNoRun, DatabaseName)
}

func openRun(path string) (r *Run, err error) {
	db, err := connect(path, reading)
	if err != nil {
		return nil, openError(path, err)
	}
	r = &Run{db: db}
	defer func() {
		if err != nil {
			db.close()
			r = nil
		}
	}()
	// The first read in a transaction fixes what all later ones see.
	if err := db.exec("BEGIN; SELECT count(*) FROM sqlite_schema"); err != nil {
		return nil, openError(path, err)
	}
	if err := db.identify(); err != nil {
		return nil, err
	}
	var manifest []byte
	err = db.queryRow("SELECT value FROM meta WHERE name = 'manifest'").Scan(&manifest)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, damaged(path, errors.New("it holds no manifest"))
	case err != nil:
		return nil, r.broken("the manifest", err)
	}
	if r.manifest, err = parseManifest(manifest); err != nil {
		return nil, r.broken("the manifest", err)
	}
	if err := r.whole(); err != nil {
		return nil, err
	}
	if r.blobs, err = newBlobReader(db); err != nil {
		return nil, r.broken("the prompts and replies", err)
	}
	return r, nil
}

// whole compares the plan and the instances with the numbers in the manifest: a
// run that has lost some would give other tables.
func (r *Run) whole() error {
	var trials, last, instances int
	err := r.db.queryRow("SELECT count(*), coalesce(max(ordinal), -1), (SELECT count(*) FROM instances) FROM trials").Scan(&trials, &last, &instances)
	switch want := len(r.manifest.Instances); {
	case err != nil:
		return r.broken("the plan", err)
	case trials != r.manifest.Trials || last != trials-1:
		return damaged(r.db.path, fmt.Errorf("its plan has %d trials up to number %d, its manifest says %d", trials, last, r.manifest.Trials))
	case want > 0 && instances != want:
		return damaged(r.db.path, fmt.Errorf("it has %d instances, its manifest says %d", instances, want))
	}
	return nil
}

func openError(path string, err error) error {
	if errorCode(err) == sqlite3.SQLITE_NOTADB {
		return fmt.Errorf("%s: %w: it is no SQLite database, or its beginning is destroyed; restore it from a copy, or give another folder: %w", path, ErrNoRun, err)
	}
	return explain(path, err)
}

// Close releases the run. A live run's log cannot shrink while a Run is open.
func (r *Run) Close() error {
	return r.db.close()
}

// Manifest returns what the run says of itself. The copy in the database
// counts; manifest.json is for people.
func (r *Run) Manifest() record.Manifest { return r.manifest }

const specColumns = "t.key, t.task, t.model, t.modality, t.regime, t.seed, t.rows, t.cols, t.strategy, t.batch, t.framing, t.episode"

func specFields(s *record.Spec) []any {
	return []any{&s.Key, &s.Task, &s.Model, &s.Modality, &s.Regime, &s.Seed, &s.Rows, &s.Cols, &s.Strategy, &s.Batch, &s.Framing, &s.Episode}
}

// Plan returns the planned trials in order, finished or not.
func (r *Run) Plan() iter.Seq2[record.Spec, error] {
	return func(yield func(record.Spec, error) bool) {
		var s record.Spec
		fields := specFields(&s)
		r.each("the plan", "SELECT "+specColumns+" FROM trials t ORDER BY t.ordinal", nil,
			func(rows *sql.Rows) error { return rows.Scan(fields...) },
			func(err error) bool { return yield(s, err) })
	}
}

// Missing counts the planned trials that have not ended.
func (r *Run) Missing() (int, error) {
	var n int
	err := r.db.queryRow("SELECT (SELECT count(*) FROM trials) - (SELECT count(*) FROM results)").Scan(&n)
	if err != nil {
		return 0, r.broken("the plan", err)
	}
	return n, nil
}

// Instances returns the run's instances in the order in which it was given
// them.
func (r *Run) Instances() iter.Seq2[record.Instance, error] {
	return func(yield func(record.Instance, error) bool) {
		var in record.Instance
		p := packedRow[record.Instance]{walk: (*coder).instance}
		r.each("the instances", "SELECT packed, record FROM instances ORDER BY ordinal", nil,
			func(rows *sql.Rows) error {
				if err := rows.Scan(&p.packed, &p.data); err != nil {
					return err
				}
				in = record.Instance{}
				return p.decode(&in)
			},
			func(err error) bool { return yield(in, err) })
	}
}

const trialQuery = "SELECT " + specColumns + ", r.packed, r.record FROM results r JOIN trials t ON t.ordinal = r.trial"

// Trials returns the trials that have ended, in the plan's order whatever
// order they ended in.
func (r *Run) Trials() iter.Seq2[*record.Trial, error] {
	return r.trials(trialQuery + " ORDER BY r.trial")
}

// Trial returns the trial with that key. Its error wraps ErrNotPlanned or
// ErrUnfinished when there is no record of it.
func (r *Run) Trial(key string) (*record.Trial, error) {
	for t, err := range r.trials(trialQuery+" WHERE t.key = ?", key) {
		return t, err
	}
	if _, err := r.ordinal(key); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("trial %s: %w", key, ErrUnfinished)
}

func (r *Run) trials(query string, args ...any) iter.Seq2[*record.Trial, error] {
	return func(yield func(*record.Trial, error) bool) {
		var t *record.Trial
		p := packedRow[record.Trial]{walk: (*coder).trial}
		r.each("the trials", query, args,
			func(rows *sql.Rows) error {
				t = new(record.Trial)
				if err := rows.Scan(append(specFields(&t.Spec), &p.packed, &p.data)...); err != nil {
					return err
				}
				if err := p.decode(t); err != nil {
					return fmt.Errorf("trial %s: %w", t.Key, err)
				}
				return nil
			},
			func(err error) bool {
				if err != nil {
					t = nil
				}
				return yield(t, err)
			})
	}
}

func (r *Run) ordinal(key string) (int, error) {
	var ordinal int
	err := r.db.queryRow("SELECT ordinal FROM trials WHERE key = ?", key).Scan(&ordinal)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, fmt.Errorf("%s: %w: %q; trials.jsonl of an export lists the keys", filepath.Dir(r.db.path), ErrNotPlanned, key)
	case err != nil:
		return 0, r.broken("the plan", err)
	}
	return ordinal, nil
}

// each runs a query, scans its rows and yields after each one. An error ends
// it and is yielded last.
func (r *Run) each(what, query string, args []any, scan func(*sql.Rows) error, yield func(error) bool) {
	rows, err := r.db.query(query, args...)
	if err != nil {
		yield(r.broken(what, err))
		return
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			yield(r.broken(what, err))
			return
		}
		if !yield(nil) {
			return
		}
	}
	if err := rows.Err(); err != nil {
		yield(r.broken(what, err))
	}
}

// broken says that something in the database cannot be read. What is not the
// disk's doing, or the version's, is damage.
func (r *Run) broken(what string, err error) error {
	err = fmt.Errorf("%s cannot be read: %w", what, err)
	if errorCode(err) > 0 || errors.Is(err, ErrNewer) {
		return explain(r.db.path, err)
	}
	return damaged(r.db.path, err)
}

// A packedRow decodes the packed column of row after row in the same memory.
type packedRow[T any] struct {
	walk   func(*coder, *T)
	packed int
	data   sql.RawBytes
	buf    []byte
}

func (p *packedRow[T]) decode(v *T) error {
	body, err := unpack(p.buf, p.data, p.packed)
	if err != nil {
		return err
	}
	if p.packed == packedZstd {
		p.buf = body
	}
	return decode(body, v, p.walk)
}
