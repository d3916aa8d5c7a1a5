package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/audit/audittest"
)

// With the audit the agent never walks into a door that it sees is closed; without
// it, old entries send it there again and again.
func TestAgent(t *testing.T) {
	var believing, auditing walk
	for seed := range uint64(20) {
		var out bytes.Buffer
		w, err := work(t.Context(), &out, newOffice(seed), nil, true)
		if err != nil || w.delivered != len(parcels) || w.bumps != 0 {
			t.Errorf("seed %d: %+v, %v\n%s", seed, w, err, &out)
		}
		auditing.delivered, auditing.steps = auditing.delivered+w.delivered, auditing.steps+w.steps
		if w, err = work(t.Context(), &out, newOffice(seed), nil, false); err != nil {
			t.Fatal(err)
		}
		believing.delivered, believing.bumps = believing.delivered+w.delivered, believing.bumps+w.bumps
	}
	if believing.bumps < 100 || believing.delivered >= auditing.delivered {
		t.Errorf("believing everything it comes to %+v, audited to %+v", believing, auditing)
	}
}

// A model that judges as the rules do leads the same way.
func TestAgentWithModel(t *testing.T) {
	m := &audittest.Model{Rule: func(entry, observation string) string {
		door, _, _ := strings.Cut(entry, ": ")
		switch {
		case strings.Contains(observation, "| "+entry+"\n"):
			return "valid"
		case strings.Contains(observation, "| "+door+": "):
			return "stale"
		}
		return "not_covered"
	}}
	var out bytes.Buffer
	w, err := work(t.Context(), &out, newOffice(1), m, true)
	if err != nil || w.bumps != 0 || w.delivered != len(parcels) || m.Calls() == 0 {
		t.Errorf("%+v, %v, %d calls", w, err, m.Calls())
	}
}
