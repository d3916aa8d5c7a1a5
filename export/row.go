package export

import (
	"encoding/hex"
	"math"
	"time"
	"unicode/utf8"

	"github.com/spatialstale/spatialstale/record"
)

// The rows of the Parquet tables. Names and order are those of the JSON lines;
// a test compares the two.

type position struct {
	Row int32 `parquet:"row"`
	Col int32 `parquet:"col"`
}

type flipRow struct {
	Row int32  `parquet:"row"`
	Col int32  `parquet:"col"`
	To  string `parquet:"to,dict"`
}

type eventRow struct {
	Step  int32     `parquet:"step"`
	Flips []flipRow `parquet:"flips,list"`
}

type entryRow struct {
	ID      string   `parquet:"id,dict"`
	Pos     position `parquet:"pos"`
	Claim   string   `parquet:"claim,dict"`
	Text    string   `parquet:"text,dict"`
	Visited bool     `parquet:"visited"`
}

type instanceRow struct {
	Seed      int64      `parquet:"seed"`
	Regime    string     `parquet:"regime,dict"`
	Rows      []string   `parquet:"rows,list"`
	RowsAfter []string   `parquet:"rows_after,list"`
	Events    []eventRow `parquet:"events,list"`
	Memory    []entryRow `parquet:"memory,list"`
}

func newInstanceRow(in *record.Instance) instanceRow {
	row := instanceRow{Seed: int64(in.Seed), Regime: in.Regime, Rows: readableAll(in.Rows), RowsAfter: readableAll(in.RowsAfter)}
	for i := range in.Events {
		e := &in.Events[i]
		row.Events = append(row.Events, eventRow{int32(e.Step), newFlips(e.Flips)})
	}
	for i := range in.Memory {
		m := &in.Memory[i]
		row.Memory = append(row.Memory, entryRow{readable(m.ID), newPosition(m.Pos), readable(m.Claim), readable(m.Text), m.Visited})
	}
	return row
}

type deathRow struct {
	Pos      position `parquet:"pos"`
	MemoryID *string  `parquet:"memory_id"`
	Cause    string   `parquet:"cause,dict"`
}

type trialRow struct {
	Trial        string    `parquet:"trial"`
	Task         string    `parquet:"task,dict"`
	Model        string    `parquet:"model,dict"`
	Modality     string    `parquet:"modality,dict"`
	Regime       string    `parquet:"regime,dict"`
	Seed         int64     `parquet:"seed"`
	Strategy     string    `parquet:"strategy,dict"`
	Batch        int32     `parquet:"batch"`
	Framing      string    `parquet:"framing,dict"`
	Episode      int32     `parquet:"episode"`
	Outcome      string    `parquet:"outcome,dict"`
	Reward       *int32    `parquet:"reward"`
	Steps        *int32    `parquet:"steps"`
	TP           int32     `parquet:"tp"`
	FP           int32     `parquet:"fp"`
	FN           int32     `parquet:"fn"`
	TN           int32     `parquet:"tn"`
	Unanswered   int32     `parquet:"unanswered"`
	Precision    *float64  `parquet:"precision"`
	Recall       *float64  `parquet:"recall"`
	F1           *float64  `parquet:"f1"`
	Death        *deathRow `parquet:"death"`
	Fallbacks    int32     `parquet:"fallbacks"`
	DroppedFlips int32     `parquet:"dropped_flips"`
	Rows         int32     `parquet:"rows"`
	Cols         int32     `parquet:"cols"`
	Error        *string   `parquet:"error"`
}

func newTrialRow(t *record.Trial) trialRow {
	row := trialRow{
		Trial: readable(t.Key), Task: t.Task, Model: readable(t.Model), Modality: t.Modality, Regime: t.Regime, Seed: int64(t.Seed),
		Strategy: readable(t.Strategy), Batch: int32(t.Batch), Framing: readable(t.Framing), Episode: int32(t.Episode),
		Outcome: t.Outcome, Reward: small(t.Reward()), Steps: small(t.Moves()),
		TP: int32(t.Counts.TP), FP: int32(t.Counts.FP), FN: int32(t.Counts.FN), TN: int32(t.Counts.TN), Unanswered: int32(t.Counts.Unanswered),
		Precision: t.Counts.Precision(), Recall: t.Counts.Recall(), F1: t.Counts.F1(),
		Fallbacks: int32(t.Fallbacks()), DroppedFlips: int32(t.DroppedFlips()), Rows: int32(t.Rows), Cols: int32(t.Cols),
	}
	if d := t.Death; d != nil {
		row.Death = &deathRow{newPosition(d.Pos), d.MemoryID, d.Cause}
	}
	if t.Error != "" {
		text := readable(t.Error)
		row.Error = &text
	}
	return row
}

type judgmentRow struct {
	Trial        string   `parquet:"trial,dict"`
	Window       int32    `parquet:"window"`
	Step         int32    `parquet:"step"`
	MemoryID     string   `parquet:"memory_id,dict"`
	Pos          position `parquet:"pos"`
	Claim        string   `parquet:"claim,dict"`
	Truth        bool     `parquet:"truth"`
	Verdict      string   `parquet:"verdict,dict"`
	Score        *float64 `parquet:"score"`
	Confidence   *float64 `parquet:"confidence"`
	Reason       string   `parquet:"reason"`
	Repaired     bool     `parquet:"repaired"`
	Repairs      []string `parquet:"repairs,list"`
	StaleLogprob *float64 `parquet:"stale_logprob"`
	ValidLogprob *float64 `parquet:"valid_logprob"`
	Auditor      string   `parquet:"auditor,dict"`
}

