package llm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// pastCalls are finished calls by trial and slot.
type pastCalls map[string]*record.Call

func (p pastCalls) Lookup(_ context.Context, trial, slot string) (*record.Call, error) {
	return p[trial+"/"+slot], nil
}

func (p pastCalls) Append(_ context.Context, c *record.Call) error {
	p[c.Trial+"/"+c.Slot] = c
	return nil
}

// Would fail if a replay served an answer to any slot but its own, or to another
// request or model, or if what it serves were recorded as anything but what was
// recorded first.
func TestReplay(t *testing.T) {
	n := 7
	req := llm.Request{Trial: "t", Slot: "step1", Purpose: "step", Parts: []llm.Part{llm.Text("where to?")}}
	past := pastCalls{}
	past["t/step1"] = &record.Call{
		Trial: "t", Slot: "step1", Purpose: "step", Model: "a/m", Prompt: []record.Part{req.Parts[0].Record()}, PromptSHA256: req.PromptSum(),
		Reply: "I cannot", Reasoning: "hm", Finish: "length", ServerModel: "m-1", InputTokens: &n, Latency: 3 * time.Second,
	}
	again := pastCalls{}
	m := llm.Journaled(llm.Replay("a/m", past), "a/m", again, time.Now)
	if _, err := m.Generate(context.Background(), &req); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(past["t/step1"], again["t/step1"]); diff != "" {
		t.Error(diff)
	}
	other := req
	other.Slot = "step2"
	if _, err := m.Generate(context.Background(), &other); !errors.Is(err, llm.ErrMissing) || !strings.Contains(err.Error(), "step2 of trial t") {
		t.Errorf("another slot: %v", err)
	}
	other = req
	other.Parts = []llm.Part{llm.Text("where from?")}
	if _, err := llm.Replay("a/m", past).Generate(context.Background(), &other); !errors.Is(err, llm.ErrChanged) {
		t.Errorf("another prompt: %v", err)
	}
	if _, err := llm.Replay("a/n", past).Generate(context.Background(), &req); !errors.Is(err, llm.ErrChanged) {
		t.Errorf("another model: %v", err)
	}
}
