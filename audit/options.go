package audit

import (
	"errors"
	"fmt"
	"time"

	"github.com/spatialstale/spatialstale/llm"
)

// A Policy is what happens to entries that are stale.
type Policy string

// The policies.
const (
	// Remove leaves stale entries out. It is the default.
	Remove Policy = "remove"
	// Mark keeps them and says in their text that they may no longer hold.
	Mark Policy = "mark"
	// MakeUnknown keeps them as something that is not known now.
	MakeUnknown Policy = "unknown"
	// Correct leaves them out and proposes what they should say (Verdict.Proposed),
	// for the caller to apply or not.
	Correct Policy = "correct"
)

// Policies are all policies.
var Policies = []Policy{Remove, Mark, MakeUnknown, Correct}

// Honour says which of its Claims a record is believed. The zero value believes
// none.
type Honour struct {
	Kind       bool // Claims.Kind counts where Memory.Kind is empty
	Protected  bool // the entry is protected, as if of a protected kind
	ReplacedBy bool // the entry is stale when the one that replaced it is among the memories
	Expiry     bool // the entry is stale once Claims.Expires or Claims.InvalidAt has passed
}

// Options say how a memory is audited. The zero value is right for most.
type Options struct {
	// Context tells the model in a sentence or two what the memories and the
	// observation are about.
	Context string
	Policy  Policy // "" is Remove
	// Closed leaves out what could not be audited, but for protected entries. By
	// default it is kept: an audit that fails leaves the memory as it was.
	Closed bool
	Shadow bool // audit, and keep everything as it is
	// Protect are kinds of entries about which nobody is asked and which are never
	// removed, such as "rule", "preference" or "event": what happens against a
	// rule, and what happened once, does not make it stale.
	Protect []string
	Honour  Honour
	// MaxRemoved escalates an audit that finds more stale entries than this (as
	// the error ErrEscalated says): nothing is removed then, and everything is
	// kept. 0 for no such cap. MaxRemovedShare does the same for a share of all
	// entries, in (0,1].
	MaxRemoved      int
	MaxRemovedShare float64

	Batch       int // entries a call; 0 is the paper's 10 (section 4.2)
	Concurrency int // calls under way at once; 0 is 8
	// MaxText is the longest text of an entry, in bytes: a longer one is not cut
	// but left unaudited. 0 is 8,000.
	MaxText int
	// MaxEntries is how many entries a model is asked about in one audit; the
	// others are left unaudited. 0 for no cap.
	MaxEntries int
	// RulesOnly asks no model: an entry that no rule judges is left unaudited.
	RulesOnly bool
	// NoCheck leaves out the two entries of known verdict that each batch has
	// among its own. They notice an entry that has taken over the answer.
	NoCheck bool
	// Secret makes the check entries hard to foresee; a service that wants the
	// same prompts again gives its own. Nil for a random one.
	Secret []byte
	Params llm.Params // of the model's sampling; nothing is sent that is not given
	// Progress is told, each time a batch is judged, of how many entries there is
	// a verdict by now, and about how many the model is asked. It is called by one
	// goroutine at a time; nil for nobody.
	Progress func(judged, asked int)
	// Now tells the time, against which expiries are held; nil for the machine's
	// clock.
	Now func() time.Time
}

// Defaults of Options.
const (
	DefaultBatch       = 10
	DefaultConcurrency = 8
	DefaultMaxText     = 8000
)

// withDefaults checks the options and fills in what was not given.
func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Policy == "":
		o.Policy = Remove
	case o.Policy.known() != nil:
		return o, o.Policy.known()
	}
	for name, n := range map[string]int{"Batch": o.Batch, "Concurrency": o.Concurrency, "MaxText": o.MaxText, "MaxEntries": o.MaxEntries, "MaxRemoved": o.MaxRemoved} {
		if n < 0 {
			return o, fmt.Errorf("audit: %s is %d; it must not be negative", name, n)
		}
	}
	if s := o.MaxRemovedShare; !(s >= 0 && s <= 1) {
		return o, fmt.Errorf("audit: MaxRemovedShare is %v; it is a share from 0 to 1", s)
	}
	for _, kind := range o.Protect {
		if kind == "" {
			return o, errors.New("audit: a protected kind is empty")
		}
	}
	fill := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&o.Batch, DefaultBatch)
	fill(&o.Concurrency, DefaultConcurrency)
	fill(&o.MaxText, DefaultMaxText)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

// known returns an error unless p is one of the Policies.
func (p Policy) known() error {
	for _, q := range Policies {
		if p == q {
			return nil
		}
	}
	return fmt.Errorf("audit: unknown policy %q; there are %v", string(p), Policies)
}
