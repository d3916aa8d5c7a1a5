package shape

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	mdtext "github.com/yuin/goldmark/text"

	"github.com/spatialstale/spatialstale/audit"
)

// listItem matches a line that begins a list item.
var listItem = regexp.MustCompile(`^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?`)

// looksLikeMarkdown reports whether a text has a heading, a list, front matter
// or a fence.
func looksLikeMarkdown(data []byte) bool {
	return regexp.MustCompile(`(?m)^(?:#{1,6} |\x60{3}|~~~|---\r?$)|` + `(?m)^ {0,3}(?:[-*+]|\d{1,9}[.)]) `).Match(data)
}

// frontMatter matches a block of YAML at a file's beginning, or of TOML, which is
// passed over.
var frontMatter = regexp.MustCompile(`(?s)\A(?:\x{feff}?---[ \t]*\r?\n(.*?\n|)---|\+\+\+[ \t]*\r?\n()(?:.*?\n|)\+\+\+)[ \t]*(?:\r?\n|\z)`)

// readMarkdown reads a file of Markdown, of which each list item and paragraph is
// an entry. Headings, and items that lead to others, are told with what is below
// them. Code, quotations and tables are no entries. A file with front matter and
// without a heading is one entry, outside of a folder only where it has no list
// either; of any other file, front matter says something of all its entries and is
// none itself.
func (s *Store) readMarkdown(doc *document, name string) {
	data := doc.data
	var record *node
	if m := frontMatter.FindSubmatchIndex(data); m != nil {
		yaml := m[2] >= 0
		if yaml {
			record = fieldsOf(data[m[2]:m[3]])
		}
		if record != nil || !yaml {
			data = blank(data, m[1])
			body := goldmark.DefaultParser().Parse(mdtext.NewReader(data))
			if record != nil && !has(body, ast.KindHeading) && (s.Format == Folder || !has(body, ast.KindList)) {
				s.addFile(doc, name, record, m[1])
				return
			}
		}
	}
	tree := goldmark.DefaultParser().Parse(mdtext.NewReader(data))
	said := audit.Claims{}
	if record != nil {
		said = claims(record)
	}
	r := markdownReader{store: s, doc: doc, name: name, said: said}
	var headings []string
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			headings = append(headings[:min(n.Level-1, len(headings))], make([]string, max(0, n.Level-1-len(headings)))...)
			title := r.lines(n)
			if n.Level == 1 && n.PreviousSibling() == nil {
				title = "" // the document's, which says nothing of its entries
			}
			headings = append(headings, title)
		case *ast.List:
			r.list(n, headings)
		case *ast.Paragraph:
			r.paragraph(n, headings)
		}
	}
}

type markdownReader struct {
	store *Store
	doc   *document
	name  string
	said  audit.Claims // by the front matter, of all entries
}

// list adds the items of a list, each with those nested in it after it.
func (r *markdownReader) list(list ast.Node, above []string) {
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		var nested []ast.Node
		var own []string
		for n := item.FirstChild(); n != nil; n = n.NextSibling() {
			if n.Kind() == ast.KindList {
				nested = append(nested, n)
			} else if text := r.lines(n); text != "" {
				own = append(own, text)
			}
		}
		text := strings.Join(own, "\n")
		from, end := r.lineStart(item.Pos()), r.end(item)
		if lead := strings.HasSuffix(text, ":") && len(nested) > 0; !lead && text != "" {
			p := place{span: span{from, end}, words: r.textStart(item)}
			if len(nested) > 0 {
				p.span.to = r.lineStart(nested[0].Pos())
				p.nested = span{p.span.to, end}
				p.dedent = max(0, r.column(nested[0])-r.column(item))
			}
			r.add(text, above, p)
		}
		for _, n := range nested {
			r.list(n, append(above[:len(above):len(above)], strings.TrimSuffix(oneLine(text), ":")))
		}
	}
}

// imports matches lines that bring in other files, as coding agents' notes do.
var imports = regexp.MustCompile(`^(?:@\S+\s*)+$`)

// paragraph adds a paragraph, unless it does nothing but lead to what follows.
func (r *markdownReader) paragraph(n ast.Node, above []string) {
	text := r.lines(n)
	next := n.NextSibling()
	if strings.HasSuffix(text, ":") && next != nil && next.Kind() != ast.KindParagraph {
		return
	}
	end := r.end(n)
	if at := r.table(n); at >= 0 {
		text, end = strings.TrimSpace(string(r.doc.data[n.Pos():at])), at
	}
	if text == "" || end < r.end(n) && strings.HasSuffix(text, ":") || imports.MatchString(text) {
		return
	}
	r.add(text, above, place{span: span{r.lineStart(n.Pos()), end}, words: r.textStart(n)})
}

