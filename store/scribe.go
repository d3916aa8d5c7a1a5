package store

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/spatialstale/spatialstale/record"
)

// A scribe is the one goroutine that writes to a run's database. It gathers
// the calls of each trial and writes those that came between two commits as
// one row.
type scribe struct {
	db *database

	begin, commit, rollback   *sql.Stmt
	insertCalls, insertResult *sql.Stmt
	updateManifest            *sql.Stmt
	blobs                     *blobWriter

	begun   bool               // a transaction is open
	written int                // messages in it
	open    map[int]*openTrial // by ordinal: trials that have calls and no end yet
	ended   []bool             // by ordinal
	spare   []*openTrial       // to be used again
	coder   *coder
	packed  []byte

	manifest []byte // a new one in the open transaction, for manifest.json
}

// An openTrial is what the scribe knows of a trial that is under way.
type openTrial struct {
	slots map[string]bool // of all its calls
	calls []storedCall    // not yet in a row
	ids   []uint64        // their prompts
}

func newScribe(path string, trials int, opts Options) (*scribe, error) {
	db, err := connect(path, writing)
	if err != nil {
		return nil, explain(path, err)
	}
	s := &scribe{db: db, open: map[int]*openTrial{}, ended: make([]bool, trials), coder: newEncoder()}
	err = db.prepareAll(
		prepared{&s.begin, "BEGIN IMMEDIATE"},
		prepared{&s.commit, "COMMIT"},
		prepared{&s.rollback, "ROLLBACK"},
		prepared{&s.insertCalls, "INSERT INTO calls(trial, count, packed, data) VALUES (?, ?, ?, ?)"},
		prepared{&s.updateManifest, "UPDATE meta SET value = ? WHERE name = 'manifest'"},
		prepared{&s.insertResult, "INSERT INTO results(trial, outcome, packed, record) VALUES (?, ?, ?, ?)"},
	)
	if err == nil && opts.Sync {
		err = db.exec("PRAGMA synchronous = FULL")
	}
	if err == nil {
		s.blobs, err = newBlobWriter(db)
	}
	if err != nil {
		db.close()
		return nil, explain(path, err)
	}
	return s, nil
}

