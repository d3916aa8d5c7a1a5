// Package audit puts OMCD in front of any agent's memory: before the agent acts,
// the entries of its memory are audited in small batches against what is seen
// now, and those that are stale are kept out of its prompt.
//
//	model, err := audit.Open("openai/gpt-4o") // the key is taken from OPENAI_API_KEY
//	kept, verdicts, err := audit.Filter(ctx, model, memories, audit.Observation{Text: seen})
//
// Filter has the defaults. An Auditor has options: policies, protected kinds, a
// cap on removals, failing open or closed. A Session audits an entry again only
// when it or the observation has changed. Before any model is asked, entries are
// judged by rules that need none: see Options.Honour and Observation.Facts.
//
// It refuses to change anybody's memory store, to take silence for a verdict (an
// entry that was not judged is Unaudited and says why), to follow instructions
// that stand in an entry or an observation, and to log.
package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/models"
)

// A Model answers requests: see Open for one with a server. Implementations are
// safe for concurrent use.
type Model = llm.Model

// Open makes a model ready by its name, such as "openai/gpt-4o",
// "anthropic/claude-sonnet-4-6", "ollama/qwen3-vl:8b" or, for any server with
// Chat Completions, "openai-api/NAME/MODEL" at NAME_BASE_URL. Keys and addresses
// are taken from the environment. Calls that fail in a way that may pass are
// tried again, and 64 at most are under way at once. No request is made.
func Open(name string) (Model, error) { return models.Open(name, models.Options{}) }

// A Memory is one entry of an agent's memory.
type Memory struct {
	// ID names the entry in verdicts. Entries that share an id are told apart by
	// numbers, see Names. No model is shown an id.
	ID     string
	Text   string
	Images [][]byte // PNG, JPEG or GIF files
	// Kind is the caller's word for what the entry is, such as "rule",
	// "preference" or "event"; see Options.Protect.
	Kind   string
	Claims Claims // what the record says of itself
}

// Claims are what a memory's record says of itself. None counts unless the
// caller's policy says so (Options.Honour): whoever can write a memory could
// write them.
type Claims struct {
	Kind       string
	Protected  bool
	ReplacedBy string    // the ID of the entry that replaced this one
	Expires    time.Time // zero for never
	InvalidAt  time.Time // when it ceased to hold; zero where nothing is said
}

// An Observation is what is seen now.
type Observation struct {
	Text   string
	Images [][]byte // PNG, JPEG or GIF files
	// Facts are what is known now, key by key. A memory whose text is
	// "key: value" is judged against them without a model where that is certain;
	// see Facts. They are shown to the model as well, unless the text says them.
	Facts map[string]string
}

// Statuses of a Verdict.
const (
	Stale      = "stale"       // what it states does not hold now
	Valid      = "valid"       // what it states still holds
	NotCovered = "not-covered" // the observation shows nothing about it
	Unaudited  = "unaudited"   // it was not judged: see Verdict.Why
)

// Tiers of a Verdict: what judged the entry.
const (
	TierRecord = "record" // its own record, as far as it is honoured (Options.Honour)
	TierFacts  = "facts"  // a fact of the observation
	TierModel  = "model"
)

// Why an entry is Unaudited.
const (
	Protected   = "protected"    // its kind is, so nobody was asked
	Empty       = "empty"        // it says nothing
	TooLong     = "too long"     // longer than Options.MaxText
	OverCap     = "over the cap" // beyond Options.MaxEntries
	NotAsked    = "not asked"    // no rule judges it, and Options.RulesOnly asks nobody else
	Unanswered  = "unanswered"   // the model gave no usable verdict
	Failed      = "failed"       // the call failed
	CheckFailed = "check failed" // the answer was wrong on entries whose verdict is known: a batch that was hijacked, or a model that cannot audit
)

