package study

import (
	"encoding/json"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/lake"
)

// Schema returns the JSON Schema of a study file, for editors that complete and
// check YAML by one. ReadFile checks more than it can say.
func Schema() []byte {
	type object = map[string]any
	text := func(about string) object { return object{"type": "string", "description": about} }
	integer := func(least int, about string) object {
		return object{"type": "integer", "minimum": least, "description": about}
	}
	// oneOrMore accepts a list, and a single value for a list of one.
	oneOrMore := func(item object, about string) object {
		return object{"description": about, "anyOf": []object{item, {"type": "array", "items": item, "minItems": 1, "uniqueItems": true}}}
	}
	one := func(values any) object { return object{"enum": values} }
	closed := func(properties object) object {
		return object{"type": "object", "additionalProperties": false, "properties": properties}
	}
	strategy := object{"anyOf": []object{
		one(StrategyNames()),
		closed(object{
			"like":    one(StrategyNames()),
			"name":    text("its name in tables and exports"),
			"memory":  one([]Memory{MemoryNone, MemoryAll}),
			"auditor": one([]Auditor{AuditNone, AuditWholeStore, AuditBatched, AuditScore, AuditOracle}),
			"batch":   integer(1, "entries a call; batched and score auditors only"),
			"when":    one([]When{Once, OnEvent}),
			"policy":  one([]Policy{Remove}),
		}),
	}}
	size := object{"anyOf": []object{
		{"type": "integer", "minimum": lake.MinSide, "maximum": lake.MaxSide},
		{"type": "string", "pattern": `^[0-9]{1,2}x[0-9]{1,2}$`},
	}}
	modalities := oneOrMore(one(Modalities), "how observations are shown")
	contrast := object{"type": "string", "pattern": `^\s*\S.* minus .*\S\s*$`, "description": "two strategies, as in omcd minus no-filter"}
	contrasts := func(about string) object {
		return object{"description": about, "anyOf": []object{contrast, {"type": "array", "items": contrast, "uniqueItems": true}}}
	}
	share := func(about string) object {
		return object{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "description": about}
	}
	root := closed(object{
		"base":            object{"enum": Presets(), "default": "paper", "description": "the preset that the file starts from"},
		"name":            text("the study's name, also of its run folder"),
		"models":          oneOrMore(object{"type": "string"}, "models as provider/name"),
		"seeds":           object{"description": "a number takes the first so many of the study's seeds; a list names them", "anyOf": []object{{"type": "integer", "minimum": 1, "maximum": instance.MaxSeeds}, {"type": "array", "items": object{"type": "integer", "minimum": 0}, "minItems": 1, "uniqueItems": true}}},
		"sizes":           oneOrMore(size, "sizes of the lake in cells: 16, or 8x12 with rows first"),
		"hole_fraction":   object{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "description": "probability that a cell is a hole"},
		"regimes":         oneOrMore(one(instance.Regimes), "regimes of change"),
		"framings":        oneOrMore(one(Framings), "wordings that introduce the memory"),
		"tasks":           oneOrMore(one(Tasks), "the tasks to run; the others are dropped"),
		"temperature":     object{"type": "number", "minimum": 0, "description": "sampling temperature; the provider's default unless given"},
		"top_p":           object{"type": "number", "minimum": 0, "maximum": 1, "description": "nucleus sampling; the provider's default unless given"},
		"max_tokens":      integer(1, "cap on a reply's tokens, thinking as well; ample for the answer asked unless given"),
		"thinking":        integer(0, "budget of thinking in tokens, where a protocol has one; 0 asks for none; the provider's default unless given"),
		"logprobs":        object{"type": "boolean", "description": "ask for the probabilities behind the verdicts"},
		"again":           object{"type": "boolean", "description": "ask once more for verdicts that a reply left out"},
		"view_radius":     integer(0, "show only cells within so many moves of the agent; 0 shows the whole lake"),
		"strict_schedule": object{"type": "boolean", "description": "apply every L3 change to the letter, even under the agent"},
		"detection":       closed(object{"modalities": modalities, "detectors": oneOrMore(strategy, "who audits")}),
		"navigation":      closed(object{"modalities": modalities, "strategies": oneOrMore(strategy, "what becomes of the memory"), "episodes": integer(1, "episodes per seed, regime, strategy and model")}),
		"contrasts":       contrasts("the strategies that are compared, declared before the run"),
		"family":          closed(object{"measures": oneOrMore(one(testedMeasures), "what is compared; each measure of a model is a family of its own"), "alpha": share("the chance of any false rejection in a family")}),
		"equivalence":     closed(object{"contrasts": contrasts("tested for having no difference that matters"), "margin": share("the least difference that matters"), "alpha": object{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5, "description": "level of each of the two one-sided tests"}}),
		"bootstrap":       closed(object{"resamples": object{"type": "integer", "minimum": leastResamples, "maximum": mostResamples}, "seed": object{"type": "integer", "minimum": 0}, "level": share("confidence of the intervals")}),
	})
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "SpatialSTALE study"
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic("study: " + err.Error()) // plain data: cannot happen
	}
	return append(b, '\n')
}
