// Package judge is the heart of OMCD: it asks a model, in batches or at once,
// which entries of a memory an observation shows to be stale, and reads the
// answers. Package audit is built on it for agents of any kind, and a study asks
// it directly; sessions here know the windows of an episode.
//
// It refuses to know what the entries are about (nothing here knows of lakes),
// to guess (an entry without a usable answer is unanswered, and stays in the
// view) and to know the truth (true labels are injected as Labels). Which words
// go around the entries and the observation is the caller's (Options.Context,
// Options.Write, Options.Prompt).
package judge

import (
	"context"
	"fmt"
	"unicode"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// An Entry is one item of an agent's memory. Entries of one memory should have
// ids of their own; see IDs for those that do not.
type Entry struct {
	ID    string
	Parts []llm.Part // text, pictures or both
}

// A Verdict is the judgment on one entry.
type Verdict struct {
	ID         string   // as in IDs
	Status     string   // record.Stale, record.Valid or record.Unanswered; NotCovered where that was asked for
	Score      *float64 // of the paper's score ablation (appendix D); nil, as no source gives one
	Confidence *float64 // in [0,1]; nil when none was given
	Reason     string   // the model's words, may be empty
	Correction string   // what the entry should say, where that was asked for; may be empty
	Repairs    []string // what was repaired to read this verdict, the reply's own repairs first
	// The natural logarithms of the probabilities that the model gave to "stale"
	// and to "not stale" where it wrote its verdict; nil where the server does
	// not say.
	StaleLogprob, ValidLogprob *float64
}

// NotCovered is the status of an entry about which the observation shows
// nothing, where verdicts are words (Options.Words).
const NotCovered = record.NotCovered

// A Result is one audit of a memory.
type Result struct {
	Verdicts []Verdict       // one for each entry, in the order of the entries
	Replies  []record.Parsed // one for each model call, in the order of the calls
	Usage    []llm.Usage     // likewise
}

// Where names an audit within a run.
type Where struct {
	Trial  string // the trial that the calls belong to
	Window int    // the audit's number within the trial, from 0
}

// A Source judges entries against an observation: an Auditor by asking a model,
// Labels by being told.
type Source interface {
	Audit(ctx context.Context, w Where, entries []Entry, observation []llm.Part) (*Result, error)
}

// Labels is a Source of given labels: it reports whether the entry with an id
// (as in IDs) is stale. It calls no model.
type Labels func(id string) bool

// Audit implements Source. The only errors are those of IDs.
func (l Labels) Audit(_ context.Context, _ Where, entries []Entry, _ []llm.Part) (*Result, error) {
	ids, err := IDs(entries)
	if err != nil {
		return nil, err
	}
	res := &Result{Verdicts: make([]Verdict, len(ids))}
	for i, id := range ids {
		status := record.Valid
		if l(id) {
			status = record.Stale
		}
		res.Verdicts[i] = Verdict{ID: id, Status: status}
	}
	return res, nil
}

// IDs returns the Names of entries that a model can be asked about by them. An
// id that is empty, or has a line break or another character that cannot be
// shown, is an error: no model could give it back.
func IDs(entries []Entry) ([]string, error) {
	for i := range entries {
		id := entries[i].ID
		if id == "" {
			return nil, fmt.Errorf("audit: entry %d has no id", i+1)
		}
		for _, r := range id {
			if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
				return nil, fmt.Errorf("audit: the id %q of entry %d has the character %U in it; an id must be printable", id, i+1, r)
			}
		}
	}
	return Names(entries), nil
}

// Names returns the names under which entries are reported, in order. It is
// their own id, except that entries which share one are numbered: of three
// entries 7, 7, 8 the names are 7#1, 7#2 and 8. A number that would make the
// name of another entry is skipped.
func Names(entries []Entry) []string {
	count := make(map[string]int, len(entries))
	for i := range entries {
		count[entries[i].ID]++
	}
	ids := make([]string, len(entries))
	used := map[string]int{} // the last number given to a shared id
	for i := range entries {
		id := entries[i].ID
		if count[id] == 1 {
			ids[i] = id
			continue
		}
		for {
			used[id]++
			ids[i] = fmt.Sprintf("%s#%d", id, used[id])
			if count[ids[i]] == 0 {
				break
			}
		}
	}
	return ids
}
