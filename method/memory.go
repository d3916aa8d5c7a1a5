package method

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/navigate"
)

// A Memory is a memory system over one episode: it is shown what the agent
// sees before each step, at the slot "step1/memory" and so on, and says what the
// memory is from then on. It is not safe for concurrent use.
type Memory struct {
	Model    llm.Model // a Model, or one around it
	Trial    string
	Observer navigate.Observer
	Grid     bool             // send the observation cell by cell as well
	Entries  []navigate.Entry // the memory now; at first the one that was taken before the episode

	reply string // the latest answer
}

// purposeMemory is the purpose of a memory's requests.
const purposeMemory = "remember"

// Remember asks about a moment, and reports whether the memory is another one
// after it. An answer without entries leaves it as it was.
func (m *Memory) Remember(ctx context.Context, now navigate.Moment) (changed bool, err error) {
	parts, err := moment(m.Observer, &now, m.Grid, `"type":"remember","entries":`+encoded(m.Entries), stateOf(m.reply))
	if err != nil {
		return false, err
	}
	reply, err := m.Model.Generate(ctx, &llm.Request{Trial: m.Trial, Slot: fmt.Sprintf("step%d/memory", now.Step+1), Purpose: purposeMemory, Parts: parts})
	if err != nil {
		return false, err
	}
	m.reply = reply.Text
	entries, _ := readEntries([]byte(reply.Text)) // one that cannot be read was no answer (Model.Generate)
	if entries == nil {
		return false, nil
	}
	m.Entries = entries
	return true, nil
}

// maxEntries is how many entries a memory may have: more than any lake has
// cells.
const maxEntries = 10_000

// readEntries reads the memory that an answer gives, nil for none.
func readEntries(answer []byte) ([]navigate.Entry, error) {
	var said struct {
		Entries *[]navigate.Entry `json:"entries"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return nil, fmt.Errorf("its entries cannot be read: want a list of {\"memory_id\", \"text\"}")
	}
	if said.Entries == nil {
		return nil, nil
	}
	entries := *said.Entries
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("its memory has %d entries; at most %d are taken", len(entries), maxEntries)
	}
	known := map[string]bool{}
	for i, e := range entries {
		switch {
		case strings.TrimSpace(e.ID) == "" || strings.ContainsAny(e.ID, "[]\r\n"):
			return nil, fmt.Errorf("entry %d of its memory has no memory_id, or one with brackets or line breaks", i+1)
		case known[e.ID]:
			return nil, fmt.Errorf("entry %d of its memory has the memory_id of another", i+1)
		case strings.TrimSpace(e.Text) == "" || strings.ContainsAny(e.Text, "\r\n"):
			return nil, fmt.Errorf("entry %d of its memory has no text, or one of several lines", i+1)
		}
		known[e.ID] = true
	}
	return entries, nil
}
