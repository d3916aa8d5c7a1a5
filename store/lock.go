package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// lockName is the file whose lock marks the one process that writes to a run.
// The lock goes with the process; the file stays and means nothing by itself.
const lockName = "run.lock"

// ErrBusy is wrapped by the error for a run that another process writes to.
var ErrBusy = errors.New("another process is writing to the run")

// A runLock keeps other writers out of a run folder: by its lock file, as every
// version of the program does, and by the folder itself where the system locks
// folders, so that nobody gets in by removing the file.
type runLock struct{ file, folder *flock.Flock }

// lockRun takes the lock of a run folder, or reports ErrBusy. Whoever asks whether
// a run is written to (Writing) holds the lock for a moment, which is waited for.
func lockRun(dir string) (lock *runLock, err error) {
	for range 10 {
		if lock, err = tryLock(dir); !errors.Is(err, ErrBusy) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return lock, err
}

func tryLock(dir string) (*runLock, error) {
	path := filepath.Join(dir, lockName)
	lock := &runLock{
		file:   flock.New(path, flock.SetPermissions(0o644)), // readable like the rest of the folder
		folder: flock.New(dir, flock.SetFlag(os.O_RDONLY)),
	}
	held, err := lock.file.TryLock()
	if err != nil {
		return nil, explain(path, err)
	}
	if held {
		held, err = lock.folder.TryLock()
		held = held || err != nil // this system locks no folders
	}
	if !held {
		return nil, errors.Join(fmt.Errorf("%s: %w; wait until it has finished, or stop it", dir, ErrBusy), lock.Close())
	}
	return lock, nil
}

// Close lets others in.
func (l *runLock) Close() error {
	l.folder.Close() // says something only where it could not be locked
	return explain(l.file.Path(), l.file.Close())
}

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
	db, err := connect(path, repairing)
	if err == nil {
		var n int
		err = errors.Join(db.queryRow("SELECT count(*) FROM sqlite_schema").Scan(&n), db.close())
	}
	if err != nil {
		err = openError(path, err)
	}
	return errors.Join(err, lock.Close())
}

// An identity tells a run's files from others that were put in their place.
type identity struct {
	paths []string
	files []os.FileInfo
}

// ErrReplaced is wrapped by the error of a Writer whose run folder was moved or
// deleted, or whose database is another file than the one that it opened.
var ErrReplaced = errors.New("the run was moved, deleted or replaced while it was written to")

func identify(paths ...string) (*identity, error) {
	id := &identity{paths: paths}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, explain(path, err)
		}
		id.files = append(id.files, info)
	}
	return id, nil
}

// check reports whether the same files still stand there. What SQLite writes to
// a file without a name is lost without an error.
func (id *identity) check() error {
	for i, path := range id.paths {
		info, err := os.Stat(path)
		if err == nil && os.SameFile(info, id.files[i]) {
			continue
		}
		what := "it is another file now"
		if err != nil {
			what = err.Error()
		}
		return fmt.Errorf("%s: %w (%s); nothing more is written, what was committed before is in the file that was there", path, ErrReplaced, what)
	}
	return nil
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
