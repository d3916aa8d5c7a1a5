package serve

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif" // formats that are recognised
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spatialstale/spatialstale/audit"
)

// An AuditRequest says what is to be audited, and how.
type AuditRequest struct {
	Memories    []Memory    `json:"memories" nullable:"false" doc:"The entries of the memory, in order."`
	Observation Observation `json:"observation" doc:"What is seen now. It has a text, facts or images."`
	Model       string      `json:"model,omitempty" doc:"One of the listed models, the first unless given; none for rules alone, which cost nothing."`
	Context     string      `json:"context,omitempty" maxLength:"4000" doc:"What the memory and the observation are about, in a sentence or two."`
	Policy      Policy      `json:"policy,omitempty" doc:"What happens to stale entries: remove leaves them out (the default), mark and unknown keep them with words to that effect, correct leaves them out and proposes what they should say."`
	Protect     []string    `json:"protect,omitempty" maxItems:"64" doc:"Kinds of entries about which no model is asked and which are never removed, such as rule, preference or event."`
	Honour      Honour      `json:"honour,omitempty" doc:"Which claims of the records are believed, as far as the operator allows it. None unless given."`
	Closed      bool        `json:"closed,omitempty" doc:"Leave out what could not be audited. Unless given it is kept."`
	Shadow      bool        `json:"shadow,omitempty" doc:"Audit, and keep everything as it is."`
	// The two caps.
	MaxRemoved      int     `json:"max_removed,omitempty" minimum:"0" doc:"When more entries than this are stale, nothing is removed and the answer is escalated. 0 for no such cap."`
	MaxRemovedShare float64 `json:"max_removed_share,omitempty" minimum:"0" maximum:"1" doc:"The same for a share of all entries."`
	MaxAsked        int     `json:"max_asked,omitempty" minimum:"0" doc:"Ask the model about so many entries at most; the others are unaudited. 0 for no such cap."`
	Trigger         string  `json:"trigger,omitempty" maxLength:"64" pattern:"^[A-Za-z0-9 ._:/-]*$" doc:"What set off this audit, for the log of verdicts: a word of yours, such as session-start."`
}

// A Memory is one entry of an AuditRequest.
type Memory struct {
	ID     string   `json:"id,omitempty" maxLength:"512" doc:"Names the entry in the answer. Entries that share an id are numbered, one without is named by its place. No model sees it."`
	Text   string   `json:"text,omitempty"`
	Images [][]byte `json:"images,omitempty" doc:"PNG, JPEG or GIF files."`
	Kind   string   `json:"kind,omitempty" maxLength:"128" doc:"What the entry is, such as rule, preference or event; see protect."`
	Claims Claims   `json:"claims,omitempty" doc:"What the record says of itself; see honour."`
}

// Claims are what a record says of itself.
type Claims struct {
	Kind       string    `json:"kind,omitempty" maxLength:"128"`
	Protected  bool      `json:"protected,omitempty"`
	ReplacedBy string    `json:"replaced_by,omitempty" maxLength:"512" doc:"The id of the entry that replaced this one."`
	Expires    time.Time `json:"expires,omitempty"`
	InvalidAt  time.Time `json:"invalid_at,omitempty" doc:"When it ceased to hold."`
}

// Honour says which claims are believed.
type Honour struct {
	Kind       bool `json:"kind,omitempty" doc:"The record's kind counts where the entry has none."`
	Protected  bool `json:"protected,omitempty" doc:"A protected entry is never removed."`
	ReplacedBy bool `json:"replaced_by,omitempty" doc:"An entry is stale when the one that replaced it is there."`
	Expiry     bool `json:"expiry,omitempty" doc:"An entry is stale after expires or invalid_at."`
}

// An Observation is what is seen now.
type Observation struct {
	Text   string            `json:"text,omitempty"`
	Images [][]byte          `json:"images,omitempty" doc:"PNG, JPEG or GIF files."`
	Facts  map[string]string `json:"facts,omitempty" doc:"What is known now, key by key. An entry that says \"key: value\" is judged by them without a model where that is certain."`
}

// A Policy is an audit.Policy with its description.
type Policy audit.Policy

// Schema implements huma.SchemaProvider.
func (Policy) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, p := range audit.Policies {
		s.Enum = append(s.Enum, string(p))
	}
	return s
}

// An AuditAnswer is what came of an audit.
type AuditAnswer struct {
	Kept      []Kept    `json:"kept" nullable:"false" doc:"What an agent may be shown, in order."`
	Verdicts  []Verdict `json:"verdicts" nullable:"false" doc:"One for each entry, in order."`
	Counts    Counts    `json:"counts"`
	Escalated bool      `json:"escalated" doc:"More entries are stale than may be removed at once: nothing was removed."`
	Model     string    `json:"model"`
	Usage     Usage     `json:"usage"`
	Failures  []Failure `json:"failures,omitempty" nullable:"false" doc:"Calls of the model that failed; their entries are unaudited."`
	RequestID string    `json:"request_id,omitempty"`
}

// Kept is an entry that may be shown.
type Kept struct {
	Index int    `json:"index" doc:"Its place among the entries that were sent, from 0."`
	ID    string `json:"id" doc:"As in the verdicts."`
	Text  string `json:"text" doc:"With the policies mark and unknown, changed where the entry is stale."`
}

