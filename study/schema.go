package study

import (
	"encoding/json"
	"math"

	"github.com/spatialstale/spatialstale/instance"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/record"
)

type object = map[string]any

// Schema returns the JSON Schema of a study file, for editors that complete and
// check YAML by one. ReadFile checks more than it can say.
func Schema() []byte {
	s := paperStudy()
	properties := object{"base": object{"enum": Presets(), "default": "paper", "description": "the preset that the file starts from"}}
	below := map[string]object{}
	for i := range Fields {
		f := &Fields[i]
		schema := f.schema(s)
		group, key, inGroup := cutKey(f.Key)
		if !inGroup {
			properties[f.Key] = schema
			continue
		}
		if below[group] == nil {
			below[group] = object{}
			properties[group] = closed(below[group])
		}
		below[group][key] = schema
	}
	root := closed(properties)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "SpatialSTALE study"
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic("study: " + err.Error()) // plain data: cannot happen
	}
	return append(b, '\n')
}

func closed(properties object) object {
	return object{"type": "object", "additionalProperties": false, "properties": properties}
}

// schema describes the values of a field. What the paper's study has there is
// the default.
func (f *field[T]) schema(s *Study) object {
	v := f.at(new(T))
	if of, ok := any(s).(*T); ok {
		v = f.at(of)
	}
	var out object
	text := object{"type": "string"}
	if f.Of != nil && f.Key != "framings" { // a framing may be the study's own
		text = object{"enum": f.Of(s)}
	}
	switch v := v.(type) {
	case *string:
		out = text
	case *int, **int, *uint64:
		out = f.limit(object{"type": "integer"})
	case *float64, **float64:
		out = f.limit(object{"type": "number"})
	case *bool:
		out = object{"type": "boolean", "default": *v}
	case *[]string, *[]instance.Regime, *tasks:
		out = f.oneOrMore(text)
	case *[]int:
		out = object{"anyOf": []object{{"type": "integer", "minimum": 1, "maximum": instance.MaxSeeds}, {"type": "array", "items": object{"type": "integer", "minimum": 0}, "minItems": 1, "uniqueItems": true}}}
	case *[]Size:
		out = f.oneOrMore(object{"anyOf": []object{
			{"type": "integer", "minimum": lake.MinSide, "maximum": lake.MaxSide},
			{"type": "string", "pattern": `^[0-9]{1,2}x[0-9]{1,2}$`},
		}})
	case *[]Strategy:
		own := object{"like": object{"enum": StrategyNames()}}
		for i := range strategyFields {
			own[strategyFields[i].Key] = strategyFields[i].schema(s)
		}
		out = f.oneOrMore(object{"anyOf": []object{{"enum": StrategyNames()}, closed(own)}})
	case *[]record.Contrast:
		out = f.oneOrMore(object{"type": "string", "pattern": `^\s*\S.* minus .*\S\s*$`})
	case *arguments:
		out = f.oneOrMore(object{"type": "string"})
		delete(out["anyOf"].([]object)[1], "uniqueItems")
	case *auditing, *remembering:
		out = object{"anyOf": []object{text, methodSchema(s)}}
	case *map[string]*Method:
		out = object{"type": "object", "additionalProperties": methodSchema(s)}
	case *map[string][]string:
		out = object{"type": "object", "additionalProperties": f.oneOrMore(text)}
	case *Prompts:
		out = object{"type": "object", "additionalProperties": object{"type": "string"}}
	}
	out["description"] = f.About
	switch v := v.(type) {
	case *int:
		if *v != 0 || f.Least == 0 {
			out["default"] = *v
		}
	case *uint64:
		out["default"] = *v
	case *float64:
		out["default"] = *v
	}
	return out
}

func methodSchema(s *Study) object {
	own := object{}
	for i := range methodFields {
		own[methodFields[i].Key] = methodFields[i].schema(s)
	}
	return closed(own)
}

// limit bounds a number as the field does.
func (f *field[T]) limit(schema object) object {
	low, high := "minimum", "maximum"
	if f.Open {
		low, high = "exclusiveMinimum", "exclusiveMaximum"
	}
	schema[low] = f.Least
	if f.Most < math.MaxInt32 {
		schema[high] = f.Most
	}
	return schema
}

// oneOrMore accepts a list, and a single value for a list of one.
func (f *field[T]) oneOrMore(item object) object {
	list := object{"type": "array", "items": item, "uniqueItems": true}
	if !f.Empty {
		list["minItems"] = 1
	}
	return object{"anyOf": []object{item, list}}
}
