package llm_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/llm"
)

// A server that takes at most so many tokens of prompt and cap together.
type tight struct {
	context int
	words   string
	caps    []int // that it was asked for; 0 for none
}

func (m *tight) Generate(_ context.Context, req *llm.Request) (*llm.Reply, error) {
	limit := 0
	if req.Params.MaxTokens != nil {
		limit = *req.Params.MaxTokens
	}
	m.caps = append(m.caps, limit)
	if m.context > 0 && limit+len(req.Parts[0].Text())/2 > m.context {
		return nil, &llm.Error{Kind: llm.KindBadRequest, Message: m.words}
	}
	return &llm.Reply{Finish: llm.FinishLength}, nil
}

func ask(m llm.Model, req llm.Request) error {
	if req.Parts == nil {
		req.Parts = []llm.Part{llm.Text(strings.Repeat("x", 200))}
	}
	_, err := m.Generate(context.Background(), &req)
	return err
}

// Would fail if a request went out without a cap that somebody could have
// known, if the user's own were changed, or if thinking had no room.
func TestCappedChooses(t *testing.T) {
	for name, c := range map[string]struct {
		opts llm.CapOptions
		req  llm.Request
		want int
	}{
		"answer and thinking": {llm.CapOptions{Thinking: 16384}, llm.Request{Answer: 3024}, 19408},
		"no thinking":         {llm.CapOptions{}, llm.Request{Answer: 3024}, 3024},
		"the model's most":    {llm.CapOptions{Thinking: 16384, Most: 8192}, llm.Request{Answer: 3024}, 8192},
		"asked for thinking":  {llm.CapOptions{}, llm.Request{Answer: 3024, Params: llm.Params{Thinking: new(4000)}}, 7024},
		"asked for more":      {llm.CapOptions{Thinking: 16384}, llm.Request{Answer: 3024, Params: llm.Params{Thinking: new(20000)}}, 23024},
		"asked for none, which not every model can do": {llm.CapOptions{Thinking: 16384}, llm.Request{Answer: 3024, Params: llm.Params{Thinking: new(0)}}, 19408},
		"asked for a cap": {llm.CapOptions{Thinking: 16384, Most: 8}, llm.Request{Answer: 3024, Params: llm.Params{MaxTokens: new(50)}}, 50},
		"unknown answer":  {llm.CapOptions{Thinking: 16384}, llm.Request{}, 0},
	} {
		m := &tight{}
		params := c.req.Params
		if err := ask(llm.Capped(m, c.opts), c.req); err != nil || !slices.Equal(m.caps, []int{c.want}) || c.req.Params != params {
			t.Errorf("%s: %v, %v, want %d; a truncated answer is not asked for again", name, err, m.caps, c.want)
		}
	}
}