// work writes what comes through the queue until that is closed. After an
// error, which it reports once, it goes on emptying the queue, so that nobody
// waits for ever.
func (s *scribe) work(queue <-chan message, opts Options, report func(error)) {
	var failure error
	check := func(err error) {
		if err == nil || failure != nil {
			return
		}
		failure = explain(s.db.path, err)
		report(failure)
		if s.begun {
			s.rollback.Exec() // the error that matters has been reported
		}
	}
	var due <-chan time.Time // when the open transaction must be committed
	var waiting []chan error // who wants to hear of the next commit
	for open := true; open; {
		var m message
		commit := false
		select {
		case m, open = <-queue:
			if failure == nil && (m.call != nil || m.trial != nil || m.manifest != nil) {
				if !s.begun {
					due = time.After(opts.CommitAfter)
				}
				check(s.write(m))
			}
			if m.flushed != nil {
				waiting = append(waiting, m.flushed)
			}
			// Those who wait share a commit with all that is queued by now.
			commit = !open || s.written >= opts.CommitCount || len(waiting) > 0 && len(queue) == 0
		case <-due:
			commit = true
		}
		if failure == nil && commit {
			check(s.end())
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
		check(s.seal())
	}
	check(s.db.close())
}

// seal moves the log into the database and does without one from then on: a
// finished run is a plain file, which can be read where nothing may be written.
// While somebody reads, that cannot be; the log then stays until the last one
// has gone.
func (s *scribe) seal() error {
	err := s.db.exec("PRAGMA journal_mode = DELETE")
	if errorCode(err) == sqlite3.SQLITE_BUSY {
		return s.db.exec("PRAGMA wal_checkpoint(PASSIVE)")
	}
	return err
}

// write adds one message to the transaction, which it begins if need be.
func (s *scribe) write(m message) error {
	if !s.begun {
		if _, err := s.begin.Exec(); err != nil {
			return err
		}
		s.begun = true
	}
	s.written++
	if m.manifest != nil {
		s.manifest = m.manifest
		_, err := s.updateManifest.Exec(m.manifest)
		return err
	}
	if s.ended[m.ordinal] {
		return fmt.Errorf("trial %s was recorded again after its end", m.key())
	}
	if m.call != nil {
		return s.addCall(m.ordinal, m.call, &m.sums)
	}
	if t := s.open[m.ordinal]; t != nil {
		if err := s.writeCalls(m.ordinal, t); err != nil {
			return err
		}
		delete(s.open, m.ordinal)
		clear(t.slots)
		s.spare = append(s.spare, t)
	}
	s.ended[m.ordinal] = true
	_, err := s.insertResult.Exec(m.ordinal, m.trial.outcome, m.trial.packed, m.trial.record)
	return err
}

// key is that of the trial that the message is about.
func (m *message) key() string {
	if m.call != nil {
		return m.call.Trial
	}
	return m.trial.key
}

// end writes the rows that are being filled and commits.
func (s *scribe) end() error {
	if !s.begun {
		return nil
	}
	for ordinal, t := range s.open {
		if err := s.writeCalls(ordinal, t); err != nil {
			return err
		}
	}
	if err := s.blobs.flush(); err != nil {
		return err
	}
	if _, err := s.commit.Exec(); err != nil {
		return err
	}
	s.begun, s.written = false, 0
	if s.manifest == nil {
		return nil
	}
	text := s.manifest
	s.manifest = nil
	return writeAtomically(filepath.Join(filepath.Dir(s.db.path), ManifestName), text)
}

// addCall keeps a call for its trial's next row, and its texts and pictures,
// where they are new, for the next rows of blobs.
func (s *scribe) addCall(ordinal int, call *record.Call, sums *callSums) error {
	t := s.openTrial(ordinal)
	if t.slots[call.Slot] {
		return fmt.Errorf("call %s of trial %s was recorded twice", call.Slot, call.Trial)
	}
	t.slots[call.Slot] = true

	k := storedCall{
		slot: call.Slot, purpose: call.Purpose, model: call.Model,
		finish: call.Finish, server: call.ServerModel,
		input: call.InputTokens, output: call.OutputTokens, latency: call.Latency,
		cached: call.CachedTokens, cacheWrite: call.CacheWriteTokens, thought: call.ReasoningTokens,
		booleans: call.Booleans, timings: call.Timings,
	}
	if sums.promptDiffers {
		k.promptSum = &call.PromptSHA256
	}
	first := len(t.ids)
	for i := range call.Prompt {
		p := &call.Prompt[i]
		id, err := blobID(s.blobs, p.Kind, &p.Sum, p.Data)
		if err != nil {
			return err
		}
		t.ids = append(t.ids, id)
	}
	k.prompt = t.ids[first:]
	var err error
	if k.reply, err = blobID(s.blobs, record.PartText, &sums.reply, call.Reply); err != nil {
		return err
	}
	if call.Reasoning != "" {
		if k.reasoning, err = blobID(s.blobs, record.PartText, &sums.reasoning, call.Reasoning); err != nil {
			return err
		}
	}
	t.calls = append(t.calls, k)
	return nil
}

func (s *scribe) openTrial(ordinal int) *openTrial {
	t := s.open[ordinal]
	switch last := len(s.spare) - 1; {
	case t != nil:
		return t
	case last >= 0:
		t, s.spare = s.spare[last], s.spare[:last]
	default:
		t = &openTrial{slots: map[string]bool{}}
	}
	s.open[ordinal] = t
	return t
}

// writeCalls writes the calls that have no row yet.
func (s *scribe) writeCalls(ordinal int, t *openTrial) error {
	if len(t.calls) == 0 {
		return nil
	}
	body, packed := pack(quick, s.packed[:0], encode(s.coder, &t.calls, (*coder).calls))
	_, err := s.insertCalls.Exec(ordinal, len(t.calls), packed, body)
	if packed == packedZstd {
		s.packed = body
	}
	clear(t.calls)
	t.calls, t.ids = t.calls[:0], t.ids[:0]
	return err
}
