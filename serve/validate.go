package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// A validator tells what is wrong with a request by its schema. It goes entry by
// entry and stops at the first that is wrong: the library's own validation of a
// body lists everything, which of a hostile one of half a megabyte took 180.
type validator struct {
	registry        huma.Registry
	request, memory *huma.Schema
}

func newValidator() *validator {
	r := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	return &validator{r, huma.SchemaFromType(r, reflect.TypeFor[AuditRequest]()), huma.SchemaFromType(r, reflect.TypeFor[Memory]())}
}

// check returns the fault of a body that is JSON.
func (v *validator) check(body []byte, l *Limits) error {
	var request map[string]any
	if err := json.Unmarshal(body, &request); err != nil {
		return failf(http.StatusBadRequest, "the body is not JSON: %v", err)
	}
	if list, ok := request["memories"].([]any); ok {
		if err := l.memories(len(list)); err != nil {
			return err
		}
		for i, m := range list {
			if err := v.part(fmt.Sprintf("body.memories[%d]", i), v.memory, m); err != nil {
				return err
			}
		}
		request["memories"] = []any{}
	}
	if seen, ok := request["observation"].(map[string]any); ok {
		facts, _ := seen["facts"].(map[string]any)
		for _, value := range facts {
			if _, ok := value.(string); !ok {
				return invalid(&huma.ErrorDetail{Location: "body.observation.facts", Message: "expected each value to be a string"})
			}
		}
		if facts != nil {
			seen["facts"] = map[string]any{}
		}
	}
	return v.part("body", v.request, request)
}

// maxMembers is how many values a part of a request has at most: all but entries
// and facts, or one entry.
const maxMembers = 256

func (v *validator) part(at string, schema *huma.Schema, value any) error {
	if count(value, maxMembers) > maxMembers {
		return invalid(&huma.ErrorDetail{Location: at, Message: fmt.Sprintf("expected at most %d values", maxMembers)})
	}
	path := huma.NewPathBuffer(nil, 0)
	path.Push(at)
	var found huma.ValidateResult
	huma.Validate(v.registry, schema, path, huma.ModeWriteToServer, value, &found)
	var details []*huma.ErrorDetail
	for _, err := range found.Errors[:min(len(found.Errors), maxErrors)] {
		detail := &huma.ErrorDetail{Message: err.Error()}
		if d, ok := err.(huma.ErrorDetailer); ok {
			detail = d.ErrorDetail()
			detail.Value = nil // it may be long
		}
		details = append(details, detail)
	}
	if len(details) > 0 {
		return invalid(details...)
	}
	return nil
}

// count counts the values within a value, as far as it matters.
func count(value any, most int) (n int) {
	add := func(inner any) bool {
		n += 1 + count(inner, most-n)
		return n <= most
	}
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			if !add(inner) {
				break
			}
		}
	case []any:
		for _, inner := range value {
			if !add(inner) {
				break
			}
		}
	}
	return n
}

func invalid(details ...*huma.ErrorDetail) error {
	return &fault{status: http.StatusUnprocessableEntity, text: "validation failed", details: details}
}
