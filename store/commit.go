package store

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// A committer is the one goroutine that writes to a run's database: what comes
// within a moment shares a transaction.
type committer struct {
	db       *database
	files    *identity
	inserter *inserter

	begin, commit, rollback *sql.Stmt
	updateManifest          *sql.Stmt

	begun    bool   // a transaction is open
	written  int    // messages in it
	ended    []bool // by ordinal
	manifest []byte // a new one in the open transaction, for manifest.json
}

// newCommitter opens a run's database for writing. ended says which trials have
// a result.
func newCommitter(path string, ended []bool, opts Options) (c *committer, err error) {
	db, err := connect(path, writing)
	if err != nil {
		return nil, explain(path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(explain(path, err), db.close())
		}
	}()
	c = &committer{db: db, ended: ended}
	err = db.prepareAll(
		prepared{&c.begin, "BEGIN IMMEDIATE"},
		prepared{&c.commit, "COMMIT"},
		prepared{&c.rollback, "ROLLBACK"},
		prepared{&c.updateManifest, "UPDATE meta SET value = ? WHERE name = 'manifest'"},
	)
	if err == nil && opts.Sync {
		err = db.exec("PRAGMA synchronous = FULL")
	}
	if err == nil {
		c.inserter, err = newInserter(db) // it reads, so the log is there from now on
	}
	if err == nil {
		c.files, err = identify(path, path+"-wal")
	}
	return c, err
}

// work writes what comes through the queue until that is closed. After an
// error, which it reports once, it goes on emptying the queue, so that nobody
// waits for ever.
func (c *committer) work(queue <-chan message, opts Options, report func(error)) {
	var failure error
	check := func(err error) {
		if err == nil || failure != nil {
			return
		}
		failure = explain(c.db.path, err)
		report(failure)
		if c.begun {
			c.rollback.Exec() // the error that matters has been reported
		}
	}
	var due <-chan time.Time // when the open transaction must be committed
	var waiting []chan error // who wants to hear of the next commit
	for open := true; open; {
		var m message
		commit := false
		select {
		case m, open = <-queue:
			if failure == nil && (m.call != nil || m.result != nil || m.manifest != nil) {
				if !c.begun {
					due = time.After(opts.CommitAfter)
				}
				check(c.write(&m))
			}
			if m.flushed != nil {
				waiting = append(waiting, m.flushed)
			}
			// Those who wait share a commit with all that is queued by now.
			commit = !open || c.written >= opts.CommitCount || len(waiting) > 0 && len(queue) == 0
		case <-due:
			commit = true
		}
		if failure == nil && commit {
			check(c.end())
			due = nil
		}
		if commit || failure != nil {
			for _, w := range waiting {
				w <- failure
			}
			waiting = waiting[:0]
		}
	}
	if failure == nil {
		check(c.seal())
	}
	check(c.db.close())
}

// write adds one message to the transaction, which it begins if need be.
func (c *committer) write(m *message) error {
	if !c.begun {
		if _, err := c.begin.Exec(); err != nil {
			return err
		}
		c.begun = true
	}
	c.written++
	if m.manifest != nil {
		c.manifest = m.manifest
		_, err := c.updateManifest.Exec(string(m.manifest))
		return err
	}
	if c.ended[m.ordinal] {
		return fmt.Errorf("trial %s was recorded again after its end", m.key)
	}
	if m.call != nil {
		err := c.inserter.call(m.ordinal, m.call, &m.sums)
		if errors.Is(err, errTwice) {
			return fmt.Errorf("call %s of trial %s was recorded twice", m.call.Slot, m.key)
		}
		return err
	}
	c.ended[m.ordinal] = true
	return c.inserter.result(m.ordinal, m.result)
}

// end commits, and makes sure that what it has committed is in the run: SQLite
// goes on writing to a file that has been deleted.
func (c *committer) end() error {
	if c.begun {
		if _, err := c.commit.Exec(); err != nil {
			return err
		}
		c.begun, c.written = false, 0
	}
	if err := c.files.check(); err != nil || c.manifest == nil {
		return err
	}
	text := c.manifest
	c.manifest = nil
	return writeAtomically(filepath.Join(filepath.Dir(c.db.path), ManifestName), text)
}

// seal moves the log into the database and does without one from then on: a
// finished run is a plain file, which can be read where nothing may be written.
// While somebody reads, that cannot be; the log then stays until the last one
// has gone.
func (c *committer) seal() error {
	err := c.db.exec("PRAGMA journal_mode = DELETE")
	if errorCode(err) == sqlite3.SQLITE_BUSY {
		return c.db.exec("PRAGMA wal_checkpoint(PASSIVE)")
	}
	return err
}
