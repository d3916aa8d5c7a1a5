package judge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// A Mode is how a memory is divided over calls.
type Mode int

// The modes.
const (
	Batched    Mode = iota // OMCD: a call for each batch of entries
	WholeStore             // SelfVerify: one call for all entries
)

// DefaultBatch is the paper's number of entries a call (section 4.2).
const DefaultBatch = 10

// Options say how an Auditor asks. The zero value is the paper's batched audit
// of textual entries.
type Options struct {
	Mode      Mode
	Batch     int                              // entries a call when batched; 0 is DefaultBatch
	Score     bool                             // ask for a number in [0,1] in place of a verdict (the paper's appendix D)
	Threshold float64                          // with Score: an entry is stale from this score on, in (0,1]
	Words     bool                             // ask for one of the words stale, valid and not_covered in place of a boolean
	Correct   bool                             // with Words: ask what a stale entry should say
	Context   string                           // what the entries and the observation are about; goes first
	Write     func(entries []Entry) []llm.Part // how entries are written, with IDs for ids; nil is Lines
	Prompt    string                           // a template like the default; "" is Prompt, or ScorePrompt with Score
	Again     bool                             // ask once more for the entries that a reply left unanswered
	Together  bool                             // make the calls of an audit at the same time
	Params    llm.Params
}

// An Auditor judges entries by asking a model. It is safe for concurrent use
// when Options.Write is.
type Auditor struct {
	model   llm.Model
	options Options
	prompt  *llm.Template
	context []llm.Part
}

// New returns an Auditor. It is an error when there is no model, when an option
// is out of its range or when the prompt lacks a place.
func New(model llm.Model, options Options) (*Auditor, error) {
	switch {
	case model == nil:
		return nil, errors.New("audit: no model to ask")
	case options.Mode != Batched && options.Mode != WholeStore:
		return nil, fmt.Errorf("audit: unknown mode %d", options.Mode)
	case options.Batch < 0:
		return nil, fmt.Errorf("audit: batches of %d entries; a batch has at least 1, and 0 stands for %d", options.Batch, DefaultBatch)
	case options.Score && !(options.Threshold > 0 && options.Threshold <= 1):
		return nil, fmt.Errorf("audit: threshold %v; scores lie between 0 and 1, and 0 would make every entry stale", options.Threshold)
	case options.Words && options.Score, options.Correct && !options.Words:
		return nil, errors.New("audit: words and scores exclude each other, and corrections go with words")
	case options.Words && options.Prompt == "":
		return nil, errors.New("audit: verdicts in words want a prompt that asks for them")
	case options.Batch == 0:
		options.Batch = DefaultBatch
	}
	if options.Write == nil {
		options.Write = Lines
	}
	if options.Prompt == "" {
		options.Prompt = Prompt
		if options.Score {
			options.Prompt = ScorePrompt
		}
	}
	prompt, err := llm.ParseTemplate(options.Prompt, Places...)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	a := &Auditor{model: model, options: options, prompt: prompt}
	if text := strings.TrimRight(options.Context, "\n"); text != "" {
		a.context = []llm.Part{llm.Text(text + "\n")}
	}
	return a, nil
}

// Audit implements Source. The calls are made one after another unless
// Options.Together is set, in the order of the entries, at the slots "window0/batch0", "window0/batch1", …, or
// "window0/store" for a whole store, with "/again" behind it when asking once
// more; their purpose is "audit". No entries, no call. An error of the model
// ends the audit and is returned wrapped; the others are those of IDs.
func (a *Auditor) Audit(ctx context.Context, w Where, entries []Entry, observation []llm.Part) (*Result, error) {
	ids, err := IDs(entries)
	if err != nil {
		return nil, err
	}
	named := make([]Entry, len(entries))
	for i := range entries {
		named[i] = Entry{ID: ids[i], Parts: entries[i].Parts}
	}
	batches := a.batches(named)
	parts := make([]Result, len(batches))
	err = InOrder(len(batches), a.options.Together, func(number int) (err error) {
		call := call{Where: w, slot: fmt.Sprintf("window%d/batch%d", w.Window, number), observation: observation}
		if a.options.Mode == WholeStore {
			call.slot = fmt.Sprintf("window%d/store", w.Window)
		}
		parts[number].Verdicts, err = a.batch(ctx, call, batches[number], &parts[number])
		return err
	})
	if err != nil {
		return nil, err
	}
	res := &Result{Verdicts: make([]Verdict, 0, len(entries))}
	for i := range parts {
		res.Verdicts = append(res.Verdicts, parts[i].Verdicts...)
		res.Replies, res.Usage = append(res.Replies, parts[i].Replies...), append(res.Usage, parts[i].Usage...)
	}
	return res, nil
}

