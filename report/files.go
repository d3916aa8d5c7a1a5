package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spatialstale/spatialstale/analysis"
)

// Formats are the forms in which tables are written.
var Formats = []string{"text", "md", "csv", "json"}

var extensions = map[string]string{"text": ".txt", "md": ".md", "csv": ".csv", "json": ".json"}

// Files writes each table that has rows into a file of its own in a folder,
// which is made when it is not there: ID.txt, ID.md, ID.csv or ID.json. No file
// that is there already is overwritten: the error then names it, and nothing is
// written. It returns the names of the files.
func Files(dir string, tables []analysis.Table, format string) (names []string, err error) {
	extension, ok := extensions[format]
	if !ok {
		return nil, fmt.Errorf("unknown format %q; there are %v", format, Formats)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var with []*analysis.Table
	for i := range tables {
		if len(tables[i].Rows) == 0 {
			continue
		}
		with = append(with, &tables[i])
		path := filepath.Join(dir, tables[i].ID+extension)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			if err == nil {
				err = fmt.Errorf("%s: %w; nothing was written. Give another folder, or move it away", path, fs.ErrExist)
			}
			return nil, err
		}
	}
	for _, t := range with {
		path := filepath.Join(dir, t.ID+extension)
		if err := writeFile(path, t, format); err != nil {
			return names, err
		}
		names = append(names, path)
	}
	return names, nil
}

// writeFile makes a file with one table. One that cannot be finished is taken
// away again, because half a table looks like a whole one.
func writeFile(path string, t *analysis.Table, format string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if closing := f.Close(); err == nil {
			err = closing
		}
		if err != nil {
			os.Remove(path)
		}
	}()
	return writeAs(f, []analysis.Table{*t}, format)
}

func writeAs(w io.Writer, tables []analysis.Table, format string) error {
	switch format {
	case "md":
		return Markdown(w, tables)
	case "csv":
		return CSV(w, tables[0])
	case "json":
		return JSON(w, tables)
	}
	return Text(w, tables, TextOptions{})
}