// delimiterRow matches the row below the header of a table.
var delimiterRow = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$`)

// table is where in a paragraph a table begins; -1 for none. CommonMark takes a
// table for a paragraph, and the extension that does not says of a table below
// words that it begins where they do.
func (r *markdownReader) table(paragraph ast.Node) int {
	lines := paragraph.Lines()
	for i := 1; i < lines.Len(); i++ {
		row, header := lines.At(i), lines.At(i-1)
		if below := row.Value(r.doc.data); bytes.ContainsRune(below, '|') && delimiterRow.Match(below) &&
			bytes.ContainsRune(header.Value(r.doc.data), '|') {
			return r.lineStart(header.Start)
		}
	}
	return -1
}

// add adds an entry with the headings that it stands below.
func (r *markdownReader) add(text string, above []string, p place) {
	whole := text
	var path []string
	for _, heading := range above {
		if heading != "" {
			path = append(path, heading)
		}
	}
	if len(path) > 0 {
		whole = strings.Join(path, " / ") + ": " + text
	}
	line := 1 + bytes.Count(r.doc.data[:p.span.from], []byte("\n"))
	id := fmt.Sprintf("line %d", line)
	if r.store.Format == Folder {
		id = fmt.Sprintf("%s:%d", r.name, line)
	}
	r.store.add(r.doc, audit.Memory{ID: id, Text: whole, Claims: r.said}, entry{kind: kindText, body: text, links: localLinks(r.name, text)}, p)
}

// lines is a block's text; below it, the blocks of a quotation.
func (r *markdownReader) lines(n ast.Node) string {
	var b strings.Builder
	if n.Type() == ast.TypeBlock {
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			b.Write(line.Value(r.doc.data))
		}
		for c := n.FirstChild(); c != nil && c.Type() == ast.TypeBlock; c = c.NextSibling() {
			b.WriteString(r.lines(c))
		}
	}
	return strings.TrimSpace(b.String())
}

// end is where a block ends: the line after its last that is not blank.
func (r *markdownReader) end(n ast.Node) int {
	end := len(r.doc.data)
	for ; n != nil; n = n.Parent() {
		if next := n.NextSibling(); next != nil {
			end = r.lineStart(next.Pos())
			break
		}
	}
	text := bytes.TrimRight(r.doc.data[:end], " \t\r\n")
	if i := bytes.IndexByte(r.doc.data[len(text):end], '\n'); i >= 0 {
		return len(text) + i + 1
	}
	return end
}

func (r *markdownReader) lineStart(at int) int {
	return bytes.LastIndexByte(r.doc.data[:at], '\n') + 1
}

// column is how many bytes a block stands from the left.
func (r *markdownReader) column(n ast.Node) int { return n.Pos() - r.lineStart(n.Pos()) }

// textStart is where the text of a block begins, after its mark.
func (r *markdownReader) textStart(n ast.Node) int {
	from := r.lineStart(n.Pos())
	if n.Kind() == ast.KindListItem {
		return from + len(listItem.Find(r.doc.data[from:]))
	}
	return n.Pos()
}

// fieldsOf reads front matter; nil when it is none: a rule between two parts of a
// text, or what is no YAML.
func fieldsOf(text []byte) *node {
	var fields map[string]any
	if yaml.Unmarshal(text, &fields) != nil || len(fields) == 0 {
		return nil
	}
	record := &node{kind: '{'}
	for key, value := range fields {
		text := fmt.Sprint(value)
		kind := byte('"')
		if _, ok := value.(bool); ok {
			kind = 't'
		}
		record.keys, record.items = append(record.keys, key), append(record.items, &node{kind: kind, text: text})
	}
	return record
}

// blank returns a text whose first bytes, but for its line breaks, are spaces.
func blank(data []byte, n int) []byte {
	out := bytes.Clone(data)
	for i := range out[:n] {
		if out[i] != '\n' {
			out[i] = ' '
		}
	}
	return out
}

func has(tree ast.Node, kind ast.NodeKind) bool {
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == kind {
			return true
		}
	}
	return false
}

// addFile adds a file that is one entry; its text begins at a place.
func (s *Store) addFile(doc *document, name string, record *node, at int) {
	body := strings.TrimSpace(string(doc.data[at:]))
	text := record.str("name", "title")
	for _, part := range []string{record.str("description", "summary"), body} {
		if part != "" {
			text += map[bool]string{true: "", false: ": "}[text == ""] + part
		}
	}
	words := at + len(doc.data[at:]) - len(bytes.TrimLeft(doc.data[at:], " \t\r\n"))
	s.add(doc, audit.Memory{ID: name, Text: text, Claims: claims(record)},
		entry{kind: kindFile, body: body}, place{span: span{0, len(doc.data)}, words: words, whole: true})
}

// mdLink matches a link from the end of its words: its target in angle brackets
// or without, and a title.
var mdLink = regexp.MustCompile(`\]\([ \t]*(?:<([^<>\n]+)>|([^()<>\s]+))(?:[ \t]+(?:"[^"\n]*"|'[^'\n]*'))?[ \t]*\)`)

// localLinks are the Markdown files that a text leads to, by their names in the
// folder.
func localLinks(from, text string) (links []string) {
	found := mdLink.FindAllStringSubmatch(text, -1)
	if len(found) < strings.Count(text, "](") {
		return nil // where else it leads cannot be told
	}
	for _, m := range found {
		target, err := url.Parse(m[1] + m[2])
		if err != nil || target.IsAbs() || target.Host != "" || target.Path == "" || path.IsAbs(target.Path) {
			return nil // it leads elsewhere as well
		}
		links = append(links, path.Join(path.Dir(from), target.Path))
	}
	return links
}

// readLines reads a text of which each line is an entry; ids begin with prefix.
func (s *Store) readLines(doc *document, prefix string) {
	at := 0
	for i, line := range bytes.SplitAfter(doc.data, []byte("\n")) {
		mark := len(listItem.Find(line))
		if text := strings.TrimSpace(strings.TrimPrefix(string(line[mark:]), "\ufeff")); text != "" {
			s.add(doc, audit.Memory{ID: fmt.Sprintf("%s%d", prefix, i+1), Text: text}, entry{kind: kindText, body: text},
				place{span: span{at, at + len(line)}, words: at + mark + len(line[mark:]) - len(bytes.TrimLeft(line[mark:], " \t"))})
		}
		at += len(line)
	}
}