func newJudgmentRow(trial string, w *record.Window, j *record.Judgment) judgmentRow {
	return judgmentRow{
		Trial: readable(trial), Window: int32(w.Index), Step: int32(w.Step), MemoryID: readable(j.MemoryID), Pos: newPosition(j.Pos),
		Claim: readable(j.Claim), Truth: j.Truth, Verdict: j.Verdict, Score: finite(j.Score), Confidence: finite(j.Confidence),
		Reason: readable(j.Reason), Repaired: len(j.Repairs) > 0, Repairs: readableAll(j.Repairs),
		StaleLogprob: finite(j.StaleLogprob), ValidLogprob: finite(j.ValidLogprob),
		Auditor: auditorOf(w),
	}
}

type stepRow struct {
	Trial    string    `parquet:"trial,dict"`
	T        int32     `parquet:"t"`
	Pos      position  `parquet:"pos"`
	Action   string    `parquet:"action,dict"`
	Next     position  `parquet:"next"`
	Cell     string    `parquet:"cell,dict"`
	Fallback bool      `parquet:"fallback"`
	Event    []flipRow `parquet:"event,list"`
	Dropped  []flipRow `parquet:"dropped,list"`
	Memory   string    `parquet:"memory,dict"`
	Removed  []string  `parquet:"removed,list"`
}

func newStepRow(trial string, s *record.Step) stepRow {
	return stepRow{
		Trial: readable(trial), T: int32(s.T), Pos: newPosition(s.Pos), Action: s.Action, Next: newPosition(s.Next), Cell: s.Cell, Fallback: s.Fallback,
		Event: newFlips(s.Event), Dropped: newFlips(s.Dropped), Memory: s.Memory, Removed: readableAll(s.Removed),
	}
}

type callRow struct {
	Trial            string  `parquet:"trial,dict"`
	Slot             string  `parquet:"slot,dict"`
	Purpose          string  `parquet:"purpose,dict"`
	Model            string  `parquet:"model,dict"`
	PromptSHA256     string  `parquet:"prompt_sha256"`
	Reply            string  `parquet:"reply"`
	Finish           string  `parquet:"finish,dict"`
	InputTokens      *int64  `parquet:"input_tokens"`
	OutputTokens     *int64  `parquet:"output_tokens"`
	LatencyMS        float64 `parquet:"latency_ms"`
	CachedTokens     *int64  `parquet:"cached_tokens"`
	CacheWriteTokens *int64  `parquet:"cache_write_tokens"`
	ReasoningTokens  *int64  `parquet:"reasoning_tokens"`

	ServerPromptMS *float64 `parquet:"server_prompt_ms"`
	ServerOutputMS *float64 `parquet:"server_output_ms"`
	ServerLoadMS   *float64 `parquet:"server_load_ms"`
}

func newCallRow(c *record.Call) callRow {
	prompt, output, load := serverTimes(c)
	return callRow{
		Trial: readable(c.Trial), Slot: readable(c.Slot), Purpose: readable(c.Purpose), Model: readable(c.Model),
		PromptSHA256: hex.EncodeToString(c.PromptSHA256[:]), Reply: readable(c.Reply), Finish: readable(c.Finish),
		InputTokens: large(c.InputTokens), OutputTokens: large(c.OutputTokens),
		LatencyMS:    *milliseconds(&c.Latency),
		CachedTokens: large(c.CachedTokens), CacheWriteTokens: large(c.CacheWriteTokens), ReasoningTokens: large(c.ReasoningTokens),
		ServerPromptMS: milliseconds(prompt), ServerOutputMS: milliseconds(output), ServerLoadMS: milliseconds(load),
	}
}

// serverTimes are a call's parts by the server's own clock, nil where it gave
// none.
func serverTimes(c *record.Call) (prompt, output, load *time.Duration) {
	if t := c.Timings; t != nil {
		return &t.Prompt, &t.Output, &t.Load
	}
	return nil, nil, nil
}

// milliseconds rounds a duration to three decimals.
func milliseconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(float64(d.Round(time.Microsecond).Microseconds()) / 1000)
}

func newPosition(p record.Pos) position { return position{int32(p[0]), int32(p[1])} }

func newFlips(all []record.Flip) []flipRow {
	var rows []flipRow
	for _, f := range all {
		rows = append(rows, flipRow{int32(f.Pos[0]), int32(f.Pos[1]), readable(f.To)})
	}
	return rows
}

func small(v *int) *int32 {
	if v == nil {
		return nil
	}
	n := int32(*v)
	return &n
}

func large(v *int) *int64 {
	if v == nil {
		return nil
	}
	n := int64(*v)
	return &n
}

// finite returns nil for what is no number, as the JSON lines do.
func finite(v *float64) *float64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return nil
	}
	return v
}

// readable turns each byte that is no UTF-8 into U+FFFD, as the JSON lines do.
func readable(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func readableAll(all []string) []string {
	for i := range all {
		if !utf8.ValidString(all[i]) {
			fixed := make([]string, len(all))
			for k := range all {
				fixed[k] = readable(all[k])
			}
			return fixed
		}
	}
	return all
}
