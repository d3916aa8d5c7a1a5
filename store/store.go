// Package store keeps a run on disk: a folder with run.db, an SQLite database
// that holds the plan, the instances, every finished trial and every model call
// with its exact prompt and reply, and manifest.json, which says what the run
// is. It stands behind record in the data flow: the study hands records to a
// Writer as they come, and analysis, report and export read them back through a
// Run, from a finished run or from one that is still going.
//
// The database is for people too: what is one value is a column, what is nested
// is JSON, and views answer what is asked most (see schema.go and docs/runs.md).
// Each distinct part of a prompt and each distinct reply is stored once; only
// the verdicts on single entries are compressed, because they are three quarters
// of all bytes.
//
// It computes nothing from the records, judges none of them, never overwrites a
// run and never repairs a damaged one. Runs of version 0.1 are read, and brought
// to today's tables when they go on.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Names of the files in a run folder.
const (
	DatabaseName = "run.db"
	ManifestName = "manifest.json"
)

// Errors of Create and Open, to be told apart with errors.Is. Their full text
// says which folder and what to do.
var (
	ErrExists  = errors.New("the folder is taken")
	ErrNoRun   = errors.New("not a run folder")
	ErrNewer   = errors.New("the run was made by a newer version of this program")
	ErrDamaged = errors.New("the run is damaged")
)

// ErrNotPlanned and ErrUnfinished are wrapped by the errors for a trial that
// the run's plan does not have, and for one that has no record yet.
var (
	ErrNotPlanned = errors.New("no such trial in this run")
	ErrUnfinished = errors.New("the trial has not finished")
)

// An explained error says already what it means.
type explained struct{ error }

func (e explained) Unwrap() error { return e.error }

// explain adds to an error of the database or the file system what it means
// for the person who runs the program, once. path is the file or folder it
// concerns.
func explain(path string, err error) error {
	if _, done := errors.AsType[explained](err); err == nil || done {
		return err
	}
	return explained{meaning(path, err)}
}

func meaning(path string, err error) error {
	const safe = "What was committed before is safe"
	switch errorCode(err) {
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%s: the disk is full; make room on it. %s: %w", path, safe, err)
	case sqlite3.SQLITE_IOERR:
		return fmt.Errorf("%s: the disk failed to read or write; check it, and the quota. %s: %w", path, safe, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return fmt.Errorf("%s cannot be opened or written; check that it exists and its permissions, or copy the whole run folder to where you can write: %w", path, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return damaged(path, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%s is held by another process; wait until that has finished: %w", path, err)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s may not be written by this user; choose another folder or change its permissions: %w", path, err)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s: something on the way there is a file, not a folder; choose another place: %w", path, err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%s: the disk is full; make room on it: %w", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// errorCode returns SQLite's primary result code, 0 for no error and -1 for an
// error that is not SQLite's.
func errorCode(err error) int {
	var e *sqlite.Error
	switch {
	case err == nil:
		return sqlite3.SQLITE_OK
	case errors.As(err, &e):
		return e.Code() & 0xff
	}
	return -1
}

// damaged says that a run's content cannot be what a Writer wrote.
func damaged(path string, err error) error {
	return explained{fmt.Errorf("%s: %w; nothing was changed. Restore the folder from a copy, or make the run again in another folder: %w", path, ErrDamaged, err)}
}
