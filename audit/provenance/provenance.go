// Package provenance keeps what judged an agent's memory: of each verdict when it
// was given and what set it off, by which model and words, on which tier, what it
// cost and how long it took. It stands behind an audit, and reads nothing back
// into one.
//
// It refuses to keep memories, observations and ids: of each there is a keyed
// hash, so that whoever has the key can ask what became of an entry that they
// know, and whoever has only the log learns nothing of short texts by trying
// them. Reasons, which may repeat an entry, are kept only if asked for. A log has
// an end: in time as asked, and in bytes.
package provenance

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"time"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/llm/price"
)

// version is that of a Verdict's form.
const version = 1

// A Verdict is a line of a log.
type Verdict struct {
	Version     int       `json:"v"`
	Time        time.Time `json:"time"`
	Audit       string    `json:"audit"`             // which one it belongs to
	Trigger     string    `json:"trigger,omitempty"` // what set the audit off
	ID          string    `json:"id"`                // Key.ID of the entry's
	Entry       string    `json:"entry"`             // Key.Entry
	Observation string    `json:"observation"`       // Key.Observation
	Model       string    `json:"model,omitempty"`   // of tier model
	Prompt      string    `json:"prompt,omitempty"`  // the version of its words, of tier model
	Status      string    `json:"status"`
	Action      string    `json:"action"`
	Tier        string    `json:"tier,omitempty"`
	Why         string    `json:"why,omitempty"`
	Flags       []string  `json:"flags,omitempty"`
	Confidence  *float64  `json:"confidence,omitempty"`
	Cached      bool      `json:"cached,omitempty"`
	// Calls is how many calls asked about the entry; CostUSD is its share of what
	// they cost, nil where that is not known, and Took how long they took.
	Calls   int           `json:"calls,omitempty"`
	CostUSD *float64      `json:"cost_usd,omitempty"`
	Took    time.Duration `json:"took_ns,omitempty"`
	Reason  string        `json:"reason,omitempty"` // only if asked for
}

// An Audit is one that was made.
type Audit struct {
	ID          string // names it; "" for a random one
	Trigger     string
	Model       string       // as whoever reads the log knows it
	Price       *price.Price // of the model; nil where it is not known
	Prompt      string       // audit.Auditor.PromptVersion
	Memories    []audit.Memory
	Observation audit.Observation
	Result      *audit.Result
}

// Verdicts are the lines of an audit.
func (a *Audit) Verdicts(key Key, now time.Time, reasons bool) []Verdict {
	out := make([]Verdict, len(a.Memories))
	seen := key.Observation(&a.Observation)
	for i := range a.Memories {
		v := &a.Result.Verdicts[i]
		out[i] = Verdict{
			Version: version, Time: now.UTC(), Audit: a.ID, Trigger: a.Trigger,
			ID: key.ID(a.Memories[i].ID), Entry: key.Entry(&a.Memories[i]), Observation: seen,
			Status: v.Status, Action: v.Action, Tier: v.Tier, Why: v.Why, Flags: v.Flags, Confidence: v.Confidence, Cached: v.Cached,
		}
		if v.Tier == audit.TierModel {
			out[i].Model, out[i].Prompt = a.Model, a.Prompt
		}
		if reasons {
			out[i].Reason = v.Reason
		}
	}
	for _, c := range a.Result.Calls {
		var cost price.Cost
		known := c.Usage != nil && a.Price != nil
		if known {
			cost = a.Price.Cost(*c.Usage)
		}
		for _, at := range c.Entries {
			v := &out[at]
			v.Model, v.Prompt = a.Model, a.Prompt // one that was asked about and not judged, too
			v.Calls++
			v.Took += c.Took
			share := cost.USD.Dollars() / float64(len(c.Entries))
			switch {
			case !known:
				v.CostUSD = nil
			case v.Calls == 1:
				v.CostUSD = &share
			case v.CostUSD != nil:
				*v.CostUSD += share
			}
		}
	}
	return out
}

// A Key makes hashes that nobody can try texts against who does not have it.
type Key []byte

// Entry is the hash of a memory's content, without its id.
func (k Key) Entry(m *audit.Memory) string {
	h := k.begin("entry")
	field(h, []byte(m.Text))
	files(h, m.Images)
	return end(h)
}

// ID is the hash of an entry's id.
func (k Key) ID(id string) string {
	h := k.begin("id")
	field(h, []byte(id))
	return end(h)
}

// Observation is the hash of an observation.
func (k Key) Observation(o *audit.Observation) string {
	h := k.begin("observation")
	field(h, []byte(o.Text))
	files(h, o.Images)
	for _, key := range slices.Sorted(maps.Keys(o.Facts)) {
		field(h, []byte(key))
		field(h, []byte(o.Facts[key]))
	}
	return end(h)
}

// begin begins a hash that is none of another kind of thing.
func (k Key) begin(kind string) hash.Hash {
	h := hmac.New(sha256.New, k)
	field(h, []byte(kind))
	return h
}

// field adds some bytes with their length, so that no two lists of fields are
// the same bytes.
func field(h hash.Hash, b []byte) {
	h.Write(binary.AppendUvarint(nil, uint64(len(b))))
	h.Write(b)
}

func files(h hash.Hash, list [][]byte) {
	h.Write(binary.AppendUvarint(nil, uint64(len(list))))
	for _, file := range list {
		field(h, file)
	}
}

func end(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }
