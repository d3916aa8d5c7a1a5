// Package record is the plain, versioned data of what happened in a run: the
// instances it used, the trials it made, their windows, judgments, steps and
// model calls. It is the narrow waist of the data flow: everything before it
// ends by filling these types, everything after it starts from them.
//
// It imports nothing of this project and computes nothing beyond the rates
// that follow from a record's own counts. Types marshal to JSON; the field
// names are part of the export format (docs/export.md).
package record

import (
	"encoding/json"
	"fmt"
	"time"
)

// Version is the version of the records this package writes.
const Version = 1

// Tasks of a trial.
const (
	Detect   = "detect"
	Navigate = "navigate"
)

// Modalities of an observation.
const (
	Text   = "text"
	Vision = "vision"
)

// Outcomes of a trial: Done for a finished detection; Success, Death and
// Timeout for a finished episode; Failed when the trial could not be finished.
const (
	Done    = "done"
	Success = "success"
	Death   = "death"
	Timeout = "timeout"
	Failed  = "error"
)

// Verdicts of a judgment. NotCovered says that the observation shows nothing
// about the entry, which is not flagged; only methods are asked for it.
// Unanswered is none of the others: the model was asked and gave no usable
// answer for that entry.
const (
	Stale      = "stale"
	Valid      = "valid"
	NotCovered = "not-covered"
	Unanswered = "unanswered"
)

// Contents of the memory view at a step.
const (
	MemoryNone     = "none"
	MemoryAll      = "all"
	MemoryFiltered = "filtered" // what an audit or a memory system makes of it
)

// Causes of death (see docs/export.md).
const (
	CauseStaleShown     = "stale-shown"     // the entry for the cell was in view and false
	CauseStaleRemoved   = "stale-removed"   // it was false, and had been removed from the view
	CauseWarned         = "warned"          // a true DANGER entry was in view
	CauseWarningRemoved = "warning-removed" // a true DANGER entry had been removed
	CauseNoMemory       = "no-memory"       // the agent was given no memory
	CauseFallback       = "fallback"        // the step was the greedy fallback's, not the model's
	CauseChange         = "change"          // the lake changed under the agent (strict schedules only)
)

// A Pos is a cell's [row, column]; row 0 is on top.
type Pos [2]int

// A Flip gives a cell a new type. It marshals as [row, column, "H"].
type Flip struct {
	Pos Pos
	To  string // "F" or "H"
}

// MarshalJSON writes [row, column, "H"].
func (f Flip) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{f.Pos[0], f.Pos[1], f.To})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Flip) UnmarshalJSON(b []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil {
		return fmt.Errorf("flip: %w", err)
	}
	if len(parts) != 3 {
		return fmt.Errorf("flip: want [row, column, type], got %d elements", len(parts))
	}
	for i, dst := range []any{&f.Pos[0], &f.Pos[1], &f.To} {
		if err := json.Unmarshal(parts[i], dst); err != nil {
			return fmt.Errorf("flip: %w", err)
		}
	}
	return nil
}

// An Event is one L3 change: its flips come after the agent's Step-th move and
// before the next observation.
type Event struct {
	Step  int    `json:"step"`
	Flips []Flip `json:"flips"`
}

// An Instance is a lake and its changes under one regime, with the memory
// taken before them.
type Instance struct {
	Seed      int           `json:"seed"`
	Regime    string        `json:"regime"`
	Rows      []string      `json:"rows"`       // the original grid, which the memory describes
	RowsAfter []string      `json:"rows_after"` // after the pre-episode changes, or after the last event
	Events    []Event       `json:"events"`     // L3 only; empty otherwise
	Memory    []MemoryEntry `json:"memory"`     // row-major, one entry a cell
}

// A MemoryEntry is one claim of the memory.
type MemoryEntry struct {
	ID      string `json:"id"`
	Pos     Pos    `json:"pos"`
	Claim   string `json:"claim"` // "SAFE" or "DANGER"
	Text    string `json:"text"`  // the entry's words without its id
	Visited bool   `json:"visited"`
}

// A Spec is everything that determines a trial. Its Key is a hash of the rest.
type Spec struct {
	Key      string `json:"trial"`
	Task     string `json:"task"`
	Model    string `json:"model"`
	Modality string `json:"modality"`
	Regime   string `json:"regime"`
	Seed     int    `json:"seed"`
	Rows     int    `json:"rows"`
	Cols     int    `json:"cols"`
	Strategy string `json:"strategy"` // the strategy's or detector's name
	Batch    int    `json:"batch"`    // entries a call; 0 when nothing is audited in batches
	Framing  string `json:"framing"`
	Episode  int    `json:"episode"` // from 1; 0 for detection
}

