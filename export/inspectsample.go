package export

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/record"
)

// scoreNames are the scores of a task, in order.
var scoreNames = map[string][]string{
	record.Detect:   {"f1", "precision", "recall", "unanswered"},
	record.Navigate: {"success", "death", "reward", "steps", "outcome"},
}

// scoresOf returns a finished trial's scores; one that is undefined is left
// out, as is every score of a failed trial.
func scoresOf(t *record.Trial) map[string]score {
	scores := map[string]score{}
	number := func(name string, v *float64, words string) {
		if v != nil {
			scores[name] = score{Value: *v, Explanation: words, History: []any{}}
		}
	}
	exact := func(n int) *float64 { return new(float64(n)) }
	c := t.Counts
	switch {
	case t.Outcome == record.Failed:
	case t.Task == record.Detect:
		words := fmt.Sprintf("%d of %d stale entries found, %d valid ones flagged, %d of %d without an answer", c.TP, c.TP+c.FN, c.FP, c.Unanswered, c.Judged())
		number("f1", c.F1(), words)
		number("precision", c.Precision(), words)
		number("recall", c.Recall(), words)
		number("unanswered", exact(c.Unanswered), "")
	default:
		words := fmt.Sprintf("%s after %d steps", t.Outcome, len(t.Steps))
		if d := t.Death; d != nil {
			words += fmt.Sprintf(", at (%d,%d), cause: %s", d.Pos[0], d.Pos[1], d.Cause)
		}
		is := func(outcome string) *float64 {
			if t.Outcome == outcome {
				return exact(1)
			}
			return exact(0)
		}
		number("success", is(record.Success), words)
		number("death", is(record.Death), words)
		number("reward", exact(*t.Reward()), words)
		number("steps", exact(len(t.Steps)), words)
		scores["outcome"] = score{Value: t.Outcome, Explanation: words, History: []any{}}
	}
	return scores
}

// newSampleOf makes a sample of a trial and its calls. The instance may be nil.
func newSampleOf(l *evalLog, t *record.Trial, calls []*record.Call, in *record.Instance) *evalSample {
	s := &evalSample{
		ID: l.ids.of(&t.Spec), Epoch: max(1, t.Episode), Messages: []chatMessage{}, Scores: scoresOf(t), Store: empty{}, RoleUsage: empty{},
		UUID: l.id + "-" + t.Key, Attachments: map[string]string{}, Metadata: metadataOf(t),
	}
	s.short = fmt.Sprintf("%s on seed %d, %s, from %s, %s", t.Task, t.Seed, t.Regime, t.Modality, t.Strategy)
	s.Target = targetOf(t, in)
	b := &sampleBuilder{sample: s, trial: t, lake: in, model: l.model, asked: l.asked, began: l.created}
	b.tell(calls)
	s.Input = s.short
	if len(calls) > 0 {
		s.Input = []chatMessage{b.prompt(calls[0], 0)}
	}
	s.Output = modelOutput{Model: l.model, Choices: []choice{}}
	if n := len(calls); n > 0 {
		s.Output = b.output(calls[n-1], n-1)
	}
	s.ModelUsage = s.sum.by(l.model)
	s.StartedAt, s.CompletedAt = stamp(l.created), stamp(l.created.Add(b.clock))
	s.TotalTime, s.WorkingTime = b.clock.Seconds(), b.clock.Seconds()
	if t.Outcome == record.Failed {
		s.Error = newEvalError(readable(t.Error))
	}
	return s
}

func metadataOf(t *record.Trial) map[string]any {
	m := map[string]any{
		"trial": t.Key, "seed": t.Seed, "regime": t.Regime, "modality": t.Modality, "strategy": t.Strategy, "batch": t.Batch, "framing": t.Framing,
		"rows": t.Rows, "cols": t.Cols, "episode": t.Episode, "outcome": t.Outcome,
		"tp": t.Counts.TP, "fp": t.Counts.FP, "fn": t.Counts.FN, "tn": t.Counts.TN, "unanswered": t.Counts.Unanswered,
	}
	if t.Task == record.Navigate {
		m["steps"], m["fallbacks"], m["dropped_flips"] = t.Moves(), t.Fallbacks(), t.DroppedFlips()
	}
	if t.Death != nil {
		m["death"] = t.Death
	}
	return m
}

