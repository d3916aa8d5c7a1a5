package store

import (
	"errors"
	"os"
	"path/filepath"
)

// rollBack finishes what a process left half done that was killed while SQLite
// rewrote the database in place, as it does when a run is opened for writing and
// when it is closed: the journal beside the database then holds what to put
// back, and only a writer may do that. While a living process writes to the run
// its journal is its own.
func rollBack(dir string) error {
	journal := filepath.Join(dir, DatabaseName+"-journal")
	if info, err := os.Stat(journal); err != nil || info.Size() == 0 {
		return nil
	}
	lock, err := lockRun(dir)
	if errors.Is(err, ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	path := filepath.Join(dir, DatabaseName)
	db, err := connect(path, mending)
	if err == nil {
		var n int
		err = errors.Join(db.queryRow("SELECT count(*) FROM sqlite_schema").Scan(&n), db.close())
	}
	if err != nil {
		err = openError(path, err)
	}
	return errors.Join(err, lock.Close())
}

// roomBytes is what a run that pays for answers wants to see free before it
// asks: enough for the answers under way and the log behind them.
const roomBytes = 4 << 20

// checkRoom writes a file of that size into the run folder and takes it away
// again: an answer that is paid for and cannot be kept is money lost.
func checkRoom(dir string) (err error) {
	f, err := os.CreateTemp(dir, ".room-*")
	if err != nil {
		return explain(dir, err)
	}
	defer func() {
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}()
	block := make([]byte, 64<<10)
	for range roomBytes / len(block) {
		if _, err := f.Write(block); err != nil {
			return explain(dir, err)
		}
	}
	return explain(dir, f.Sync())
}
