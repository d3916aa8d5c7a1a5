package llm

import "context"

// wrapped is a model whose calls go through a function, the shape of all
// wrappers.
type wrapped struct {
	model    Model
	generate func(ctx context.Context, req *Request) (*Reply, error)
}

// Unwrap returns the model within.
func (m *wrapped) Unwrap() Model { return m.model }

func (m *wrapped) Generate(ctx context.Context, req *Request) (*Reply, error) {
	return m.generate(ctx, req)
}

// A Description says how a model is reached and what its server made us change
// of the parameters that were asked for. It never holds a credential.
type Description struct {
	Endpoint string   `json:"endpoint,omitempty"` // where requests go
	Changes  []Change `json:"changes,omitempty"`  // in the order in which the server asked for them
}

// A Change is a parameter that a server refused to take.
type Change struct {
	Param   string `json:"param"`             // its name on the wire, such as "temperature"
	Instead string `json:"instead,omitempty"` // the name it is sent under since, or the value; empty when it is left out
	Words   string `json:"words,omitempty"`   // the server's own
}

// A Describer is a Model that can describe itself. What it says of changes
// holds for the calls made so far.
type Describer interface {
	Describe() Description
}

// Describe describes m, or else the model that it wraps: a wrapper has a method
// Unwrap() Model. ok is false when no model in the chain describes itself.
func Describe(m Model) (d Description, ok bool) {
	for m != nil {
		if describer, ok := m.(Describer); ok {
			return describer.Describe(), true
		}
		wrapper, ok := m.(interface{ Unwrap() Model })
		if !ok {
			break
		}
		m = wrapper.Unwrap()
	}
	return Description{}, false
}