// targetOf is what is true: for a detection the stale entries of its windows,
// for an episode the goal.
func targetOf(t *record.Trial, in *record.Instance) any {
	if t.Task == record.Navigate {
		return "success"
	}
	var windows []string
	for i := range t.Windows {
		var stale []string
		for k := range t.Windows[i].Judgments {
			if j := &t.Windows[i].Judgments[k]; j.Truth {
				stale = append(stale, readable(j.MemoryID))
			}
		}
		windows = append(windows, strings.Join(stale, " "))
	}
	if len(windows) == 1 {
		return windows[0]
	}
	if windows == nil {
		return ""
	}
	return windows
}

func (s *evalSample) summary() sampleSummary {
	sum := sampleSummary{
		ID: s.ID, Epoch: s.Epoch, Input: s.short, Target: s.Target, Metadata: s.Metadata, Scores: s.Scores,
		ModelUsage: s.ModelUsage, RoleUsage: s.RoleUsage, TotalTime: s.TotalTime, UUID: s.UUID, Completed: true,
	}
	if s.Error != nil {
		sum.Error = s.Error.Message
	}
	return sum
}

// A sampleBuilder tells a trial as messages and events. Its clock is the sum of
// the calls' latencies: when a call was really made is not recorded.
type sampleBuilder struct {
	sample *evalSample
	trial  *record.Trial
	lake   *record.Instance // nil where it is not known
	model  string
	asked  map[string]any // of the model
	began  time.Time
	clock  time.Duration
	span   string
	events int
	moves  int // of the episode, with that of the open span
	told   int // the last step whose changes were told
}

// tell goes through the calls, which come in the order in which the trial made
// them, and puts what the record says of windows and steps around them.
func (b *sampleBuilder) tell(calls []*record.Call) {
	t := b.trial
	open := ""
	for i, c := range calls {
		part, _, _ := strings.Cut(c.Slot, "/")
		if part != open {
			b.close()
			open = part
			b.open(part)
			b.before(part)
		}
		prompt, out := b.prompt(c, i), b.output(c, i)
		b.sample.Messages = append(b.sample.Messages, prompt, out.Choices[0].Message)
		b.add(modelEvent{b.head("model"), b.model, []chatMessage{prompt}, []any{}, "none", b.asked, out, c.Latency.Seconds()})
		b.clock += c.Latency
		b.sample.sum.count(c)
		b.read(part, c.Slot)
	}
	b.close()
	for _, name := range scoreNames[t.Task] {
		if s, ok := b.sample.Scores[name]; ok {
			b.add(scoreEvent{b.head("score"), name, s, b.sample.Target, false})
		}
	}
	if t.Outcome == record.Failed {
		b.add(errorEvent{b.head("error"), *newEvalError(readable(t.Error))})
	}
}

func (b *sampleBuilder) head(event string) eventHead {
	b.events++
	return eventHead{event, fmt.Sprintf("%s-%d", b.sample.UUID, b.events), b.span, stamp(b.began.Add(b.clock)), b.clock.Seconds()}
}

func (b *sampleBuilder) add(event any) { b.sample.Events = append(b.sample.Events, event) }

func (b *sampleBuilder) info(data any) {
	b.add(infoEvent{b.head("info"), "spatialstale", data})
}

func (b *sampleBuilder) open(part string) {
	b.span = b.sample.UUID + "-" + part
	b.add(spanBegin{b.head("span_begin"), b.span, "", "solver", part})
}

func (b *sampleBuilder) close() {
	if b.span == "" {
		return
	}
	b.add(spanEnd{b.head("span_end"), b.span})
	b.span = ""
}

