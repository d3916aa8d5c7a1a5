package run

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/memory"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/study"
)

// A transcriber asks a model to write down the grid that it is shown, without a
// memory. What it wrote is its audit: an entry is stale where the letter of its
// cell contradicts the claim. So what a model does not see is told from what it
// sees and does not reconcile.
type transcriber struct {
	model  llm.Model
	prompt *llm.Template
	legend []llm.Part
	params llm.Params
}

func newTranscriber(model llm.Model, prompt, legend string, params llm.Params) (*transcriber, error) {
	t, err := llm.ParseTemplate(prompt, study.TranscribePlaces...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", study.TranscribeFile, err)
	}
	return &transcriber{model, t, []llm.Part{llm.Text(legend)}, params}, nil
}

var transcriptSchema = &llm.Schema{Name: "transcript", JSON: []byte(`{"type":"object","properties":{"rows":{"type":"array","items":{"type":"string"}}},"required":["rows"],"additionalProperties":false}`)}

// transcriptTokens are the output tokens of an ample transcript: letters may be a
// token each, and room is left for a model that says something first.
func transcriptTokens(cells int) int { return 1024 + 3*cells }

// Audit implements judge.Source for the entries of a lake, whose texts say where
// their cells are. The call is at the slot "window0/transcript".
func (t *transcriber) Audit(ctx context.Context, w judge.Where, entries []judge.Entry, seen []llm.Part) (*judge.Result, error) {
	claims := make([]memory.Claim, len(entries))
	cells := make([]lake.Pos, len(entries))
	rows, cols := 0, 0
	for i := range entries {
		var ok bool
		if claims[i], cells[i], ok = memory.ReadClaim(entries[i].Parts[0].Text()); !ok {
			return nil, fmt.Errorf("transcript: the entry %s claims nothing of a cell", entries[i].ID)
		}
		rows, cols = max(rows, cells[i].Row+1), max(cols, cells[i].Col+1)
	}
	fill := map[string][]llm.Part{"legend": t.legend, "observation": seen}
	req := &llm.Request{
		Trial: w.Trial, Slot: fmt.Sprintf("window%d/transcript", w.Window), Purpose: "transcribe",
		Parts: t.prompt.Parts(fill), Shared: []int{t.prompt.Until(fill, "observation")},
		Schema: transcriptSchema, Params: t.params, Answer: transcriptTokens(rows * cols),
	}
	reply, err := t.model.Generate(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("transcript at %s: %w", req.Slot, err)
	}
	grid, parsed := readTranscript(reply, rows, cols)
	parsed.Slot = req.Slot
	res := &judge.Result{Replies: []record.Parsed{parsed}, Usage: []llm.Usage{reply.Usage}}
	for i := range entries {
		v := judge.Verdict{ID: entries[i].ID, Status: record.Unanswered}
		if grid != nil {
			letter := grid[cells[i].Row][cells[i].Col]
			v.Reason = "it wrote " + string(letter)
			switch hole := letter == lake.Hole.String()[0]; {
			case letter == '?':
				v.Status = record.NotCovered
			case hole == (claims[i] == memory.Danger):
				v.Status = record.Valid
			default:
				v.Status = record.Stale
			}
		}
		res.Verdicts = append(res.Verdicts, v)
	}
	return res, nil
}

var letters = regexp.MustCompile(`[SFHG?](?:[ ,]*[SFHG?])*`)

// readTranscript reads the rows of a reply, the last so many that are as wide as
// the grid: a model may try before it answers. One without that many is not
// answered at all, since nobody can tell which rows are missing.
func readTranscript(reply *llm.Reply, rows, cols int) (grid []string, p record.Parsed) {
	for _, text := range letters.FindAllString(reply.Text, -1) {
		if row := strings.NewReplacer(" ", "", ",", "").Replace(text); len(row) == cols {
			grid = append(grid, row)
		}
	}
	switch {
	case len(grid) >= rows:
		p.Outcome = judge.Answered
		return grid[len(grid)-rows:], p
	case reply.Finish == llm.FinishContentFilter:
		p.Outcome = judge.Filtered
	case reply.Finish == llm.FinishLength:
		p.Outcome = judge.Truncated
	case strings.TrimSpace(reply.Text) == "":
		p.Outcome = judge.Empty
	default:
		p.Outcome = judge.Unparsed
	}
	return nil, p
}
