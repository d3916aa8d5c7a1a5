package audit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
)

// An Auditor audits memories. It is safe for concurrent use.
type Auditor struct {
	options Options
	judge   *judge.Auditor
	secret  []byte
	prompt  string
	params  []byte // as JSON
}

// New returns an Auditor. It is an error when there is no model, unless only
// rules judge, or when an option is out of its range.
func New(model Model, options Options) (*Auditor, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	words := prompt(options.Policy)
	if options.RulesOnly {
		model = nobody{}
	}
	asker, err := judge.New(model, judge.Options{
		Mode: judge.WholeStore, Words: true, Correct: options.Policy == Correct,
		Prompt: words, Context: options.Context, Write: writeEntries, Params: options.Params,
	})
	if err != nil {
		return nil, err
	}
	a := &Auditor{options: options, judge: asker, secret: options.Secret, prompt: words}
	if a.params, err = json.Marshal(options.Params); err != nil {
		return nil, fmt.Errorf("audit: Params that no server can be sent: %w", err)
	}
	if len(a.secret) == 0 {
		a.secret = make([]byte, 32)
		rand.Read(a.secret) // it never fails
	}
	return a, nil
}

// PromptVersion identifies the words that the auditor asks with, without the
// context, the observation and the entries that are put among them.
func (a *Auditor) PromptVersion() string {
	sum := sha256.Sum256([]byte(a.prompt))
	return hex.EncodeToString(sum[:6])
}

// nobody stands for the model where only rules judge.
type nobody struct{}

// Generate implements Model.
func (nobody) Generate(context.Context, *llm.Request) (*llm.Reply, error) {
	return nil, errors.New("audit: no model is asked where only rules judge")
}

// Audit judges memories against an observation and says what is kept. Entries
// that a rule judges, that are protected, or that are too long are not shown to
// the model; the others are asked about in batches, several at once.
//
// The error is ErrEscalated when more entries are stale than may be removed,
// ErrUnaudited when the model was asked and no call was answered, and that of
// ctx when it ended: each time the result is whole all the same, with
// what is known. An observation that is empty or has an unreadable picture is an
// error without a result. A single call that failed is no error: its entries are
// unaudited and the failure is in Result.Failures.
func (a *Auditor) Audit(ctx context.Context, memories []Memory, observation Observation) (*Result, error) {
	return a.audit(ctx, memories, observation, nil)
}

// remembers is what an audit asks for verdicts that it need not make.
type remembers interface {
	get(key entryKey) (Verdict, bool)
	put(key entryKey, v Verdict)
}

// audit is Audit with verdicts of before; nil for none.
func (a *Auditor) audit(ctx context.Context, memories []Memory, observation Observation, before remembers) (*Result, error) {
	now, err := observe(ctx, &observation)
	if err != nil {
		return nil, err
	}
	p := &pass{Auditor: a, ctx: ctx, seen: now, result: &Result{Verdicts: make([]Verdict, len(memories))}}
	var sum observationKey
	if before != nil {
		sum = observationSum(&observation).askedBy(a)
	}
	var keys []entryKey
	var left []entry
	ruled := a.byRules(memories, &observation)
	for i, name := range Names(memories) {
		v := &p.result.Verdicts[i]
		*v = ruled[i]
		v.ID = name
		if v.Status != "" {
			v.Flags = flags(memories[i].Text, a.options.MaxText)
			continue
		}
		var key entryKey
		if before != nil {
			key = sum.of(&memories[i])
			if old, ok := before.get(key); ok {
				old.ID, old.Cached = name, true
				*v = old
				continue
			}
		}
		v.Flags = flags(memories[i].Text, a.options.MaxText)
		if a.options.RulesOnly {
			v.fail(NotAsked)
			continue
		}
		if most := a.options.MaxEntries; most > 0 && len(left) == most {
			v.fail(OverCap)
			continue
		}
		images, err := pictures(ctx, memories[i].Images)
		if err != nil {
			return nil, fmt.Errorf("audit: the entry %q has %w", name, err)
		}
		left = append(left, entry{at: i, parts: append([]llm.Part{llm.Text(quote(memories[i].Text))}, images...)})
		keys = append(keys, key)
	}
	p.ask(left)
	if before != nil {
		for i, e := range left {
			if v := p.result.Verdicts[e.at]; v.Status != Unaudited {
				before.put(keys[i], v)
			}
		}
	}
	p.result.apply(&a.options, memories)
	return p.result, p.err(len(left))
}

// err is the error of an audit that asked about so many entries.
func (p *pass) err(asked int) error {
	switch {
	case p.ctx.Err() != nil:
		return fmt.Errorf("audit: %w", context.Cause(p.ctx))
	case asked > 0 && len(p.result.Usage) == 0 && len(p.result.Failures) > 0:
		return fmt.Errorf("audit: %w: %w", ErrUnaudited, p.result.Failures[0])
	case p.result.Escalated:
		return fmt.Errorf("audit: %w (%d of %d)", ErrEscalated, p.result.Stale(), len(p.result.Verdicts))
	}
	return nil
}

// byRules gives a verdict on each memory for which no model is needed; the
// others have no status.
func (a *Auditor) byRules(memories []Memory, o *Observation) []Verdict {
	honour, now := a.options.Honour, a.options.Now()
	ids := map[string]bool{}
	if honour.ReplacedBy {
		for i := range memories {
			ids[memories[i].ID] = true
		}
	}
	facts := make(map[string]string, len(o.Facts))
	for key, value := range o.Facts {
		facts[factKey(key)] = value
	}
	out := make([]Verdict, len(memories))
	for i := range memories {
		m, v := &memories[i], &out[i]
		said := &m.Claims
		kind := m.Kind
		if kind == "" && honour.Kind {
			kind = said.Kind
		}
		switch {
		case kind != "" && slices.Contains(a.options.Protect, kind), honour.Protected && said.Protected:
			v.Status, v.Why = Unaudited, Protected
		case honour.Expiry && !said.Expires.IsZero() && !now.Before(said.Expires):
			v.Status, v.Tier, v.Reason = Stale, TierRecord, "it expired at "+said.Expires.UTC().Format("2006-01-02 15:04:05Z")
		case honour.Expiry && !said.InvalidAt.IsZero() && !now.Before(said.InvalidAt):
			v.Status, v.Tier, v.Reason = Stale, TierRecord, "its record says that it does not hold since "+said.InvalidAt.UTC().Format("2006-01-02 15:04:05Z")
		case honour.ReplacedBy && said.ReplacedBy != "" && said.ReplacedBy != m.ID && ids[said.ReplacedBy]:
			v.Status, v.Tier, v.Reason = Stale, TierRecord, fmt.Sprintf("its record says that %s replaced it", said.ReplacedBy)
		case strings.TrimSpace(m.Text) == "" && len(m.Images) == 0:
			v.Status, v.Why = Unaudited, Empty
		case len(m.Images) == 0 && len(facts) > 0:
			if v.Status, v.Reason = byFacts(m.Text, facts); v.Status != "" {
				v.Tier = TierFacts
			}
		}
		if v.Status == "" && len(m.Text) > a.options.MaxText {
			v.Status, v.Why = Unaudited, TooLong
		}
	}
	return out
}

// apply decides what becomes of each memory.
func (r *Result) apply(o *Options, memories []Memory) {
	stale := r.Stale()
	r.Escalated = o.MaxRemoved > 0 && stale > o.MaxRemoved ||
		o.MaxRemovedShare > 0 && float64(stale) > o.MaxRemovedShare*float64(len(memories))
	for i := range memories {
		v, m := &r.Verdicts[i], memories[i]
		v.Action = Kept
		switch {
		case o.Shadow:
		case v.Status == Stale && r.Escalated:
			v.Action = Escalated
		case v.Status == Stale:
			v.Action = o.Policy.action()
		case v.Status == Unaudited && o.Closed && v.Why != Protected:
			v.Action = Removed
		}
		if v.Action == Removed {
			continue
		}
		m.Text = v.Words() + m.Text
		r.Kept = append(r.Kept, m)
	}
}

// action is what a policy does to a stale entry.
func (p Policy) action() string {
	switch p {
	case Mark:
		return Marked
	case MakeUnknown:
		return Unknown
	}
	return Removed
}

// A pass is one audit under way.
type pass struct {
	*Auditor
	ctx    context.Context
	seen   seen
	result *Result

	mu       sync.Mutex // guards the result
	rechecks int        // calls left to take apart batches whose check failed

	probe sync.Once
	able  bool // the check holds where no entry can have turned it
}

// maxRechecks is how many calls an audit makes to take apart batches whose check
// failed, and how many more for each batch.
const maxRechecks, rechecksPerBatch = 20, 2

// An entry is a memory that a model is asked about.
type entry struct {
	at    int // its place among the memories
	parts []llm.Part
}

// ask gives verdicts on entries, batch by batch.
func (p *pass) ask(entries []entry) {
	batches := slices.Collect(slices.Chunk(entries, p.options.Batch))
	p.rechecks = maxRechecks + rechecksPerBatch*len(batches)
	var wg sync.WaitGroup
	var telling sync.Mutex // guards judged
	turn := make(chan struct{}, p.options.Concurrency)
	judged := 0
	for i, batch := range batches {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			p.batch(batch, fmt.Sprintf("batch%d", i))
			if p.options.Progress != nil {
				telling.Lock()
				defer telling.Unlock()
				judged += len(batch)
				p.options.Progress(judged, len(entries))
			}
		})
	}
	wg.Wait()
}

