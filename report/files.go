package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/report/figure"
)

// forms are those in which tables are written, some with the numbers behind
// figures.
var forms = map[string]struct {
	extension string
	tables    func(io.Writer, []analysis.Table) error
	figure    func(io.Writer, *analysis.Figure) error // nil for none
	says      bool                                    // in the file which program made it; else a file beside it does
}{
	"text":  {".txt", func(w io.Writer, tables []analysis.Table) error { return Text(w, tables, TextOptions{}) }, nil, false},
	"md":    {".md", Markdown, nil, true},
	"csv":   {".csv", func(w io.Writer, tables []analysis.Table) error { return CSV(w, tables[0]) }, FigureCSV, false},
	"json":  {".json", JSON, FigureJSON, true},
	"latex": {".tex", LaTeX, nil, true},
}

// An Output is what a report writes into a folder: a file for each table that
// has rows, and for each figure that has data one for each of its forms.
type Output struct {
	Tables []analysis.Table
	// Format is that of the tables: text, md, csv, json or latex. As csv and json
	// the numbers behind the figures are written too.
	Format  string
	Figures []analysis.Figure
	// Drawings are the forms of the figures, of figure.Formats.
	Drawings []string
}

// Write writes the files into a folder, which is made when it is not there:
// ID.txt, ID.md, ID.csv, ID.json or ID.tex, ID.svg, ID.png and ID.pdf, and with text
// and csv program.txt, which says what made them. No file
// that is there already is overwritten: the error then names it, and nothing is
// written. It returns the names of the files.
func (o *Output) Write(dir string) (names []string, err error) {
	files, err := o.files()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for i := range files {
		files[i].name = filepath.Join(dir, files[i].name)
		if _, err := os.Lstat(files[i].name); err == nil && !files[i].again {
			return nil, fmt.Errorf("%s: %w; nothing was written. Give another folder, or move it away", files[i].name, fs.ErrExist)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, f := range files {
		if err := writeFile(f.name, f.write); f.again && errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return names, err
		}
		names = append(names, f.name)
	}
	return names, nil
}

// A file is one to be written.
type file struct {
	name  string
	again bool // one that is there already stays
	write func(io.Writer) error
}

// files lists what is to be written, tables first.
func (o *Output) files() (files []file, err error) {
	form, ok := forms[o.Format]
	if !ok {
		return nil, fmt.Errorf("unknown format %q; there are %v", o.Format, slices.Sorted(maps.Keys(forms)))
	}
	for _, drawing := range o.Drawings {
		if !slices.Contains(figure.Formats, drawing) {
			return nil, fmt.Errorf("unknown form of figures %q; there are %v", drawing, figure.Formats)
		}
	}
	tables, _ := split(o.Tables)
	for _, t := range tables {
		files = append(files, file{t.ID + form.extension, false, func(w io.Writer) error { return form.tables(w, []analysis.Table{*t}) }})
	}
	if len(files) > 0 && !form.says {
		files = append(files, file{"program.txt", true, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "These files were made by spatialstale %s.\n", record.Program())
			return err
		}})
	}
	for i := range o.Figures {
		f := &o.Figures[i]
		if len(f.Panels) == 0 || len(o.Drawings) == 0 {
			continue
		}
		for _, drawing := range o.Drawings {
			files = append(files, file{f.ID + "." + drawing, false, func(w io.Writer) error { return figure.Draw(w, f, drawing, figure.Light) }})
		}
		if form.figure != nil {
			files = append(files, file{f.ID + form.extension, false, func(w io.Writer) error { return form.figure(w, f) }})
		}
	}
	return files, nil
}

// writeFile makes a file. One that cannot be finished is taken away again,
// because half a table looks like a whole one.
func writeFile(path string, write func(io.Writer) error) (err error) {
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
	return write(f)
}
