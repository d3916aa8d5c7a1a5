package export

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// An output is a set of files and folders that appear together; the names of
// folders end in a slash. They are written in a hidden folder inside dir and
// moved out of it when all are whole.
type output struct {
	dir     string
	made    bool   // dir was not there before
	hidden  string // the folder inside dir
	names   []string
	files   map[string]*os.File
	writers map[string]*bufio.Writer
}

const bufferSize = 256 << 10

func newOutput(dir string, names ...string) (*output, error) {
	for _, name := range names {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("%s: %w, and an export never overwrites; choose another folder, or delete the old export", path, fs.ErrExist)
		}
	}
	o := &output{dir: dir, names: names, files: map[string]*os.File{}, writers: map[string]*bufio.Writer{}}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		o.made = true
	}
	if err := o.create(); err != nil {
		o.abandon()
		return nil, explain(dir, err)
	}
	return o, nil
}

func (o *output) create() (err error) {
	if err := os.MkdirAll(o.dir, 0o777); err != nil {
		return err
	}
	if o.hidden, err = os.MkdirTemp(o.dir, ".export-*"); err != nil {
		return err
	}
	for _, name := range o.names {
		path := filepath.Join(o.hidden, name)
		if strings.HasSuffix(name, "/") {
			if err := os.Mkdir(path, 0o777); err != nil {
				return err
			}
			continue
		}
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		o.files[name] = f
		o.writers[name] = bufio.NewWriterSize(f, bufferSize)
	}
	return nil
}

func (o *output) write(name string, line []byte) error {
	if _, err := o.writers[name].Write(line); err != nil {
		return explain(o.dir, err)
	}
	return nil
}

// flush hands what was written to the system.
func (o *output) flush() error {
	for _, w := range o.writers {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// finish gives the files their names, all or none.
func (o *output) finish() error {
	for name, w := range o.writers {
		if err := errors.Join(w.Flush(), o.files[name].Close()); err != nil {
			o.abandon()
			return explain(o.dir, err)
		}
	}
	for i, name := range o.names {
		if err := os.Rename(filepath.Join(o.hidden, name), filepath.Join(o.dir, name)); err != nil {
			for _, moved := range o.names[:i] {
				os.RemoveAll(filepath.Join(o.dir, moved))
			}
			o.abandon()
			return explain(o.dir, err)
		}
	}
	if err := os.Remove(o.hidden); err != nil {
		return explain(o.dir, err)
	}
	return nil
}

// abandon removes what was made.
func (o *output) abandon() {
	for _, f := range o.files {
		f.Close()
	}
	if o.hidden != "" {
		os.RemoveAll(o.hidden)
	}
	if o.made {
		os.Remove(o.dir) // only if it is empty
	}
}

// explain says what an error of the file system means for an export.
func explain(dir string, err error) error {
	what := "the export was not written"
	switch {
	case errors.Is(err, syscall.ENOSPC):
		what += "; the disk is full, make room on it"
	case errors.Is(err, fs.ErrPermission):
		what += "; this user may not write there, choose another folder"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		what += "; something on the way there is a file, choose another folder"
	}
	return fmt.Errorf("%s: %s: %w", dir, what, err)
}
