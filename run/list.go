package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/store"
)

// A Listed is a run that was found in a folder.
type Listed struct {
	Dir      string // to open it by
	Name     string // within the folder, with slashes
	Title    string // of its study
	Created  time.Time
	Updated  time.Time // when its database was last written to
	Models   []string
	Controls bool // no model of it is more than a built-in control
	store.State
	Writing bool       // a process is at work on it
	Spent   *price.USD // the most that it may have cost; nil where that is not known
	Err     error      // why it cannot be read; nothing else is known then
}

// Status is in a word how a run is.
func (l Listed) Status() string {
	switch {
	case l.Err != nil:
		return "unreadable"
	case l.Writing:
		return "running"
	case l.Done < l.Planned:
		return "stopped"
	case l.Failed > 0:
		return "finished, some failed"
	}
	return "finished"
}

// maxDepth is how deep below a folder runs are looked for, and maxListed how many
// are read.
const maxDepth, maxListed = 4, 10_000

// List returns the runs below a folder, the newest first. One that vanishes while
// it is looked at is left out; one that cannot be read is listed with the reason.
func List(folder string) ([]Listed, error) {
	dirs, err := Find(folder)
	if err != nil {
		return nil, err
	}
	var runs []Listed
	for _, dir := range dirs {
		if l, there := Look(folder, dir); there {
			runs = append(runs, l)
		}
	}
	slices.SortStableFunc(runs, func(a, b Listed) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Name, b.Name)) })
	return runs, nil
}

// Find returns the run folders below a folder.
func Find(folder string) ([]string, error) {
	if _, err := os.Stat(folder); err != nil {
		return nil, err
	}
	var dirs []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == folder:
			return err
		case err != nil:
			return nil // it vanished, or is not ours to read
		case !d.IsDir():
			return nil
		case path != folder && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		if info, err := os.Stat(filepath.Join(path, store.DatabaseName)); err == nil && info.Mode().IsRegular() {
			if dirs = append(dirs, path); len(dirs) == maxListed {
				return fs.SkipAll
			}
			return fs.SkipDir
		}
		if rel, err := filepath.Rel(folder, path); err == nil && strings.Count(rel, string(filepath.Separator)) >= maxDepth {
			return fs.SkipDir
		}
		return nil
	})
	return dirs, err
}

// NameIn is what a run is called within a folder.
func NameIn(folder, dir string) string {
	if rel, err := filepath.Rel(folder, dir); err == nil && rel != "." {
		return filepath.ToSlash(rel)
	}
	return filepath.Base(dir)
}

// Updated is when a run's database was last written to; zero when there is none.
func Updated(dir string) (last time.Time) {
	for _, name := range []string{store.DatabaseName, store.DatabaseName + "-wal"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// Look reads what there is to list of a run; false when there is none any more.
func Look(folder, dir string) (l Listed, there bool) {
	l = Listed{Dir: dir, Name: NameIn(folder, dir), Updated: Updated(dir)}
	if l.Updated.IsZero() {
		return l, false
	}
	l.Created = l.Updated
	stored, err := Open(dir)
	if err != nil {
		if _, gone := os.Stat(dir); errors.Is(gone, fs.ErrNotExist) {
			return l, false
		}
		l.Err = err
		return l, true
	}
	defer stored.Close()
	m := stored.Manifest()
	l.Created, l.Controls = m.Created, true
	for _, model := range m.Models {
		l.Models, l.Controls = append(l.Models, model.Name), l.Controls && model.Control
	}
	if s, err := stored.Described(); err == nil {
		l.Title = s.Name
	}
	if l.State, l.Err = stored.State(); l.Err == nil && l.Done < l.Planned {
		l.Writing = store.Writing(dir)
	}
	if before, err := readSpent(dir); err == nil && !before.Unpriced && before.Unseen == 0 {
		spent := price.USD(*before.Most)
		l.Spent = &spent
	}
	return l, true
}

// Latest returns the newest run below a folder.
func Latest(folder string) (string, error) {
	runs, err := List(folder)
	if err != nil {
		return "", fmt.Errorf("the latest run: %w", err)
	}
	for i := range runs {
		if runs[i].Err == nil {
			return runs[i].Dir, nil
		}
	}
	return "", fmt.Errorf("the latest run: there is none below %s", folder)
}
