package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// A Strategy says what becomes of the memory before the navigator sees it
// (paper, section 3.5), or who audits it in a detection. It is data: the
// paper's five are named values.
type Strategy struct {
	Name    string  `json:"name"`
	Memory  Memory  `json:"memory"`
	Auditor Auditor `json:"auditor"`
	Batch   int     `json:"batch,omitempty"`  // entries a call; batched and score auditors only
	When    When    `json:"when,omitempty"`   // empty without an auditor
	Policy  Policy  `json:"policy,omitempty"` // empty without an auditor
	Method  *Method `json:"method,omitempty"` // of AuditMethod or MemoryMethod; nil for any other strategy
}

// String returns the strategy's name.
func (s Strategy) String() string { return s.Name }

// Memory says which entries there are to begin with, or who keeps them.
type Memory string

// The memories of a strategy.
const (
	MemoryNone   Memory = "none"
	MemoryAll    Memory = "all"
	MemoryMethod Memory = "method" // a program of one's own keeps them, shown each observation (Strategy.Method)
)

// Auditor says who judges the entries.
type Auditor string

// The auditors of a strategy.
const (
	AuditNone       Auditor = "none"
	AuditWholeStore Auditor = "whole-store" // the model, all entries in one call
	AuditBatched    Auditor = "batched"     // the model, a batch a call
	AuditScore      Auditor = "score"       // the model, a batch a call, with a number in [0,1] instead of a verdict
	AuditTranscript Auditor = "transcript"  // the model writes down the grid, without a memory; what it wrote is compared with the entries
	AuditOracle     Auditor = "oracle"      // the truth
	AuditMethod     Auditor = "method"      // a program of one's own, all entries in one call (Strategy.Method)
)

// When says at which decisions the memory is audited.
type When string

// The moments of an audit.
const (
	Once    When = "once"     // before the first step
	OnEvent When = "on-event" // and at the next decision after every event
	// OnSight audits what comes into view: at each decision the entries of those
	// cells in view that were not seen before, or look otherwise than when they
	// were audited last. The others keep their verdicts.
	OnSight When = "on-sight"
)

// Policy says what becomes of a stale entry in the view.
type Policy string

// The policies (record.Policies).
const (
	Remove  Policy = "remove"
	Mark    Policy = "mark"
	Unknown Policy = "unknown"
	Correct Policy = "correct"
)

// DefaultBatch is the paper's B (section 4.2).
const DefaultBatch = 10

// The paper's strategies.
var (
	NoMemory   = Strategy{Name: "no-memory", Memory: MemoryNone, Auditor: AuditNone}
	NoFilter   = Strategy{Name: "no-filter", Memory: MemoryAll, Auditor: AuditNone}
	SelfVerify = Strategy{Name: "self-verify", Memory: MemoryAll, Auditor: AuditWholeStore, When: Once, Policy: Remove}
	OMCD       = Strategy{Name: "omcd", Memory: MemoryAll, Auditor: AuditBatched, Batch: DefaultBatch, When: OnEvent, Policy: Remove}
	Oracle     = Strategy{Name: "oracle", Memory: MemoryAll, Auditor: AuditOracle, When: OnEvent, Policy: Remove}
)

// Score is the ablation of appendix D: the model gives each entry a number, and
// one at or above ScoreThreshold counts as stale. It serves as a detector.
var Score = Strategy{Name: "score", Memory: MemoryAll, Auditor: AuditScore, Batch: DefaultBatch, When: OnEvent, Policy: Remove}

// Transcribe tells seeing from auditing: the audit that follows from what the
// model writes down of the same observation, without a memory.
var Transcribe = Strategy{Name: "transcribe", Memory: MemoryAll, Auditor: AuditTranscript, When: OnEvent, Policy: Remove}

// ScoreThreshold is the threshold at which a score counts as stale in verdicts
// and counts: the only one that the paper names. Tables show others beside it,
// from the scores that are kept.
const ScoreThreshold = 0.7

// Strategies lists the paper's strategies in its order.
var Strategies = []Strategy{NoMemory, NoFilter, SelfVerify, OMCD, Oracle}

// named are the strategies that have a name to be chosen by.
var named = append(slices.Clone(Strategies), Score, Transcribe)

// StrategyNames lists the names that NamedStrategy knows.
func StrategyNames() []string {
	names := make([]string, len(named))
	for i, s := range named {
		names[i] = s.Name
	}
	return names
}

// NamedStrategy returns the strategy of that name; its error lists what there
// is.
func NamedStrategy(name string) (Strategy, error) {
	for _, s := range named {
		if s.Name == name || strings.EqualFold(strings.ReplaceAll(s.Name, "-", ""), name) { // also as the paper writes it
			return s, nil
		}
	}
	return Strategy{}, fmt.Errorf("unknown strategy %q; there are %s", name, strings.Join(StrategyNames(), ", "))
}

// Detects reports whether a model or a program of one's own judges the entries,
// so that the strategy can serve as a detector.
func (s Strategy) Detects() bool {
	return s.AsksModel() || s.Auditor == AuditMethod
}

// AsksModel reports whether the trial's own model judges the entries.
func (s Strategy) AsksModel() bool {
	return s.Auditor == AuditWholeStore || s.Auditor == AuditTranscript || s.Batches()
}

// Batches reports whether the model is asked a batch a call.
func (s Strategy) Batches() bool { return s.Auditor == AuditBatched || s.Auditor == AuditScore }

// Audits reports whether anyone judges the entries.
func (s Strategy) Audits() bool { return s.Auditor != AuditNone }

func (s Strategy) check() error {
	switch {
	case s.Name == "":
		return fmt.Errorf("a strategy has no name")
	case !namePattern.MatchString(s.Name):
		return fmt.Errorf("strategy name %q: use letters, digits, spaces, and . _ - behind the first", s.Name)
	case s.Memory != MemoryNone && s.Memory != MemoryAll && s.Memory != MemoryMethod:
		return fmt.Errorf("strategy %s: unknown memory %q; there are none, all, and a program of your own", s.Name, s.Memory)
	case s.Memory == MemoryNone && s.Audits():
		return fmt.Errorf("strategy %s: there is no memory to audit", s.Name)
	case s.Memory == MemoryMethod && (s.Audits() || s.When != "" || s.Policy != ""):
		return fmt.Errorf("strategy %s: a memory in another program decides itself what it shows and when; leave out like, auditor, when and policy", s.Name)
	case s.Batches() && s.Batch < 1:
		return fmt.Errorf("strategy %s: batch %d; at least one entry a call is needed", s.Name, s.Batch)
	case !s.Batches() && s.Batch != 0:
		return fmt.Errorf("strategy %s: a batch is for the batched and score auditors only", s.Name)
	case s.Audits() && s.When != Once && s.When != OnEvent && s.When != OnSight:
		return fmt.Errorf("strategy %s: unknown moment %q; there are once, on-event and on-sight", s.Name, s.When)
	case s.Audits() && record.Policies.Index(string(s.Policy)) < 0:
		return fmt.Errorf("strategy %s: unknown policy %q; there are %s", s.Name, s.Policy, strings.Join(record.Policies.Names(), ", "))
	case (s.Auditor == AuditMethod || s.Memory == MemoryMethod) != (s.Method != nil):
		return fmt.Errorf("strategy %s: an auditor, or a memory, in another program is written as auditor: {exec: [PROGRAM, ARGUMENT…]} or {http: ADDRESS}", s.Name)
	case s.Method != nil && slices.ContainsFunc(named, func(n Strategy) bool { return n.Name == s.Name }):
		return fmt.Errorf("strategy %s: the name is that of a built-in strategy; give one with a program of its own a name of its own", s.Name)
	case s.Method != nil:
		if err := s.Method.check(); err != nil {
			return fmt.Errorf("strategy %s: %w", s.Name, err)
		}
	}
	switch s.Auditor {
	case AuditNone, AuditWholeStore, AuditBatched, AuditScore, AuditTranscript, AuditOracle, AuditMethod:
		return nil
	}
	return fmt.Errorf("strategy %s: unknown auditor %q; there are none, whole-store, batched, score, transcript, oracle, and a program of your own", s.Name, s.Auditor)
}