// stepOf returns the step of a span, nil for none.
func (b *sampleBuilder) stepOf(part string) *record.Step {
	var n int
	if _, err := fmt.Sscanf(part, "step%d", &n); err != nil {
		return nil
	}
	for i := range b.trial.Steps {
		if b.trial.Steps[i].T == n {
			return &b.trial.Steps[i]
		}
	}
	return nil
}

// before tells what happens before a span's calls. Changes of the lake come
// before the audit that sees them, though the record has them at the step that
// follows it. An episode that failed has no record of that step: what was
// scheduled for it is known then, but not which of it was dropped.
func (b *sampleBuilder) before(part string) {
	next := b.moves + 1 // the step to come, or this one
	if n, _ := fmt.Sscanf(part, "step%d", &next); n == 1 {
		b.moves = next
	}
	if next > b.told && b.trial.Task == record.Navigate {
		if after := b.stepOf(fmt.Sprintf("step%d", next)); after != nil && len(after.Event)+len(after.Dropped) > 0 {
			b.info(map[string]any{"lake changes": flipsOf(after.Event), "dropped": flipsOf(after.Dropped)})
		} else if due := b.scheduled(next - 1); after == nil && due != nil {
			b.info(map[string]any{"lake changes": flipsOf(due), "as": "scheduled; which of them were dropped is not in the record of a failed episode"})
		}
		b.told = next
	}
	if s := b.stepOf(part); s != nil && len(s.Removed) > 0 {
		b.info(map[string]any{"kept out of the memory view": s.Removed})
	}
}

// scheduled returns what was to change after so many moves.
func (b *sampleBuilder) scheduled(moves int) []record.Flip {
	if b.lake == nil {
		return nil
	}
	for _, e := range b.lake.Events {
		if e.Step == moves {
			return e.Flips
		}
	}
	return nil
}

func flipsOf(all []record.Flip) []record.Flip { return append([]record.Flip{}, all...) }

// read tells how a reply was read.
func (b *sampleBuilder) read(part, slot string) {
	if s := b.stepOf(part); s != nil {
		data := map[string]any{"from": s.Pos, "action": s.Action, "to": s.Next, "cell": s.Cell}
		if s.Fallback {
			data["fallback"] = "the reply gave no action: " + s.Reply
		}
		b.info(data)
		return
	}
	for i := range b.trial.Windows {
		for k := range b.trial.Windows[i].Replies {
			if r := &b.trial.Windows[i].Replies[k]; r.Slot == slot {
				data := map[string]any{"reply": r.Outcome}
				if b.trial.Windows[i].AnsweredThenCut(b.trial.Batch)[k] {
					data["reply"] = "answered, then cut"
				}
				if len(r.Repairs) > 0 {
					data["repairs"] = r.Repairs
				}
				b.info(data)
			}
		}
	}
}

// prompt is a call's prompt as a message. Pictures stand once, among the
// attachments.
func (b *sampleBuilder) prompt(c *record.Call, i int) chatMessage {
	parts := []content{}
	for k := range c.Prompt {
		p := &c.Prompt[k]
		if p.Kind != record.PartPNG {
			if n := len(parts); n > 0 && parts[n-1].Type == "text" {
				*parts[n-1].Text += readable(string(p.Data))
			} else {
				parts = append(parts, textContent(readable(string(p.Data))))
			}
			continue
		}
		sum := hex.EncodeToString(p.Sum[:16])
		if _, ok := b.sample.Attachments[sum]; !ok {
			b.sample.Attachments[sum] = "data:image/png;base64," + base64.StdEncoding.EncodeToString(p.Data)
		}
		parts = append(parts, content{Type: "image", Image: "attachment://" + sum, Detail: "auto"})
	}
	return chatMessage{ID: fmt.Sprintf("%s-%d-user", b.sample.UUID, i), Role: "user", Content: parts, Source: "input"}
}

