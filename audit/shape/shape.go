// Package shape reads the memories of the stores that agents have, and writes
// them back in the same form once they were audited: Mem0, Letta, Graphiti,
// LangGraph, the MCP memory server, Markdown, lines of text and JSON. Every byte
// that is not part of a removed entry, or of the words before a marked one,
// stays as it was.
//
//	store, err := shape.Read("memory.md", data)
//	result, err := auditor.Audit(ctx, store.Memories, observation)
//	files := store.Apply(result.Verdicts)
//
// It refuses to change a store: it returns what would be written, and Plan says
// which of the store's own calls would do it.
package shape

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spatialstale/spatialstale/audit"
)

// A Format is a form that memories are kept in.
type Format string

// The formats.
const (
	Mem0      Format = "mem0"      // results of get_all or search
	Letta     Format = "letta"     // blocks, of which each line is an entry, and archival passages
	Graphiti  Format = "graphiti"  // edges, with their facts
	LangGraph Format = "langgraph" // items of a store
	MCP       Format = "mcp"       // the MCP memory server's file or graph: each observation and relation is an entry
	Markdown  Format = "markdown"  // list items and paragraphs
	Folder    Format = "folder"    // Markdown files: one with front matter is one entry
	Lines     Format = "lines"     // each line of a text is an entry
	JSON      Format = "json"      // records with a text, or texts, in a list or line by line
)

// Formats are all that can be asked for; a folder is known by being one.
var Formats = []Format{Mem0, Letta, Graphiti, LangGraph, MCP, Markdown, Lines, JSON}

// MaxBytes is how large a file, or all files of a folder together, may be.
const MaxBytes = 64 << 20

// maxFiles is how many files a folder may have.
const maxFiles = 10_000

// A Store is what was read.
type Store struct {
	Format   Format
	Memories []audit.Memory
	// Passed is how many records, or files of a folder, hold no memory, or have a
	// form that is not known. They are kept as they are.
	Passed int

	// Dir is where the files are, with slashes, seen from where a patch is applied;
	// "" for there.
	Dir string

	entries []entry // of each memory
	files   []file
}

// A File is one of a store. A store of one file has its name.
type File struct {
	Name string // in a folder with slashes
	Data []byte
}

type file struct {
	name string
	doc  *document
}

// An entry is where and how a memory is kept.
type entry struct {
	file  int
	kind  kind
	body  string   // its text in the store's own field, without what Memory.Text adds
	path  []string // what the store's calls name it by
	links []string // files of the folder that it leads to
	mute  bool     // it has no text that words can be put before
}

// ErrEmpty is in the error of a store without any memory.
var ErrEmpty = errors.New("there is no memory in it")

// Read reads a file, or what came through a pipe; its name tells apart what its
// content does not. It is an error when it is in no form that is known, and
// ErrEmpty, with a store all the same, when it holds no memory.
func Read(name string, data []byte) (*Store, error) { return ReadAs("", name, data) }

// ReadAs is Read of a file in a form that is known; "" is none.
func ReadAs(format Format, name string, data []byte) (*Store, error) {
	s := &Store{}
	if format != "" && !slices.Contains(Formats, format) {
		return nil, fmt.Errorf("unknown format %q; there are %v", string(format), Formats)
	}
	if err := s.read(format, name, data); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(s.Memories) == 0 {
		return s, fmt.Errorf("%s: %w", name, ErrEmpty)
	}
	return s, nil
}

