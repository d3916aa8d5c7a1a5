package shape

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/audit"
)

// A span is a part of a text, in bytes.
type span struct{ from, to int }

// A document is a text that is written back but for what is cut out of it and
// put into it.
type document struct {
	data   []byte
	places []place
	inner  []inner
}

// A place is where a memory stands in a document.
type place struct {
	entry int
	span  span    // what is cut out with it
	list  *[]span // the elements of the JSON list of which it is one; nil for none
	at    int     // of the element
	words int     // where words can be put before its text; -1 for nowhere
	whole bool    // the document goes with it
	// dedent is how far what is nested in the entry, after the span, is moved to
	// the left when the entry is cut: bytes of white space, of lines in nested.
	dedent int
	nested span
}

// An inner document is kept in another as a JSON string.
type inner struct {
	span span
	doc  *document
}

// An edit puts words in the place of a span.
type edit struct {
	span
	with string
}

// render writes a document; left is false when all of it was removed.
func (d *document) render(verdicts []audit.Verdict, removed []bool) (data []byte, left bool) {
	var edits []edit
	cutElements, indent := map[*[]span][]int{}, map[int]int{}
	for _, p := range d.places {
		v := &verdicts[p.entry]
		switch {
		case removed[p.entry] && p.whole:
			return nil, false
		case removed[p.entry] && p.list != nil:
			cutElements[p.list] = append(cutElements[p.list], p.at)
		case removed[p.entry]:
			edits = append(edits, edit{p.span, ""})
			d.dedent(&p, indent)
		case p.words >= 0 && v.Words() != "":
			edits = append(edits, edit{span{p.words, p.words}, v.Words()})
		}
	}
	for list, at := range cutElements {
		edits = append(edits, cutList(*list, at)...)
	}
	for _, in := range d.inner {
		if text, _ := in.doc.render(verdicts, removed); !bytes.Equal(text, in.doc.data) {
			edits = append(edits, edit{in.span, quote(string(text))})
		}
	}
	for line, by := range indent {
		space := len(d.data[line:]) - len(bytes.TrimLeft(d.data[line:], " \t"))
		edits = append(edits, edit{span{line, line + min(space, by)}, ""})
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		if e.from < at { // it stands in what is cut already
			continue
		}
		out.Write(d.data[at:e.from])
		out.WriteString(e.with)
		at = e.to
	}
	out.Write(d.data[at:])
	return out.Bytes(), true
}

// cutList cuts elements out of a JSON list, each with one of the commas beside
// it.
func cutList(elements []span, at []int) (edits []edit) {
	slices.Sort(at)
	kept := false // an element before is kept
	for i := range elements {
		_, gone := slices.BinarySearch(at, i)
		cut := elements[i]
		switch {
		case !gone:
			kept = true
			continue
		case kept:
			cut.from = elements[i-1].to
		case i+1 < len(elements):
			cut.to = elements[i+1].from
		}
		edits = append(edits, edit{cut, ""})
	}
	return edits
}

// dedent says how far the lines that are nested in a place move to the left, by
// where they begin.
func (d *document) dedent(p *place, indent map[int]int) {
	for at := p.nested.from; at < p.nested.to; {
		indent[at] += p.dedent
		end := bytes.IndexByte(d.data[at:p.nested.to], '\n')
		if end < 0 {
			return
		}
		at += end + 1
	}
}

// quote writes a text as JSON, without escapes that are not needed.
func quote(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic("shape: " + err.Error()) // a string can always be written
	}
	return strings.TrimSuffix(b.String(), "\n")
}