func (b *sampleBuilder) answer(c *record.Call, i int) chatMessage {
	m := chatMessage{ID: fmt.Sprintf("%s-%d-assistant", b.sample.UUID, i), Role: "assistant", Content: readable(c.Reply), Source: "generate", Model: b.model}
	if c.Reasoning != "" {
		m.Content = []content{reasoningContent(readable(c.Reasoning)), textContent(readable(c.Reply))}
	}
	return m
}

func (b *sampleBuilder) output(c *record.Call, i int) modelOutput {
	model := b.model
	if c.ServerModel != "" {
		model = readable(c.ServerModel)
	}
	var metadata map[string]any
	if c.Timings != nil {
		metadata = map[string]any{"timings": c.Timings}
	}
	return modelOutput{
		Metadata: metadata, Model: model, Choices: []choice{{b.answer(c, i), stopReason(c.Finish), logprobsOf(c)}}, Completion: readable(c.Reply),
		Usage: usageOf(c), Time: c.Latency.Seconds(),
	}
}

// logprobsOf returns the probabilities behind a call's verdicts, nil for none.
func logprobsOf(c *record.Call) *logprobs {
	out := &logprobs{}
	for _, b := range c.Booleans {
		var top []tokenLogprob
		said := -1
		for _, token := range []struct {
			text    string
			logprob *float64
		}{{"true", b.True}, {"false", b.False}} {
			if token.logprob == nil {
				continue
			}
			if b.At >= 0 && b.At <= len(c.Reply) && strings.HasPrefix(c.Reply[b.At:], token.text) {
				said = len(top)
			}
			top = append(top, tokenLogprob{Token: token.text, Logprob: *token.logprob})
		}
		if said >= 0 {
			out.Content = append(out.Content, tokenLogprob{top[said].Token, top[said].Logprob, top})
		}
	}
	if len(out.Content) == 0 {
		return nil
	}
	return out
}

func stopReason(finish string) string {
	switch finish {
	case "stop":
		return "stop"
	case "length":
		return "max_tokens"
	case "content_filter", "refusal":
		return "content_filter"
	}
	return "unknown"
}

// usageOf returns a call's tokens, nil when the server did not say.
func usageOf(c *record.Call) *usage {
	if c.InputTokens == nil || c.OutputTokens == nil {
		return nil
	}
	u := &usage{
		InputTokens: *c.InputTokens, OutputTokens: *c.OutputTokens, TotalTokens: *c.InputTokens + *c.OutputTokens,
		InputTokensCacheRead: c.CachedTokens, InputTokensCacheWrite: c.CacheWriteTokens, ReasoningTokens: c.ReasoningTokens,
	}
	for _, n := range []*int{c.CachedTokens, c.CacheWriteTokens} {
		if n != nil {
			u.InputTokens -= *n
		}
	}
	return u
}

// A usageSum adds up the tokens of calls that are known.
type usageSum struct {
	known bool
	usage
}

func (s *usageSum) count(c *record.Call) {
	if u := usageOf(c); u != nil {
		s.plus(&usageSum{true, *u})
	}
}

func (s *usageSum) plus(o *usageSum) {
	if !o.known {
		return
	}
	add := func(to **int, n *int) {
		if n == nil {
			return
		}
		if *to == nil {
			*to = new(int)
		} else {
			*to = new(**to)
		}
		**to += *n
	}
	s.known = true
	s.InputTokens += o.InputTokens
	s.OutputTokens += o.OutputTokens
	s.TotalTokens += o.TotalTokens
	add(&s.InputTokensCacheRead, o.InputTokensCacheRead)
	add(&s.InputTokensCacheWrite, o.InputTokensCacheWrite)
	add(&s.ReasoningTokens, o.ReasoningTokens)
}

// by returns the sum under a model's name, nothing where nothing is known.
func (s *usageSum) by(model string) any {
	if !s.known {
		return empty{}
	}
	return map[string]usage{model: s.usage}
}
