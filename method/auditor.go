package method

import (
	"context"
	"fmt"
	"strings"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/navigate"
	"github.com/spatialstale/spatialstale/record"
)

// An Auditor is a judge.Source whose verdicts are a method's, all entries in one
// call, at the slot "window0/method".
type Auditor struct {
	Model llm.Model // a Model, or one around it
	// Grid is the observation cell by cell for a method that wants it, row by
	// row, with "?" for a cell that is not seen; nil for none.
	Grid func() []string
}

// An observation, as methods are sent one; the picture of a vision study is
// "png" beside it.
type observation struct {
	Modality string   `json:"modality"`
	Text     string   `json:"text,omitempty"`
	Grid     []string `json:"grid,omitempty"`
}

// Audit implements judge.Source. No entries, no call.
func (a *Auditor) Audit(ctx context.Context, w judge.Where, entries []judge.Entry, seen []llm.Part) (*judge.Result, error) {
	ids, err := judge.IDs(entries)
	if err != nil || len(entries) == 0 {
		return &judge.Result{}, err
	}
	list := make([]navigate.Entry, len(entries))
	for i := range entries {
		list[i] = navigate.Entry{ID: ids[i], Text: textOf(entries[i].Parts)}
	}
	slot := fmt.Sprintf("window%d/method", w.Window)
	reply, err := a.Model.Generate(ctx, &llm.Request{
		Trial: w.Trial, Slot: slot, Purpose: "audit",
		Parts: request(fmt.Sprintf(`"type":"audit","entries":%s`, encoded(list)), a.Grid, seen, ""),
	})
	if err != nil {
		return nil, err
	}
	verdicts, parsed := judge.ParseWords(ids, reply)
	parsed.Slot = slot
	return &judge.Result{Verdicts: verdicts, Replies: []record.Parsed{parsed}, Usage: []llm.Usage{reply.Usage}}, nil
}

// request makes the parts of a request. What seldom changes is a part of its
// own, which is stored once.
func request(first string, grid func() []string, seen []llm.Part, last string) []llm.Part {
	o := observation{Modality: record.Text, Text: textOf(seen)}
	var pictures []llm.Part
	for i := range seen {
		if seen[i].IsImage() {
			o.Modality, pictures = record.Vision, append(pictures, seen[i])
		}
	}
	if grid != nil {
		o.Grid = grid()
	}
	return append([]llm.Part{llm.Text(first), llm.Text(`,"observation":` + encoded(o) + last)}, pictures...)
}

func textOf(parts []llm.Part) string {
	var b strings.Builder
	for i := range parts {
		b.WriteString(parts[i].Text())
	}
	return b.String()
}