// ReadFolder reads the Markdown files of a folder and of those below it, but for
// hidden ones: a file with front matter is one entry, and of others each list
// item and paragraph is.
func ReadFolder(fsys fs.FS, name string) (*Store, error) {
	s := &Store{Format: Folder}
	total := 0
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch hidden := p != "." && strings.HasPrefix(path.Base(p), "."); {
		case err != nil:
			return err
		case d.IsDir() && (hidden || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		case hidden || !d.Type().IsRegular() || !slices.Contains(markdownEnds, path.Ext(p)):
			s.Passed++
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if total += int(min(info.Size(), MaxBytes+1)); total > MaxBytes || len(s.files) == maxFiles {
			return fmt.Errorf("more than %d files or %d MB of Markdown; name a folder that holds memories only", maxFiles, MaxBytes>>20)
		}
		data, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		if err := s.read(Markdown, p, data); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(s.Memories) == 0 {
		return nil, fmt.Errorf("%s: %w: it has no Markdown file with one", name, ErrEmpty)
	}
	return s, nil
}

var markdownEnds = []string{".md", ".markdown", ".mdc"}

// read adds a file.
func (s *Store) read(format Format, name string, data []byte) error {
	switch {
	case len(data) > MaxBytes:
		return fmt.Errorf("it has more than %d MB", MaxBytes>>20)
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		return errors.New("it is not text in UTF-8")
	}
	if format == "" {
		format = guess(name, data)
	}
	s.files = append(s.files, file{name, &document{data: data}})
	doc := s.files[len(s.files)-1].doc
	var err error
	switch format {
	case Markdown:
		s.readMarkdown(doc, name)
	case Lines:
		s.readLines(doc, "line ")
	default:
		err = s.readJSON(doc)
		if err == nil && format != JSON && s.Format != format && len(s.Memories) > 0 {
			err = fmt.Errorf("it is not in the format %s but looks like %s", format, s.Format)
		}
		return err
	}
	if s.Format == "" {
		s.Format = format
	}
	return nil
}

// guess tells the format of a file: JSON by its first character, which is then
// looked at record by record, Markdown and plain lines by name and content.
func guess(name string, data []byte) Format {
	text := bytes.TrimLeft(data, "\ufeff \t\r\n")
	switch {
	case slices.Contains(markdownEnds, path.Ext(name)):
		return Markdown
	case len(text) > 0 && (text[0] == '{' || text[0] == '['):
		return JSON
	case path.Ext(name) == ".txt" || !looksLikeMarkdown(data):
		return Lines
	}
	return Markdown
}

// add adds a memory with its place in a document.
func (s *Store) add(doc *document, m audit.Memory, e entry, p place) {
	e.file = len(s.files) - 1
	p.entry = len(s.Memories)
	e.mute = p.words < 0
	s.Memories, s.entries = append(s.Memories, m), append(s.entries, e)
	doc.places = append(doc.places, p)
}

// Apply returns the store's files as they are without what was removed, and with
// words before what was marked; the verdicts are those of an audit of
// Memories. A file that was one entry and is removed is not among them.
func (s *Store) Apply(verdicts []audit.Verdict) []File {
	removed := s.removed(verdicts)
	var out []File
	for i := range s.files {
		if data, left := s.files[i].doc.render(verdicts, removed); left {
			out = append(out, File{s.files[i].name, data})
		}
	}
	return out
}

// removed says of each memory whether it is left out: it was removed, it does
// nothing but lead to files that were, or it should be marked and has no text for
// the words.
func (s *Store) removed(verdicts []audit.Verdict) []bool {
	out := make([]bool, len(verdicts))
	gone := map[string]bool{}
	for i := range verdicts {
		if out[i] = verdicts[i].Action == audit.Removed || s.entries[i].mute && verdicts[i].Words() != ""; out[i] && s.entries[i].kind == kindFile {
			gone[s.files[s.entries[i].file].name] = true
		}
	}
	for i := range s.entries {
		if links := s.entries[i].links; len(links) > 0 && !slices.ContainsFunc(links, func(l string) bool { return !gone[l] }) {
			out[i] = true
		}
	}
	return out
}

// Besides says of memories, by their places, why Apply leaves them out although
// their own verdict does not.
func (s *Store) Besides(verdicts []audit.Verdict) map[int]string {
	out := map[int]string{}
	for i, gone := range s.removed(verdicts) {
		switch {
		case !gone || verdicts[i].Action == audit.Removed:
		case len(s.entries[i].links) > 0:
			out[i] = "left out with the file that it leads to"
		default:
			out[i] = "left out, for it has no text to be marked"
		}
	}
	return out
}
