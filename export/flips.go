package export

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// In JSON lines, flips are one text, written as observations are:
// "(2,0)=H (2,3)=F", and "" for none. Lists of [2,0,"H"], as version 0.1 wrote
// them, cannot be read by pyarrow at all, because a list there has one type; nor
// can lists of objects, where the first lines of a file have only empty ones.

func flipsText(all []record.Flip) string {
	var b strings.Builder
	for i, f := range all {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "(%d,%d)=%s", f.Pos[0], f.Pos[1], f.To)
	}
	return b.String()
}

var flipPattern = regexp.MustCompile(`^\((-?\d+),(-?\d+)\)=([A-Z])$`)

// parseFlips reads what flipsText writes.
func parseFlips(text string) ([]record.Flip, error) {
	all := []record.Flip{}
	for _, word := range strings.Fields(text) {
		m := flipPattern.FindStringSubmatch(word)
		if m == nil {
			return nil, fmt.Errorf("%q is no flip such as (2,0)=H", word)
		}
		f := record.Flip{To: m[3]}
		for i := range f.Pos {
			var err error
			if f.Pos[i], err = strconv.Atoi(m[1+i]); err != nil {
				return nil, fmt.Errorf("%q is no flip: %w", word, err)
			}
		}
		all = append(all, f)
	}
	return all, nil
}

// A datasetInstance is an instance as a dataset has it: flips as a text, or as
// lists in one that version 0.1 or a person has written.
type datasetInstance struct {
	record.Instance
	Events []struct {
		Step  int      `json:"step"`
		Flips anyFlips `json:"flips"`
	} `json:"events"`
}

type anyFlips []record.Flip

func (f *anyFlips) UnmarshalJSON(b []byte) (err error) {
	var text string
	if json.Unmarshal(b, &text) != nil {
		return json.Unmarshal(b, (*[]record.Flip)(f))
	}
	*f, err = parseFlips(text)
	return err
}

func (d *datasetInstance) instance() record.Instance {
	in := d.Instance
	if d.Events == nil {
		return in
	}
	in.Events = make([]record.Event, len(d.Events))
	for i, e := range d.Events {
		in.Events[i] = record.Event{Step: e.Step, Flips: e.Flips}
	}
	return in
}
