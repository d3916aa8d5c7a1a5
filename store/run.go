package store

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

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
	format   int
	parser   *parser
	blobs    *recent[int64, record.Part]
	getBlob  *sql.Stmt
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
	r = &Run{db: db, parser: newParser()}
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
	if db.version == 1 {
		old := db
		if db, err = readV1(old); err != nil {
			db = old
			return nil, err
		}
		r.db = db
		if err := old.close(); err != nil {
			return nil, explain(path, err)
		}
	}
	var manifest []byte
	err = db.queryRow("SELECT m.value, f.value FROM meta m, meta f WHERE m.name = 'manifest' AND f.name = 'first_format'").Scan(&manifest, &r.format)
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
	r.blobs = newRecent[int64](cachedBytes, func(p record.Part) int { return len(p.Data) })
	if err := db.prepareAll(prepared{&r.getBlob, "SELECT sum, kind, CASE kind WHEN 'text' THEN text ELSE file END FROM blobs WHERE id = ?"}); err != nil {
		return nil, r.broken("the prompts and replies", err)
	}
	return r, nil
}

// whole compares the plan and the instances with the numbers in the manifest: a
// run that has lost some would give other tables.
func (r *Run) whole() error {
	var trials, last, instances int
	err := r.db.queryRow("SELECT count(*), coalesce(max(ordinal), -1), (SELECT count(*) FROM instances) FROM plan").Scan(&trials, &last, &instances)
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

// FirstFormat is the version of the tables that the run was made with: 1 for a
// run of version 0.1, also after it was brought to today's tables.
func (r *Run) FirstFormat() int { return r.format }

// Plan returns the planned trials in order, finished or not.
func (r *Run) Plan() iter.Seq2[record.Spec, error] {
	return func(yield func(record.Spec, error) bool) {
		var s record.Spec
		var sum int64
		fields := specFields(&s)
		r.each("the plan", "SELECT "+specColumns+", checksum FROM plan ORDER BY ordinal", nil,
			func(rows *sql.Rows) error {
				if err := rows.Scan(append(fields, &sum)...); err != nil {
					return err
				}
				return verify(sum, fields, s.Key)
			},
			func(err error) bool { return yield(s, err) })
	}
}

// verify compares a row of a trial with its checksum.
func verify(sum int64, fields []any, key string) error {
	if checksum(fields) != sum {
		return fmt.Errorf("trial %s: its row was changed since it was written: its checksum is another", key)
	}
	return nil
}

// Missing counts the planned trials that have not ended.
func (r *Run) Missing() (int, error) {
	var n int
	err := r.db.queryRow("SELECT (SELECT count(*) FROM plan) - (SELECT count(*) FROM results)").Scan(&n)
	if err != nil {
		return 0, r.broken("the plan", err)
	}
	return n, nil
}

// Instances returns the run's instances in the order in which it was given
// them. One that is not the manifest's is an error.
func (r *Run) Instances() iter.Seq2[record.Instance, error] {
	return func(yield func(record.Instance, error) bool) {
		var in record.Instance
		var text sql.RawBytes
		r.each("the instances", "SELECT record FROM instances ORDER BY ordinal", nil,
			func(rows *sql.Rows) error {
				if err := rows.Scan(&text); err != nil {
					return err
				}
				in = record.Instance{}
				if err := json.Unmarshal(text, &in); err != nil {
					return err
				}
				return r.expected(&in, text)
			},
			func(err error) bool { return yield(in, err) })
	}
}

// expected compares an instance with its sum in the manifest, if that has any.
func (r *Run) expected(in *record.Instance, text []byte) error {
	if len(r.manifest.Instances) == 0 || len(in.Rows) == 0 {
		return nil
	}
	name := fmt.Sprintf("%d/%dx%d/%s", in.Seed, len(in.Rows), len(in.Rows[0]), in.Regime)
	if sum := sha256.Sum256(text); r.manifest.Instances[name] != hex.EncodeToString(sum[:]) {
		return fmt.Errorf("the instance %s is not the one in the run's manifest", name)
	}
	return nil
}

const trialQuery = "SELECT " + specColumns + ", p.checksum, " + resultColumns + ", r.checksum FROM results r JOIN plan p ON p.ordinal = r.trial"

// Trials returns the trials that have ended, in the plan's order whatever
// order they ended in.
func (r *Run) Trials() iter.Seq2[*record.Trial, error] {
	return r.trials(trialQuery + " ORDER BY r.trial")
}

// Trial returns the trial with that key. Its error wraps ErrNotPlanned or
// ErrUnfinished when there is no record of it.
func (r *Run) Trial(key string) (*record.Trial, error) {
	for t, err := range r.trials(trialQuery+" WHERE p.key = ?", key) {
		return t, err
	}
	if _, err := r.ordinal(key); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("trial %s: %w", key, ErrUnfinished)
}

func (r *Run) trials(query string, args ...any) iter.Seq2[*record.Trial, error] {
	return func(yield func(*record.Trial, error) bool) {
		var chunk []trialRow
		going := true
		emit := func() bool {
			for _, t := range r.parser.trials(chunk) {
				if t.err != nil {
					t.trial, t.err = nil, r.broken("the trials", t.err)
				}
				if going = yield(t.trial, t.err) && t.err == nil; !going {
					return false
				}
			}
			chunk = chunk[:0]
			return true
		}
		var row trialRow
		r.each("the trials", query, args,
			func(rows *sql.Rows) error {
				row = trialRow{}
				return row.scan(rows)
			},
			func(err error) bool {
				if err != nil {
					if emit() {
						going = false
						yield(nil, err)
					}
					return false
				}
				chunk = append(chunk, row)
				return len(chunk) < trialsAtOnce || emit()
			})
		if going {
			emit()
		}
	}
}

// trialsAtOnce is how many trials are parsed together, on all processors: their
// JSON takes most of the time of reading a run.
const trialsAtOnce = 256

// A trialRow is a trial as it is stored, and what it was parsed to.
type trialRow struct {
	spec   record.Spec
	result resultRow
	trial  *record.Trial
	err    error
}

func (t *trialRow) scan(rows *sql.Rows) error {
	var planned, ended int64
	fields, results := specFields(&t.spec), t.result.fields()
	if err := rows.Scan(slices.Concat(fields, []any{&planned}, results, []any{&ended})...); err != nil {
		return err
	}
	return errors.Join(verify(planned, fields, t.spec.Key), verify(ended, results, t.spec.Key))
}

func (p *parser) trials(chunk []trialRow) []trialRow {
	workers := min(runtime.GOMAXPROCS(0), len(chunk))
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := w; i < len(chunk); i += workers {
				chunk[i].parse(p)
			}
		})
	}
	group.Wait()
	return chunk
}

// parse reads what is nested in a row. A fault met on it is the row's error.
func (t *trialRow) parse(p *parser) {
	defer func() {
		if fault := recover(); fault != nil {
			t.err = fmt.Errorf("trial %s: a fault of the program, not yours: %v; please report this line", t.spec.Key, fault)
		}
	}()
	if t.trial, t.err = t.result.trial(t.spec, p); t.err != nil {
		t.err = fmt.Errorf("trial %s: %w", t.spec.Key, t.err)
	}
}

func (r *Run) ordinal(key string) (int, error) {
	var ordinal int
	err := r.db.queryRow("SELECT ordinal FROM plan WHERE key = ?", key).Scan(&ordinal)
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

// values returns the one column of a query.
func values[T any](r *Run, what, query string, args ...any) (all []T, err error) {
	var v T
	r.each(what, query, args,
		func(rows *sql.Rows) error { return rows.Scan(&v) },
		func(e error) bool {
			if err = e; err == nil {
				all = append(all, v)
			}
			return true
		})
	return all, err
}