// Flags of a Verdict.
const (
	FlagInstructions = "instructions" // the text reads like instructions to whoever audits it
	FlagHidden       = "hidden"       // it has characters that are not seen, or change how others are
	FlagHijack       = "hijack"       // asked alone, the entry turned the answer on others
)

// Actions: what became of an entry.
const (
	Kept      = "kept"
	Removed   = "removed"
	Marked    = "marked"  // kept, with the words that it may no longer hold
	Unknown   = "unknown" // kept, as something that is not known now
	Escalated = "kept, escalated"
)

// A Verdict is the judgment on one entry.
type Verdict struct {
	ID     string `json:"id"`     // as in Names
	Status string `json:"status"` // Stale, Valid, NotCovered or Unaudited
	Action string `json:"action"` // Kept, Removed, Marked, Unknown or Escalated
	Tier   string `json:"tier,omitempty"`
	Why    string `json:"why,omitempty"` // of an unaudited entry
	// Reason is what the model or the rule says; empty for none. The words are a
	// model's and may repeat the entry's.
	Reason     string   `json:"reason,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"` // in [0,1], the model's own; nil when it gave none
	// Proposed is what the entry should say now, in the model's words, with the
	// policy Correct. It is never applied.
	Proposed string   `json:"proposed,omitempty"`
	Flags    []string `json:"flags,omitempty"`
	Cached   bool     `json:"cached,omitempty"` // from an earlier audit of this session
}

// Words are put before the text of an entry that is kept though it is stale:
// what its policy says of it. They are "" for every other entry.
func (v *Verdict) Words() string {
	switch v.Action {
	case Marked:
		return "[may no longer hold] "
	case Unknown:
		return "[not known now] whether this holds: "
	}
	return ""
}

// A Result is one audit of a memory.
type Result struct {
	Kept     []Memory  // what an agent may be shown, in order; changed by Mark and Unknown
	Verdicts []Verdict // one for each memory, in order
	// Escalated says that more entries are stale than the cap on removals allows
	// (Options.MaxRemoved): nothing was removed.
	Escalated bool
	Usage     []llm.Usage // of each call that was answered
	Failures  []error     // of calls that failed
	Calls     []Call      // all that were made, in the order in which they ended
}

// A Call is one that an audit made of a model.
type Call struct {
	Entries []int      // the places of the entries that it asked about
	Usage   *llm.Usage // nil for a call that failed
	Took    time.Duration
}

// Stale counts the entries that are stale.
func (r *Result) Stale() int {
	n := 0
	for i := range r.Verdicts {
		if r.Verdicts[i].Status == Stale {
			n++
		}
	}
	return n
}

// Filter audits memories against an observation and returns those that are not
// stale, in order, and a verdict on each. It has the defaults of Options: an
// entry that could not be judged is kept. The error is that of Auditor.Audit.
func Filter(ctx context.Context, model Model, memories []Memory, observation Observation) (kept []Memory, verdicts []Verdict, err error) {
	a, err := New(model, Options{})
	if err != nil {
		return nil, nil, err
	}
	r, err := a.Audit(ctx, memories, observation)
	if r == nil {
		return nil, nil, err
	}
	return r.Kept, r.Verdicts, err
}

// ErrEscalated is in the error of an audit that would have removed more than
// Options.MaxRemoved allows.
var ErrEscalated = errors.New("more entries are stale than may be removed at once; nothing was removed")

// ErrUnaudited is in the error of an audit of which every call failed.
var ErrUnaudited = errors.New("the model could not be asked")

// Names returns the names of memories in verdicts, in order: their ids, except
// that entries which share one are numbered. Of the ids 7, 7, 8 the names are
// 7#1, 7#2 and 8. An entry without an id is named by its place, as in "#3".
func Names(memories []Memory) []string {
	entries := make([]judge.Entry, len(memories))
	for i := range memories {
		entries[i].ID = memories[i].ID
		if entries[i].ID == "" {
			entries[i].ID = fmt.Sprintf("#%d", i+1)
		}
	}
	return judge.Names(entries)
}