// batch asks about some entries. When the check fails, one of them may have
// taken over the answer: those that read like instructions are asked about
// alone, the others again without them, and if that does not tell them apart,
// each half by itself. A model that cannot audit fails without an attack: before
// anything is taken apart, it is asked once about a check alone.
func (p *pass) batch(entries []entry, name string) {
	if p.once(entries, name) || p.ctx.Err() != nil {
		return
	}
	p.probe.Do(func() { _, p.able = p.call(nil, "check") })
	if !p.able {
		p.unaudited(entries, CheckFailed)
		return
	}
	for i, part := range p.apart(entries) {
		if !p.mayRecheck() {
			p.unaudited(part, CheckFailed)
			continue
		}
		p.batch(part, fmt.Sprintf("%s.%d", name, i))
	}
}

func (p *pass) mayRecheck() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rechecks--
	return p.rechecks >= 0
}

// apart divides entries of which one may have taken over the answer. One by
// itself is not divided: it did.
func (p *pass) apart(entries []entry) (parts [][]entry) {
	if len(entries) == 1 {
		p.unaudited(entries, CheckFailed)
		p.mu.Lock()
		defer p.mu.Unlock()
		v := &p.result.Verdicts[entries[0].at]
		v.Flags = append(v.Flags, FlagHijack)
		return nil
	}
	var rest []entry
	for _, e := range entries {
		if slices.Contains(p.result.Verdicts[e.at].Flags, FlagInstructions) {
			parts = append(parts, []entry{e})
		} else {
			rest = append(rest, e)
		}
	}
	if len(parts) == 0 || len(rest) == 0 {
		half := len(entries) / 2
		return [][]entry{entries[:half], entries[half:]}
	}
	return append(parts, rest)
}

// once makes a call, and one more for entries that the answer left out. It
// reports whether the check held; a call that failed has none.
func (p *pass) once(entries []entry, name string) bool {
	left, held := p.call(entries, name)
	if held && len(left) > 0 {
		left, held = p.call(left, name+".again")
		p.unaudited(left, Unanswered)
	}
	return held
}

// call makes one call and returns the entries that it left without a verdict.
func (p *pass) call(entries []entry, name string) (left []entry, held bool) {
	asked := make([]judge.Entry, 0, len(entries)+2)
	for _, e := range entries {
		asked = append(asked, judge.Entry{Parts: e.parts})
	}
	observation := p.seen.parts
	var c check
	if !p.options.NoCheck {
		c = newCheck(p.secret, entries)
		asked, observation = c.add(asked), p.seen.with(c.line())
	}
	for i := range asked {
		asked[i].ID = fmt.Sprintf("m%d", i+1)
	}
	began := p.options.Now()
	got, err := p.judge.Audit(p.ctx, judge.Where{Trial: "audit-" + name}, asked, observation)
	p.mu.Lock()
	defer p.mu.Unlock()
	made := Call{Took: p.options.Now().Sub(began)}
	for _, e := range entries {
		made.Entries = append(made.Entries, e.at)
	}
	if err == nil {
		made.Usage = &got.Usage[0]
	}
	p.result.Calls = append(p.result.Calls, made)
	if err != nil {
		p.result.Failures = append(p.result.Failures, err)
		for _, e := range entries {
			p.result.Verdicts[e.at].fail(Failed)
		}
		return nil, true
	}
	p.result.Usage = append(p.result.Usage, got.Usage...)
	verdicts := got.Verdicts
	if !p.options.NoCheck {
		if !c.held(verdicts) {
			return nil, false
		}
		verdicts = c.without(verdicts)
	}
	for i, e := range entries {
		v, was := &verdicts[i], &p.result.Verdicts[e.at]
		switch v.Status {
		case Stale, Valid, NotCovered:
			was.Status, was.Tier, was.Why, was.Reason, was.Confidence = v.Status, TierModel, "", v.Reason, v.Confidence
			if v.Status == Stale && p.options.Policy == Correct {
				was.Proposed = v.Correction
			}
		default:
			left = append(left, e)
		}
	}
	return left, true
}

// fail leaves an entry unaudited.
func (v *Verdict) fail(why string) { v.Status, v.Why = Unaudited, why }

func (p *pass) unaudited(entries []entry, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range entries {
		p.result.Verdicts[e.at].fail(why)
	}
}
