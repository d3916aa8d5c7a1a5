package store

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/spatialstale/spatialstale/record"
)

const callColumns = "slot, purpose, model, prompt, reply, reasoning, finish, server_model, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, latency_ns, booleans, timings"

const callsQuery = `SELECT p.key, c.slot, c.purpose, coalesce(c.model, p.model), q.sha256, q.parts, c.reply, c.reasoning, c.finish, coalesce(c.server_model, ''),
	c.input_tokens, c.cached_tokens, c.cache_write_tokens, c.output_tokens, c.reasoning_tokens, c.latency_ns, c.booleans, c.timings
	FROM calls c JOIN plan p ON p.ordinal = c.trial LEFT JOIN prompts q ON q.id = c.prompt`

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

// timingsRow is the JSON of the column timings: when the server answered.
type timingsRow struct {
	*record.Timings
	Batch string `json:"batch,omitempty"`
}

// A callRow is a call as it is stored: its texts and pictures are numbers of
// blobs.
type callRow struct {
	call      record.Call
	reply     int64
	reasoning *int64
	prompt    []int64 // nil where it is not asked for
}

func (r *Run) calls(prompts bool, query string, args ...any) iter.Seq2[*record.Call, error] {
	return func(yield func(*record.Call, error) bool) {
		for group, err := range r.groups(prompts, query, args...) {
			if err != nil {
				yield(nil, err)
				return
			}
			sortBySlot(group)
			for i := range group {
				call := &group[i].call
				if err := r.fill(&group[i]); err != nil {
					yield(nil, r.broken(fmt.Sprintf("call %s of trial %s", call.Slot, call.Trial), err))
					return
				}
				if !yield(call, nil) {
					return
				}
			}
		}
	}
}

// groups returns the rows of each trial together; the query must return them so.
func (r *Run) groups(prompts bool, query string, args ...any) iter.Seq2[[]callRow, error] {
	return func(yield func([]callRow, error) bool) {
		var row callRow
		var group []callRow
		going := true
		r.each("the calls", query, args,
			func(rows *sql.Rows) error {
				row = callRow{}
				return row.scan(rows, prompts)
			},
			func(err error) bool {
				if err != nil {
					going = false
					return yield(nil, err)
				}
				if len(group) > 0 && group[0].call.Trial != row.call.Trial {
					if going = yield(group, nil); !going {
						return false
					}
					group = nil // its calls belong to the caller now
				}
				group = append(group, row)
				return true
			})
		if going && len(group) > 0 {
			yield(group, nil)
		}
	}
}

func (k *callRow) scan(rows *sql.Rows, prompts bool) error {
	c := &k.call
	var sum, parts, booleans, timings sql.RawBytes
	err := rows.Scan(&c.Trial, &c.Slot, &c.Purpose, &c.Model, &sum, &parts, &k.reply, &k.reasoning, &c.Finish, &c.ServerModel,
		&c.InputTokens, &c.CachedTokens, &c.CacheWriteTokens, &c.OutputTokens, &c.ReasoningTokens, (*int64)(&c.Latency), &booleans, &timings)
	if err != nil {
		return err
	}
	if len(sum) != len(c.PromptSHA256) {
		return fmt.Errorf("call %s of trial %s: its prompt's sum has %d bytes", c.Slot, c.Trial, len(sum))
	}
	copy(c.PromptSHA256[:], sum)
	if booleans != nil {
		err = json.Unmarshal(booleans, &c.Booleans)
	}
	if timings != nil {
		var t timingsRow
		err = errors.Join(err, json.Unmarshal(timings, &t))
		c.Timings, c.Batch = t.Timings, t.Batch
	}
	if prompts {
		err = errors.Join(err, json.Unmarshal(parts, &k.prompt))
	}
	if err != nil {
		return fmt.Errorf("call %s of trial %s: %w", c.Slot, c.Trial, err)
	}
	return nil
}

// fill gives a stored call its texts and pictures back.
func (r *Run) fill(k *callRow) (err error) {
	if k.call.Reply, err = r.text(k.reply); err != nil {
		return err
	}
	if k.reasoning != nil {
		if k.call.Reasoning, err = r.text(*k.reasoning); err != nil {
			return err
		}
	}
	if k.prompt == nil {
		return nil
	}
	k.call.Prompt = make([]record.Part, len(k.prompt))
	for i, id := range k.prompt {
		if k.call.Prompt[i], err = r.part(id); err != nil {
			return err
		}
	}
	return nil
}

// cachedBytes is how much of what it has read a Run keeps in case it comes
// again, a generation.
const cachedBytes = 8 << 20

// part returns a whole blob. Its data is shared and must not be changed.
func (r *Run) part(id int64) (record.Part, error) {
	if p, ok := r.blobs.get(id); ok {
		return p, nil
	}
	var p record.Part
	var sum []byte
	if err := r.getBlob.QueryRow(id).Scan(&sum, &p.Kind, &p.Data); err != nil {
		return p, fmt.Errorf("blob %d: %w", id, err)
	}
	if copy(p.Sum[:], sum) != len(p.Sum) || p.Kind == record.PartText && sha256.Sum256(p.Data) != p.Sum {
		return p, fmt.Errorf("blob %d is not what was stored: its sum is another", id)
	}
	r.blobs.put(id, p)
	return p, nil
}

// text returns a blob as a text.
func (r *Run) text(id int64) (string, error) {
	p, err := r.part(id)
	return string(p.Data), err
}
