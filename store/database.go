package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// A database is one connection to a run's database and the statements that are
// prepared on it.
type database struct {
	path       string
	version    int // of its tables; 0 until it has been identified
	pool       *sql.DB
	conn       *sql.Conn
	statements []*sql.Stmt
}

// access is how a database is opened.
type access string

const (
	// creating fills a new file. Nothing is synced until all is there: a
	// database that is not whole is never given its final name.
	creating access = "mode=rwc&_pragma=page_size(16384)&_pragma=journal_mode(MEMORY)&_pragma=synchronous(OFF)"
	// writing leaves what it commits in a log that is synced before it is
	// moved into the database: a crash of the program loses nothing committed,
	// a power cut at most the latest commits.
	writing access = "mode=rw&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=wal_autocheckpoint(1000)&_pragma=cache_size(-16000)"
	// repairing lets SQLite roll back what a killed process left half done.
	repairing access = "mode=rw"
	// replacing has an older database to itself while a newer one is made of it.
	replacing access = "mode=rw&_pragma=journal_mode(DELETE)&_pragma=locking_mode(EXCLUSIVE)"
	// reading sees a live run as well as a finished one.
	reading access = "mode=ro&_pragma=query_only(1)&_pragma=cache_size(-8000)"
)

func connect(path string, how access) (*database, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	abs = filepath.ToSlash(abs)
	if !strings.HasPrefix(abs, "/") {
		abs = "/" + abs // a Windows drive
	}
	name := url.URL{Scheme: "file", Path: abs, RawQuery: string(how) + "&_pragma=busy_timeout(10000)"}
	return connectTo(path, name.String())
}

// connectTemporary makes an empty database of its own, which SQLite keeps in
// memory and, when it grows, in a file without a name. path is what errors call
// it by.
func connectTemporary(path string) (*database, error) {
	return connectTo(path, "file:?_pragma=page_size(16384)&_pragma=synchronous(OFF)&_pragma=journal_mode(OFF)&_pragma=cache_size(-64000)")
}

func connectTo(path, name string) (*database, error) {
	pool, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	conn, err := pool.Conn(context.Background())
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return &database{path: path, pool: pool, conn: conn}, nil
}

// close closes the statements first: an open one keeps the connection, and with
// it the log, alive.
func (d *database) close() error {
	var errs []error
	for _, s := range d.statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, d.conn.Close(), d.pool.Close())...)
}

// prepared is a statement to prepare and where to put it.
type prepared struct {
	into  **sql.Stmt
	query string
}

func (d *database) prepareAll(all ...prepared) error {
	for _, p := range all {
		s, err := d.conn.PrepareContext(context.Background(), p.query)
		if err != nil {
			return err
		}
		d.statements = append(d.statements, s)
		*p.into = s
	}
	return nil
}

func (d *database) exec(query string, args ...any) error {
	_, err := d.conn.ExecContext(context.Background(), query, args...)
	return err
}

func (d *database) queryRow(query string, args ...any) *sql.Row {
	return d.conn.QueryRowContext(context.Background(), query, args...)
}

func (d *database) query(query string, args ...any) (*sql.Rows, error) {
	return d.conn.QueryContext(context.Background(), query, args...)
}

// identify checks that the database is one of ours, in a version that this
// program reads.
func (d *database) identify() error {
	var app, version int
	if err := d.queryRow("PRAGMA application_id").Scan(&app); err != nil {
		return explain(d.path, err)
	}
	if err := d.queryRow("PRAGMA user_version").Scan(&version); err != nil {
		return explain(d.path, err)
	}
	d.version = version
	switch {
	case app != applicationID:
		return fmt.Errorf("%s: %w: it is empty or the database of another program; give the folder of a run", d.path, ErrNoRun)
	case version > schemaVersion:
		return fmt.Errorf("%s: %w (its format is %d, this program knows formats up to %d); use a program at least as new as the one that made it", d.path, ErrNewer, version, schemaVersion)
	case version < 1:
		return damaged(d.path, fmt.Errorf("its format number is %d", version))
	}
	return nil
}