// InOrder does n things, one after another up to the first error or all at the
// same time, and returns the error of the first that failed.
func InOrder(n int, together bool, do func(i int) error) error {
	if !together {
		for i := range n {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, n)
	panics := make([]any, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			defer func() { panics[i] = recover() }()
			errs[i] = do(i)
		})
	}
	all.Wait()
	for i := range n {
		if panics[i] != nil {
			panic(panics[i]) // to whoever asked
		}
		if errs[i] != nil {
			return errs[i]
		}
	}
	return nil
}

func (a *Auditor) batches(entries []Entry) [][]Entry {
	size := a.options.Batch
	if a.options.Mode == WholeStore {
		size = len(entries)
	}
	var out [][]Entry
	for len(entries) > 0 {
		n := min(size, len(entries))
		out = append(out, entries[:n])
		entries = entries[n:]
	}
	return out
}

// A call is what the calls for one batch have in common.
type call struct {
	Where
	slot        string
	observation []llm.Part
}

// batch asks about some entries, once more about those left out if that is
// wanted, and notes the replies in res.
func (a *Auditor) batch(ctx context.Context, c call, entries []Entry, res *Result) ([]Verdict, error) {
	verdicts, err := a.ask(ctx, c, entries, res)
	if err != nil || !a.options.Again {
		return verdicts, err
	}
	var left []Entry
	var at []int // where their verdicts stand
	for i := range verdicts {
		if verdicts[i].Status == record.Unanswered {
			left, at = append(left, entries[i]), append(at, i)
		}
	}
	if len(left) == 0 {
		return verdicts, nil
	}
	c.slot += "/again"
	second, err := a.ask(ctx, c, left, res)
	if err != nil {
		return nil, err
	}
	for i := range second {
		verdicts[at[i]] = second[i]
	}
	return verdicts, nil
}

// Output tokens of an ample answer: a judgment with a short sentence has about
// 60, one with a long sentence 120; models that were asked for JSON and nothing
// else still write a paragraph first, or a fence around it.
const (
	answerTokens  = 1024
	verdictTokens = 200
)

// AnswerTokens returns how many output tokens an ample answer on so many entries
// has, without thinking.
func AnswerTokens(entries int) int { return answerTokens + verdictTokens*entries }

// ask makes one call.
func (a *Auditor) ask(ctx context.Context, c call, entries []Entry, res *Result) ([]Verdict, error) {
	fill := map[string][]llm.Part{
		"context":     a.context,
		"observation": c.observation,
		"entries":     a.options.Write(entries),
	}
	asked := make([]string, len(entries))
	for i := range entries {
		asked[i] = entries[i].ID
	}
	reply, err := a.model.Generate(ctx, &llm.Request{
		Trial:   c.Trial,
		Slot:    c.slot,
		Purpose: "audit",
		Parts:   a.prompt.Parts(fill),
		Shared:  []int{a.prompt.Until(fill, "observation", "entries"), a.prompt.Until(fill, "entries")},
		Schema:  a.schema().of(asked),
		Params:  a.options.Params,
		Answer:  AnswerTokens(len(entries)),
		Done:    a.form().done(asked),
	})
	if err != nil {
		return nil, fmt.Errorf("audit at %s: %w", c.slot, err)
	}
	verdicts, parsed := a.form().parse(asked, reply)
	parsed.Slot = c.slot
	res.Replies, res.Usage = append(res.Replies, parsed), append(res.Usage, reply.Usage)
	return verdicts, nil
}

func (a *Auditor) schema() judgmentSchema {
	switch {
	case a.options.Score:
		return scoreSchema
	case a.options.Correct:
		return correctionSchema
	case a.options.Words:
		return wordSchema
	}
	return verdictSchema
}

// form is the shape of the judgments that are asked for.
func (a *Auditor) form() form {
	if a.options.Score {
		return form{verdict: score, threshold: a.options.Threshold}
	}
	return form{verdict: isStale, words: a.options.Words}
}