// A Verdict is an audit.Verdict with its description.
type Verdict struct {
	ID         string   `json:"id"`
	Status     string   `json:"status" doc:"stale, valid, not-covered, or unaudited: it was not judged, and why says why."`
	Action     string   `json:"action" doc:"kept, removed, marked, unknown, or kept, escalated."`
	Tier       string   `json:"tier,omitempty" doc:"What judged it: record, facts or model."`
	Why        string   `json:"why,omitempty" doc:"Of an unaudited entry."`
	Reason     string   `json:"reason,omitempty" doc:"What the model or the rule says. The words may repeat the entry's."`
	Confidence *float64 `json:"confidence,omitempty" doc:"From 0 to 1, the model's own."`
	Proposed   string   `json:"proposed,omitempty" doc:"What the entry should say now, with the policy correct. It is never applied."`
	Flags      []string `json:"flags,omitempty" nullable:"false" doc:"instructions: it reads like instructions to its auditor; hidden: it has characters that are not seen; hijack: it turned the answer on others."`
	Cached     bool     `json:"cached,omitempty" doc:"From an earlier audit."`
}

// Counts count entries.
type Counts struct {
	Stale      int `json:"stale"`
	Valid      int `json:"valid"`
	NotCovered int `json:"not_covered"`
	Unaudited  int `json:"unaudited"`
	Removed    int `json:"removed"`
}

// Usage is what an audit took.
type Usage struct {
	Calls        int      `json:"calls" doc:"Of the model, that were answered."`
	InputTokens  int      `json:"input_tokens" doc:"As far as the server says."`
	OutputTokens int      `json:"output_tokens"`
	CostUSD      *float64 `json:"cost_usd,omitempty" doc:"Where the model's price is known."`
}

// A Failure counts calls that failed in one way.
type Failure struct {
	Kind  string `json:"kind" doc:"Such as rate-limit, timeout, server or budget."`
	Calls int    `json:"calls"`
}

// check returns what is wrong with a request that its schema does not say.
func (r *AuditRequest) check(l *Limits) error {
	wrong := func(format string, args ...any) error {
		return failf(http.StatusUnprocessableEntity, format, args...)
	}
	if err := l.memories(len(r.Memories)); err != nil {
		return err
	}
	size := len(r.Observation.Text)
	for key, value := range r.Observation.Facts {
		size += len(key) + len(value)
	}
	if size > l.Observation {
		return wrong("the observation has %d bytes; at most %d are taken", size, l.Observation)
	}
	var images pictures
	for i := range r.Memories {
		m := &r.Memories[i]
		for what, text := range map[string]string{"id": m.ID, "kind": m.Kind, "claimed kind": m.Claims.Kind, "replaced_by": m.Claims.ReplacedBy} {
			for _, r := range text {
				if unicode.IsControl(r) {
					return wrong("memory %d: its %s has the control character %U in it", i+1, what, r)
				}
			}
		}
		if err := images.add(m.Images, l); err != nil {
			return wrong("memory %d: %v", i+1, err)
		}
	}
	if err := images.add(r.Observation.Images, l); err != nil {
		return wrong("the observation: %v", err)
	}
	return nil
}

// memories returns the fault of so many entries.
func (l *Limits) memories(n int) error {
	if n > l.Memories {
		return failf(http.StatusUnprocessableEntity, "%d memories; at most %d are audited at once", n, l.Memories)
	}
	return nil
}

// pictures count the images of a request.
type pictures struct{ files, pixels int }

// add counts images by their headers, before anything of them is decoded.
func (p *pictures) add(files [][]byte, l *Limits) error {
	for _, file := range files {
		if p.files++; p.files > l.Images {
			return fmt.Errorf("a request has at most %d images", l.Images)
		}
		if len(file) > l.ImageBytes {
			return fmt.Errorf("an image of %d bytes; at most %d are taken", len(file), l.ImageBytes)
		}
		c, _, err := image.DecodeConfig(bytes.NewReader(file))
		if err != nil {
			return fmt.Errorf("an image that is not a readable PNG, JPEG or GIF file")
		}
		if c.Width <= 0 || c.Height <= 0 || c.Width > (l.ImagePixels-p.pixels)/c.Height {
			return fmt.Errorf("an image of %d×%d pixels; at most %d are taken, all images together", c.Width, c.Height, l.ImagePixels)
		}
		p.pixels += c.Width * c.Height
	}
	return nil
}

// options are what a request asks of an audit, as far as it is allowed.
func (r *AuditRequest) options(allowed audit.Honour) (audit.Options, error) {
	honour := audit.Honour(r.Honour)
	for claim, refused := range map[string]bool{
		"kind": honour.Kind && !allowed.Kind, "protected": honour.Protected && !allowed.Protected,
		"replaced_by": honour.ReplacedBy && !allowed.ReplacedBy, "expiry": honour.Expiry && !allowed.Expiry,
	} {
		if refused {
			return audit.Options{}, failf(http.StatusForbidden, "the operator of this service does not let requests honour %s (--honour)", claim)
		}
	}
	return audit.Options{
		Context: r.Context, Policy: audit.Policy(r.Policy), Closed: r.Closed, Shadow: r.Shadow, Protect: r.Protect, Honour: honour,
		MaxRemoved: r.MaxRemoved, MaxRemovedShare: r.MaxRemovedShare, MaxEntries: r.MaxAsked,
	}, nil
}

func (r *AuditRequest) memories() []audit.Memory {
	out := make([]audit.Memory, len(r.Memories))
	for i, m := range r.Memories {
		out[i] = audit.Memory{ID: m.ID, Text: m.Text, Images: m.Images, Kind: m.Kind, Claims: audit.Claims(m.Claims)}
	}
	return out
}
