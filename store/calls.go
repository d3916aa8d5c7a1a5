package store

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"iter"

	"github.com/spatialstale/spatialstale/record"
)

const callsQuery = "SELECT t.key, c.packed, c.data FROM calls c JOIN trials t ON t.ordinal = c.trial"

// Calls returns every call that was recorded, also those of trials that have
// not ended: trial by trial in the plan's order, within a trial in the order in
// which it asks ("step2" before "step10"), however many were made at the same
// time. Their Prompt is left out, which saves most of the reading.
func (r *Run) Calls() iter.Seq2[*record.Call, error] {
	return r.calls(false, callsQuery+" ORDER BY c.trial, c.id")
}

// CallsWithPrompts returns the same calls with their prompts. The data of the
// prompts' parts must not be changed.
func (r *Run) CallsWithPrompts() iter.Seq2[*record.Call, error] {
	return r.calls(true, callsQuery+" ORDER BY c.trial, c.id")
}

// TrialCalls returns the calls of one trial as CallsWithPrompts does, none when
// it has made none yet. Its error wraps ErrNotPlanned for an unknown key.
func (r *Run) TrialCalls(key string) ([]*record.Call, error) {
	ordinal, err := r.ordinal(key)
	if err != nil {
		return nil, err
	}
	var calls []*record.Call
	for call, err := range r.calls(true, callsQuery+" WHERE c.trial = ? ORDER BY c.id", ordinal) {
		if err != nil {
			return nil, err
		}
		calls = append(calls, call)
	}
	return calls, nil
}

// Prompt returns the parts that were sent in a trial's slot, exactly. Its error
// wraps ErrNotPlanned for an unknown trial, and says so when the slot is not
// there. The parts' data must not be changed.
func (r *Run) Prompt(key, slot string) ([]record.Part, error) {
	calls, err := r.TrialCalls(key)
	if err != nil {
		return nil, err
	}
	for _, call := range calls {
		if call.Slot == slot {
			return call.Prompt, nil
		}
	}
	return nil, fmt.Errorf("trial %s has no call %q; calls.jsonl of an export lists the ones it has", key, slot)
}

func (r *Run) calls(prompts bool, query string, args ...any) iter.Seq2[*record.Call, error] {
	return func(yield func(*record.Call, error) bool) {
		for group, err := range r.groups(query, args...) {
			if err != nil {
				yield(nil, err)
				return
			}
			sortBySlot(group.calls)
			for i := range group.calls {
				call, err := r.call(group.trial, &group.calls[i], prompts)
				if err != nil {
					yield(nil, r.broken(fmt.Sprintf("call %s of trial %s", group.calls[i].slot, group.trial), err))
					return
				}
				if !yield(call, nil) {
					return
				}
			}
		}
	}
}

// call gives a stored call its texts and pictures back.
func (r *Run) call(trial string, k *storedCall, prompt bool) (*record.Call, error) {
	call := &record.Call{
		Trial: trial, Slot: k.slot, Purpose: k.purpose, Model: k.model,
		Finish: k.finish, ServerModel: k.server,
		InputTokens: k.input, CachedTokens: k.cached, CacheWriteTokens: k.cacheWrite,
		OutputTokens: k.output, ReasoningTokens: k.thought,
		Latency: k.latency, Booleans: k.booleans, Timings: k.timings,
	}
	var err error
	if call.Reply, err = r.blobs.text(k.reply); err != nil {
		return nil, err
	}
	if k.reasoning != 0 {
		if call.Reasoning, err = r.blobs.text(k.reasoning); err != nil {
			return nil, err
		}
	}
	if prompt {
		call.Prompt = make([]record.Part, len(k.prompt))
		for i, id := range k.prompt {
			if call.Prompt[i], err = r.blobs.part(id); err != nil {
				return nil, err
			}
		}
	}
	if k.promptSum != nil {
		call.PromptSHA256 = *k.promptSum
		return call, nil
	}
	call.PromptSHA256, err = r.promptSum(k.prompt)
	return call, err
}

func (r *Run) promptSum(ids []uint64) ([32]byte, error) {
	buf := make([]byte, 0, 16*sha256.Size)
	for _, id := range ids {
		sum, err := r.blobs.sum(id)
		if err != nil {
			return sum, err
		}
		buf = append(buf, sum[:]...)
	}
	return sha256.Sum256(buf), nil
}

// A callGroup is all calls of one trial, in the order of writing.
type callGroup struct {
	trial string
	calls []storedCall
}

// groups gathers the rows of each trial; the query must return them together.
func (r *Run) groups(query string, args ...any) iter.Seq2[callGroup, error] {
	return func(yield func(callGroup, error) bool) {
		var (
			key   string
			row   []storedCall
			group callGroup
			going = true
		)
		p := packedRow[[]storedCall]{walk: (*coder).calls}
		r.each("the calls", query, args,
			func(rows *sql.Rows) error {
				if err := rows.Scan(&key, &p.packed, &p.data); err != nil {
					return err
				}
				row = nil
				if err := p.decode(&row); err != nil {
					return fmt.Errorf("trial %s: %w", key, err)
				}
				return nil
			},
			func(err error) bool {
				if err != nil {
					going = false
					return yield(callGroup{}, err)
				}
				if key != group.trial && len(group.calls) > 0 {
					if going = yield(group, nil); !going {
						return false
					}
					group = callGroup{}
				}
				group.trial = key
				group.calls = append(group.calls, row...)
				return true
			})
		if going && len(group.calls) > 0 {
			yield(group, nil)
		}
	}
}