// A small context must be found once, and not be asked about again.
func TestCappedLearns(t *testing.T) {
	m := &tight{context: 8192, words: "This model's maximum context length is 8192 tokens."}
	capped := llm.Capped(m, llm.CapOptions{Thinking: 16384})
	for range 2 {
		if err := ask(capped, llm.Request{Answer: 1024}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{17408, 9216, 5120, 5120}; !slices.Equal(m.caps, want) {
		t.Errorf("caps %v, want %v", m.caps, want)
	}
	if d, ok := llm.Describe(capped); !ok || len(d.Changes) != 1 || d.Changes[0].Instead != "room for the answer and 4096 tokens of thinking" {
		t.Errorf("%+v", d)
	}
	// A longer prompt finds its own room; what does not fit at all is the
	// server's error.
	if err := ask(capped, llm.Request{Answer: 1024, Parts: []llm.Part{llm.Text(strings.Repeat("x", 2*7000))}}); err != nil {
		t.Error(err)
	}
	if err := ask(capped, llm.Request{Answer: 1024, Parts: []llm.Part{llm.Text(strings.Repeat("x", 2*8000))}}); llm.KindOf(err) != llm.KindBadRequest {
		t.Error(err)
	}
	if err := ask(capped, llm.Request{Answer: 1024}); err != nil {
		t.Error(err)
	}
}

// A refusal of anything else is not a reason to ask again.
func TestCappedLeavesOtherRefusals(t *testing.T) {
	m := &tight{context: 1, words: "temperature: not supported"}
	err := ask(llm.Capped(m, llm.CapOptions{Thinking: 16384}), llm.Request{Answer: 1024})
	if llm.KindOf(err) != llm.KindBadRequest || len(m.caps) != 1 {
		t.Errorf("%v after %d attempts", err, len(m.caps))
	}
	if _, ok := llm.Describe(llm.Capped(m, llm.CapOptions{})); !ok {
		t.Error(fmt.Errorf("it does not describe itself"))
	}
}

// A prompt that is too long whatever its cap teaches nothing of caps: others
// keep their room, and no change is told.
func TestCappedLearnsNothingFromALongPrompt(t *testing.T) {
	var caps []int
	m := llm.Capped(modelFunc(func(_ context.Context, req *llm.Request) (*llm.Reply, error) {
		caps = append(caps, *req.Params.MaxTokens)
		if len(req.Parts) > 1 {
			return nil, &llm.Error{Kind: llm.KindBadRequest, Message: "This model's maximum context length is 1024 tokens."}
		}
		return &llm.Reply{}, nil
	}), llm.CapOptions{Thinking: 1024})
	if err := ask(m, llm.Request{Answer: 100, Parts: []llm.Part{llm.Text("a"), llm.Text("b")}}); llm.KindOf(err) != llm.KindBadRequest {
		t.Error(err)
	}
	if err := ask(m, llm.Request{Answer: 100, Parts: []llm.Part{llm.Text("a")}}); err != nil {
		t.Error(err)
	}
	if want := []int{1124, 612, 100, 1124}; !slices.Equal(caps, want) {
		t.Errorf("caps %v, want %v", caps, want)
	}
	if d, _ := llm.Describe(m); len(d.Changes) != 0 {
		t.Errorf("a change is told: %+v", d.Changes)
	}
}

// Would fail if a limit of an account that is told in numbers cost more than one
// further request, or the trial; or if an answer were given less than a quarter
// of its room.
func TestCappedHearsWhatFits(t *testing.T) {
	for _, c := range []struct {
		limit int // of the account
		caps  []int
	}{
		{6000, []int{19408, 5000}}, // room for thinking goes
		{2000, []int{19408, 1000}}, // and some of the answer's
		{1500, []int{19408}},       // but not nearly all of it
	} {
		const prompt = 1000
		var caps []int
		m := llm.Capped(modelFunc(func(_ context.Context, req *llm.Request) (*llm.Reply, error) {
			caps = append(caps, *req.Params.MaxTokens)
			if n := prompt + *req.Params.MaxTokens; n > c.limit {
				return nil, &llm.Error{Kind: llm.KindBadRequest, Message: fmt.Sprintf("Request too large for model `m` on tokens per minute (TPM): Limit %d, Requested %d, please reduce your message size", c.limit, n)}
			}
			return &llm.Reply{}, nil
		}), llm.CapOptions{Thinking: 16384})
		err := ask(m, llm.Request{Answer: 3024})
		if !slices.Equal(caps, c.caps) || (err != nil) != (c.limit == 1500) {
			t.Errorf("limit %d: caps %v, want %v; %v", c.limit, caps, c.caps, err)
		}
	}
}

// Would fail if a model that nobody knew to think were cut again and again while
// it thinks, or if one that only wrote too much were given more room.
func TestCappedLearnsThatAModelThinks(t *testing.T) {
	for reasoning, want := range map[string][]int{"Row by row": {3024, 19408}, "": {3024, 3024}} {
		var caps []int
		m := llm.Capped(modelFunc(func(_ context.Context, req *llm.Request) (*llm.Reply, error) {
			caps = append(caps, *req.Params.MaxTokens)
			return &llm.Reply{Reasoning: reasoning, Finish: llm.FinishLength}, nil
		}), llm.CapOptions{})
		for range 2 {
			if err := ask(m, llm.Request{Answer: 3024}); err != nil {
				t.Fatal(err)
			}
		}
		if d, _ := llm.Describe(m); !slices.Equal(caps, want) || (len(d.Changes) == 1) != (reasoning != "") {
			t.Errorf("%q: caps %v, want %v; %+v", reasoning, caps, want, d.Changes)
		}
	}
}
