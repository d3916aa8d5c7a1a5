package export

import (
	"github.com/spatialstale/spatialstale/record"
)

// The methods below return one line each. Names and order of the fields are a
// promise to other programs; docs/export.md makes it.

func (l *line) instance(in *record.Instance) []byte {
	l.begin()
	l.integer("seed", in.Seed)
	l.text("regime", in.Regime)
	l.texts("rows", in.Rows)
	l.texts("rows_after", in.RowsAfter)
	list(l, "events", in.Events, func(e *record.Event) {
		l.open('{')
		l.integer("step", e.Step)
		l.flips("flips", e.Flips)
		l.close('}')
	})
	list(l, "memory", in.Memory, func(m *record.MemoryEntry) {
		l.open('{')
		l.text("id", m.ID)
		l.pos("pos", m.Pos)
		l.text("claim", m.Claim)
		l.text("text", m.Text)
		l.flag("visited", m.Visited)
		l.close('}')
	})
	return l.end()
}

func (l *line) trial(t *record.Trial) []byte {
	l.begin()
	l.text("trial", t.Key)
	l.text("task", t.Task)
	l.text("model", t.Model)
	l.text("modality", t.Modality)
	l.text("regime", t.Regime)
	l.integer("seed", t.Seed)
	l.text("strategy", t.Strategy)
	l.integer("batch", t.Batch)
	l.text("framing", t.Framing)
	l.integer("episode", t.Episode)
	l.text("outcome", t.Outcome)
	l.optionalInteger("reward", t.Reward())
	l.optionalInteger("steps", t.Moves())
	l.integer("tp", t.Counts.TP)
	l.integer("fp", t.Counts.FP)
	l.integer("fn", t.Counts.FN)
	l.integer("tn", t.Counts.TN)
	l.integer("unanswered", t.Counts.Unanswered)
	l.number("precision", t.Counts.Precision())
	l.number("recall", t.Counts.Recall())
	l.number("f1", t.Counts.F1())
	if d := t.Death; d != nil {
		l.name("death")
		l.open('{')
		l.pos("pos", d.Pos)
		l.optionalText("memory_id", d.MemoryID)
		l.text("cause", d.Cause)
		l.close('}')
	} else {
		l.null("death")
	}
	l.integer("fallbacks", t.Fallbacks())
	l.integer("dropped_flips", t.DroppedFlips())
	l.integer("rows", t.Rows)
	l.integer("cols", t.Cols)
	if t.Error != "" {
		l.text("error", t.Error)
	} else {
		l.null("error")
	}
	return l.end()
}

// auditorOf says who judged in a window. A model has replied for each of its
// calls; an oracle is not asked, it knows.
func auditorOf(w *record.Window) string {
	if len(w.Replies) == 0 {
		return "oracle"
	}
	return "model"
}

func (l *line) judgment(trial string, w *record.Window, j *record.Judgment) []byte {
	l.begin()
	l.text("trial", trial)
	l.integer("window", w.Index)
	l.integer("step", w.Step)
	l.text("memory_id", j.MemoryID)
	l.pos("pos", j.Pos)
	l.text("claim", j.Claim)
	l.flag("truth", j.Truth)
	l.text("verdict", j.Verdict)
	l.number("score", j.Score)
	l.number("confidence", j.Confidence)
	l.text("reason", j.Reason)
	l.flag("repaired", len(j.Repairs) > 0)
	l.texts("repairs", j.Repairs)
	l.number("stale_logprob", j.StaleLogprob)
	l.number("valid_logprob", j.ValidLogprob)
	l.text("auditor", auditorOf(w))
	return l.end()
}

func (l *line) step(trial string, s *record.Step) []byte {
	l.begin()
	l.text("trial", trial)
	l.integer("t", s.T)
	l.pos("pos", s.Pos)
	l.text("action", s.Action)
	l.pos("next", s.Next)
	l.text("cell", s.Cell)
	l.flag("fallback", s.Fallback)
	l.flips("event", s.Event)
	l.flips("dropped", s.Dropped)
	l.text("memory", s.Memory)
	l.texts("removed", s.Removed)
	return l.end()
}

func (l *line) call(c *record.Call) []byte {
	l.begin()
	l.text("trial", c.Trial)
	l.text("slot", c.Slot)
	l.text("purpose", c.Purpose)
	l.text("model", c.Model)
	l.hex("prompt_sha256", c.PromptSHA256[:])
	l.text("reply", c.Reply)
	l.text("finish", c.Finish)
	l.optionalInteger("input_tokens", c.InputTokens)
	l.optionalInteger("output_tokens", c.OutputTokens)
	l.milliseconds("latency_ms", c.Latency)
	l.optionalInteger("cached_tokens", c.CachedTokens)
	l.optionalInteger("cache_write_tokens", c.CacheWriteTokens)
	l.optionalInteger("reasoning_tokens", c.ReasoningTokens)
	if l.first {
		return l.end()
	}
	prompt, output, load := serverTimes(c)
	l.optionalMilliseconds("server_prompt_ms", prompt)
	l.optionalMilliseconds("server_output_ms", output)
	l.optionalMilliseconds("server_load_ms", load)
	return l.end()
}
