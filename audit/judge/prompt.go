package judge

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/llm"
)

// Prompt is the default prompt, a template (see llm.ParseTemplate) with the
// places {{context}}, {{observation}} and {{entries}}. What never changes
// comes first and what changes with every call last, so that providers' prompt
// caches work.
//
//go:embed prompts/audit.txt
var Prompt string

// Places are the places that a prompt must have.
var Places = []string{"context", "observation", "entries"}

// ScorePrompt is the default prompt when scores are asked for.
//
//go:embed prompts/audit-score.txt
var ScorePrompt string

// The shapes that a reply should follow: every property required and no other
// allowed, as providers' strict modes ask for.
var (
	verdictSchema    = judgmentSchema{"audit", `"is_stale": {"type": "boolean"}, "confidence": {"type": "number"}, "reasoning": {"type": "string"}`, `"is_stale", "confidence", "reasoning"`}
	scoreSchema      = judgmentSchema{"audit_score", `"score": {"type": "number"}, "reasoning": {"type": "string"}`, `"score", "reasoning"`}
	wordSchema       = judgmentSchema{"audit_words", wordProperties, `"reasoning", "verdict", "confidence"`}
	correctionSchema = judgmentSchema{"audit_correction", wordProperties + `, "correction": {"type": "string"}`, `"reasoning", "verdict", "confidence", "correction"`}
)

const wordProperties = `"reasoning": {"type": "string"}, "verdict": {"type": "string", "enum": ["stale", "valid", "not_covered"]}, "confidence": {"type": "number"}`

// A judgmentSchema is the schema of a list of judgments by the name and the
// properties that are its own.
type judgmentSchema struct{ name, properties, required string }

// maxBounded is how many entries a schema is bounded by: providers limit the
// values that a schema may list.
const maxBounded = 250

// of returns the schema for judgments on some entries. It is bounded by them: a
// small model that is free to go on numbers on past its entries.
func (s judgmentSchema) of(asked []string) *llm.Schema {
	if len(asked) > maxBounded {
		return &llm.Schema{Name: s.name, JSON: s.text("", "")}
	}
	ids, err := json.Marshal(slices.Compact(slices.Sorted(slices.Values(asked))))
	if err != nil {
		panic("audit: " + err.Error()) // strings can always be written
	}
	bounds := fmt.Sprintf(`"minItems": %d, "maxItems": %[1]d, `, len(asked))
	return &llm.Schema{Name: s.name, JSON: s.text("", ""), Bounded: s.text(bounds, `, "enum": `+string(ids))}
}

func (s judgmentSchema) text(bounds, ids string) json.RawMessage {
	return json.RawMessage(`{
  "type": "object",
  "properties": {
    "judgments": {
      "type": "array",
      ` + bounds + `"items": {
        "type": "object",
        "properties": {"memory_id": {"type": "string"` + ids + `}, ` + s.properties + `},
        "required": ["memory_id", ` + s.required + `],
        "additionalProperties": false
      }
    }
  },
  "required": ["judgments"],
  "additionalProperties": false
}`)
}

// Lines is the default way to write entries: "[id] text", one a line, and
// pictures behind the line with their id. The further lines of a text are
// indented, so that no entry can pass for two.
func Lines(entries []Entry) []llm.Part {
	var parts []llm.Part
	var b strings.Builder
	for i := range entries {
		b.WriteString("[" + entries[i].ID + "]")
		for j := range entries[i].Parts {
			p := &entries[i].Parts[j]
			if p.IsImage() {
				b.WriteByte('\n')
				parts = append(parts, llm.Text(b.String()), *p)
				b.Reset()
				continue
			}
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(indent.Replace(strings.TrimSpace(p.Text())))
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
	}
	if b.Len() > 0 {
		parts = append(parts, llm.Text(b.String()))
	}
	return parts
}

var indent = strings.NewReplacer("\r\n", "\n    ", "\n", "\n    ", "\r", "\n    ", "\v", "\n    ", "\f", "\n    ", "\u0085", "\n    ", "\u2028", "\n    ", "\u2029", "\n    ")