// Counts compares judgments with the truth; stale is the positive class.
// Unanswered entries are also counted in FN or TN, as the paper does.
type Counts struct {
	TP         int `json:"tp"`
	FP         int `json:"fp"`
	FN         int `json:"fn"`
	TN         int `json:"tn"`
	Unanswered int `json:"unanswered"`
}

// Judged returns the number of entries judged, answered or not.
func (c Counts) Judged() int { return c.TP + c.FP + c.FN + c.TN }

// Plus returns the sum of two counts.
func (c Counts) Plus(d Counts) Counts {
	return Counts{c.TP + d.TP, c.FP + d.FP, c.FN + d.FN, c.TN + d.TN, c.Unanswered + d.Unanswered}
}

// Add counts one judgment whose entry is truly stale or not.
func (c *Counts) Add(stale bool, verdict string) {
	flagged := verdict == Stale
	switch {
	case stale && flagged:
		c.TP++
	case stale:
		c.FN++
	case flagged:
		c.FP++
	default:
		c.TN++
	}
	if verdict == Unanswered {
		c.Unanswered++
	}
}

// Precision is TP/(TP+FP), nil when nothing was flagged.
func (c Counts) Precision() *float64 { return ratio(c.TP, c.TP+c.FP) }

// Recall is TP/(TP+FN), nil when nothing was stale. It is the true-positive
// rate.
func (c Counts) Recall() *float64 { return ratio(c.TP, c.TP+c.FN) }

// FPR is FP/(FP+TN), nil when everything was stale.
func (c Counts) FPR() *float64 { return ratio(c.FP, c.FP+c.TN) }

// F1 is 2TP/(2TP+FP+FN), nil when nothing was stale and nothing flagged.
func (c Counts) F1() *float64 { return ratio(2*c.TP, 2*c.TP+c.FP+c.FN) }

func ratio(num, den int) *float64 {
	if den == 0 {
		return nil
	}
	r := float64(num) / float64(den)
	return &r
}

// A Judgment is the verdict on one memory entry in one window.
type Judgment struct {
	MemoryID   string   `json:"memory_id"`
	Pos        Pos      `json:"pos"`
	Claim      string   `json:"claim"`
	Truth      bool     `json:"truth"` // true when the entry is stale
	Verdict    string   `json:"verdict"`
	Score      *float64 `json:"score"`
	Confidence *float64 `json:"confidence"`
	Reason     string   `json:"reason"`
	// The log-probabilities of "stale" and of "not stale" at the token that
	// gave the verdict, nil where the server does not say.
	StaleLogprob *float64 `json:"stale_logprob,omitempty"`
	ValidLogprob *float64 `json:"valid_logprob,omitempty"`
	Repairs      []string `json:"repairs,omitempty"` // what was mended to read this verdict
}

// A Window is one audit of the memory against one observation.
type Window struct {
	Index     int        `json:"window"`            // from 0 within the trial
	Step      int        `json:"step"`              // moves made before its observation
	Visible   []string   `json:"visible,omitempty"` // partial view: a row each, 1 seen, 0 not
	Judgments []Judgment `json:"judgments"`
	Replies   []Parsed   `json:"replies,omitempty"` // one a model call

	// Distractors are the verdicts on entries that no observation can make stale.
	// They are in no counts.
	Distractors []Distractor `json:"distractors,omitempty"`
}

// Kinds of a Distractor.
const (
	DistractorRule    = "rule"
	DistractorHistory = "history"
	DistractorPlace   = "place" // of another place
)

// DistractorKinds lists them.
var DistractorKinds = []string{DistractorRule, DistractorHistory, DistractorPlace}

// A Distractor is the verdict on an entry that no observation can make stale.
type Distractor struct {
	MemoryID   string   `json:"memory_id"`
	Kind       string   `json:"kind"`
	Text       string   `json:"text"`
	Verdict    string   `json:"verdict"`
	Score      *float64 `json:"score,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	Repairs    []string `json:"repairs,omitempty"`
}

// A Parsed says how one reply was read.
type Parsed struct {
	Slot       string   `json:"slot"`
	Outcome    string   `json:"outcome"`               // "answered", "partial", "truncated", "refusal", "filtered", "empty", "unparsed"
	Repairs    []string `json:"repairs,omitempty"`     // in the order they were made
	UnknownIDs int      `json:"unknown_ids,omitempty"` // verdicts on entries nobody asked about
}

// A Step is one move of an episode.
type Step struct {
	T        int      `json:"t"` // from 1
	Pos      Pos      `json:"pos"`
	Action   string   `json:"action"`
	Next     Pos      `json:"next"`
	Cell     string   `json:"cell"` // type of the cell entered
	Fallback bool     `json:"fallback"`
	Event    []Flip   `json:"event"`   // applied just before this step's observation
	Dropped  []Flip   `json:"dropped"` // scheduled but not applied
	Memory   string   `json:"memory"`
	Removed  []string `json:"removed"` // ids whose claims are not in the view
	Visible  []string `json:"visible,omitempty"`
	Reply    string   `json:"reply,omitempty"` // how the reply was read when it gave no action: "refusal", "truncated", …
}

// A DeathRecord says where an episode ended in a hole, and why.
type DeathRecord struct {
	Pos      Pos     `json:"pos"`
	MemoryID *string `json:"memory_id"` // the entry for the cell; nil when the agent was given no memory
	Cause    string  `json:"cause"`
}

// A Trial is one detection or one episode, finished or failed.
type Trial struct {
	Version int `json:"version"`
	Spec
	Outcome string       `json:"outcome"`
	Error   string       `json:"error,omitempty"` // only when Outcome is Failed
	Counts  Counts       `json:"counts"`          // over all windows
	Windows []Window     `json:"windows,omitempty"`
	Steps   []Step       `json:"steps,omitempty"`
	Death   *DeathRecord `json:"death,omitempty"`
}

// Moves returns how many steps the episode had; nil for a detection, and for a
// failed trial of which no step is kept.
func (t *Trial) Moves() *int {
	if t.Task != Navigate || t.Reward() == nil && len(t.Steps) == 0 {
		return nil
	}
	n := len(t.Steps)
	return &n
}

// Reward returns the episode's reward, nil for a detection or a failed trial.
func (t *Trial) Reward() *int {
	if t.Task != Navigate {
		return nil
	}
	var r int
	switch t.Outcome {
	case Success:
		r = 1
	case Death:
		r = -1
	case Timeout:
	default:
		return nil
	}
	return &r
}

// Fallbacks counts the steps that were not the model's own.
func (t *Trial) Fallbacks() int {
	n := 0
	for i := range t.Steps {
		if t.Steps[i].Fallback {
			n++
		}
	}
	return n
}

// Repaired counts the replies of audits that were read only with a repair.
func (t *Trial) Repaired() int {
	n := 0
	for i := range t.Windows {
		for k := range t.Windows[i].Replies {
			if len(t.Windows[i].Replies[k].Repairs) > 0 {
				n++
			}
		}
	}
	return n
}

// DroppedFlips counts the scheduled flips that were dropped.
func (t *Trial) DroppedFlips() int {
	n := 0
	for i := range t.Steps {
		n += len(t.Steps[i].Dropped)
	}
	return n
}

// Kinds of a Part.
const (
	PartText = "text"
	PartPNG  = "png"
)

// A Part is one piece of a prompt, identified by its content.
type Part struct {
	Sum  [32]byte // SHA-256 of a text's bytes; of an image's pixels (see llm)
	Kind string   // PartText or PartPNG
	Data []byte
}

// A Call is one model call: what was sent, what came back.
type Call struct {
	Trial        string
	Slot         string // unique within the trial, such as "window0/batch3" or "step17"
	Purpose      string // "audit", "step", "transcribe" or, to a memory system, "remember"
	Model        string
	Prompt       []Part
	PromptSHA256 [32]byte
	Reply        string
	Reasoning    string // kept apart from the reply
	Finish       string
	ServerModel  string // the model name that the server reported, if any
	InputTokens  *int   // all of the prompt; nil when unknown, as below
	OutputTokens *int   // all of the reply, thinking as well
	Latency      time.Duration

	CachedTokens     *int `json:",omitempty"` // of the input, read from the provider's cache
	CacheWriteTokens *int `json:",omitempty"` // of the input, written to it
	ReasoningTokens  *int `json:",omitempty"` // of the output, thinking

	// Booleans are those of the reply with the probabilities behind them, where
	// they were asked for and the server gave them.
	Booleans []Boolean `json:",omitempty"`

	// Timings are the server's own measures of the call; nil where it gave none.
	Timings *Timings `json:",omitempty"`

	// Batch is the provider's name of the batch that the call was answered in, at
	// the price of batches; empty for a call of its own. Latency is then unknown,
	// and 0.
	Batch string `json:",omitempty"`
}

// Timings say how long a server took over a call by its own clock, as those do
// that run a model on one's own machine.
type Timings struct {
	PromptTokens int           `json:"prompt_tokens"` // that it read, without those from its cache
	OutputTokens int           `json:"output_tokens"` // that it wrote
	Prompt       time.Duration `json:"prompt_ns"`     // to read the prompt
	Output       time.Duration `json:"output_ns"`     // to write the answer
	Load         time.Duration `json:"load_ns"`       // to load the model; 0 where it was loaded
}

// A Boolean is a JSON boolean in a reply and how likely the model held true and
// false at its token. The log-probabilities are natural logarithms; one that
// the server did not give is nil.
type Boolean struct {
	At    int      `json:"at"` // where it begins in the reply, in bytes
	True  *float64 `json:"true"`
	False *float64 `json:"false"`
}

// A Manifest describes a run: what was asked for and with which versions. It
// never holds a secret.
type Manifest struct {
	Version int               `json:"version"`
	Program string            `json:"program"` // version of the program that made the run
	Go      string            `json:"go"`
	Created time.Time         `json:"created"`
	Study   json.RawMessage   `json:"study"` // the study's whole configuration
	Models  []ModelInfo       `json:"models"`
	Prompts map[string]string `json:"prompts"` // prompt file → SHA-256 of its text
	// PromptTexts are the texts themselves, so that the run can be made again by
	// versions that ship others; absent in runs of version 0.1.
	PromptTexts map[string]string `json:"prompt_texts,omitempty"`
	Instances   map[string]string `json:"instances"` // "seed/ROWSxCOLS/regime" → SHA-256 of the instance's JSON
	Trials      int               `json:"trials"`    // planned

	// Execution is how the run was begun, so that it goes on so (run.Pace): no
	// result depends on it. Absent where nothing was asked.
	Execution json.RawMessage `json:"execution,omitempty"`

	// ReplayedFrom are the runs whose replies the run was made from; none where
	// models were asked.
	ReplayedFrom []Origin `json:"replayed_from,omitempty"`
}

// An Origin is a run that another one was made from.
type Origin struct {
	Run     string    `json:"run"` // name of its folder
	Program string    `json:"program"`
	Created time.Time `json:"created"`
}

// A ModelInfo names a model of a run; Control marks the built-in reference
// agents, which are no models of language or vision.
type ModelInfo struct {
	Name    string `json:"name"`
	Control bool   `json:"control"`
	Note    string `json:"note,omitempty"`

	Endpoints    []string       `json:"endpoints,omitempty"`     // where it was asked, in order of first use
	Settings     *ModelSettings `json:"settings,omitempty"`      // nil where nothing but the study's parameters was asked
	Changes      []ParamChange  `json:"changes,omitempty"`       // what its server made us change of them
	ServerModels []string       `json:"server_models,omitempty"` // the names that its server reported, in order of first use

	// Price is what its tokens cost when the run was last gone on with, as
	// llm/price has it; absent when it was not known.
	Price json.RawMessage `json:"price,omitempty"`
}

// ModelSettings are what was asked of a model's calls beside the study's
// parameters.
type ModelSettings struct {
	Detail    string          `json:"detail,omitempty"`     // of pictures; empty leaves it to the provider
	NoSchema  bool            `json:"no_schema,omitempty"`  // no output that follows a schema was asked for
	ExtraBody json.RawMessage `json:"extra_body,omitempty"` // added to each request
	Headers   []string        `json:"headers,omitempty"`    // names of headers that were added; never their values
}

// A ParamChange is a parameter that a server refused to take.
type ParamChange struct {
	Param   string `json:"param"`             // its name on the wire, such as "temperature"
	Instead string `json:"instead,omitempty"` // the name it was sent under since; empty when it was left out
	Words   string `json:"words,omitempty"`   // the server's own
}

// String says it in words: "temperature was left out".
func (c ParamChange) String() string {
	if c.Instead != "" {
		return fmt.Sprintf("%s was sent as %s", c.Param, c.Instead)
	}
	return c.Param + " was left out"
}
