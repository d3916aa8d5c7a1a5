package judge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/record"
)

// A scripted model answers by a function and keeps what it was asked.
type scripted struct {
	requests []*llm.Request
	answer   func(req *llm.Request) (*llm.Reply, error)
}

func (m *scripted) Generate(_ context.Context, req *llm.Request) (*llm.Reply, error) {
	m.requests = append(m.requests, req)
	return m.answer(req)
}

func (m *scripted) slots() []string {
	var out []string
	for _, r := range m.requests {
		out = append(out, r.Slot)
	}
	return out
}

// askedIn returns the ids of the entry lines of a prompt.
func askedIn(req *llm.Request) []string {
	var ids []string
	_, entries, _ := strings.Cut(text(req.Parts), "\nEntries:\n")
	for line := range strings.Lines(entries) {
		if id, _, ok := strings.Cut(line, "]"); ok && strings.HasPrefix(id, "[") {
			ids = append(ids, id[1:])
		}
	}
	return ids
}

func text(parts []llm.Part) string {
	var b strings.Builder
	for i := range parts {
		if parts[i].IsImage() {
			b.WriteString("<picture>")
		}
		b.WriteString(parts[i].Text())
	}
	return b.String()
}

// judging answers every entry asked about but those to leave out.
func judging(stale func(id string) bool, leaveOut ...string) func(*llm.Request) (*llm.Reply, error) {
	return func(req *llm.Request) (*llm.Reply, error) {
		var items []item
		for _, id := range askedIn(req) {
			if !slices.Contains(leaveOut, id) {
				items = append(items, item{id: id, stale: stale(id)})
			}
		}
		return &llm.Reply{Text: `{"judgments": ` + list(items) + `}`, Finish: llm.FinishStop}, nil
	}
}

func memories(n int) []judge.Entry {
	entries := make([]judge.Entry, n)
	for i := range entries {
		entries[i] = judge.Entry{ID: fmt.Sprintf("mem_%03d", i), Parts: []llm.Part{llm.Text(fmt.Sprintf("claim %d", i))}}
	}
	return entries
}

func newAuditor(t *testing.T, m llm.Model, o judge.Options) *judge.Auditor {
	t.Helper()
	a, err := judge.New(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var seen = []llm.Part{llm.Text("what is seen\n")}

func even(id string) bool { return (id[len(id)-1]-'0')%2 == 0 }

func TestAuditBatches(t *testing.T) {
	for _, tc := range []struct {
		entries int
		options judge.Options
		slots   []string
		sizes   []int
	}{
		{64, judge.Options{}, []string{"window2/batch0", "window2/batch1", "window2/batch2", "window2/batch3", "window2/batch4", "window2/batch5", "window2/batch6"}, []int{10, 10, 10, 10, 10, 10, 4}},
		{64, judge.Options{Batch: 32}, []string{"window2/batch0", "window2/batch1"}, []int{32, 32}},
		{3, judge.Options{Batch: 1}, []string{"window2/batch0", "window2/batch1", "window2/batch2"}, []int{1, 1, 1}},
		{3, judge.Options{Batch: 100}, []string{"window2/batch0"}, []int{3}},
		{64, judge.Options{Mode: judge.WholeStore, Batch: 10}, []string{"window2/store"}, []int{64}},
		{0, judge.Options{}, nil, nil},
		{0, judge.Options{Mode: judge.WholeStore}, nil, nil},
	} {
		m := &scripted{answer: judging(even)}
		entries := memories(tc.entries)
		res, err := newAuditor(t, m, tc.options).Audit(context.Background(), judge.Where{Trial: "t", Window: 2}, entries, seen)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.slots, m.slots()); diff != "" {
			t.Errorf("%d entries, %+v: slots (-want +got):\n%s", tc.entries, tc.options, diff)
			continue
		}
		var asked []string
		for i, req := range m.requests {
			ids := askedIn(req)
			if len(ids) != tc.sizes[i] {
				t.Errorf("%s asks about %d entries, want %d", req.Slot, len(ids), tc.sizes[i])
			}
			asked = append(asked, ids...)
			if res.Replies[i].Slot != req.Slot || res.Replies[i].Outcome != judge.Answered {
				t.Errorf("reply %d is recorded as %+v", i, res.Replies[i])
			}
		}
		if len(res.Verdicts) != tc.entries || len(res.Replies) != len(tc.slots) {
			t.Fatalf("%d verdicts and %d replies", len(res.Verdicts), len(res.Replies))
		}
		for i, v := range res.Verdicts {
			want := map[bool]string{true: S, false: V}[even(entries[i].ID)]
			if v.ID != entries[i].ID || asked[i] != v.ID || v.Status != want {
				t.Errorf("entry %d, asked as %s: %+v", i, asked[i], v)
			}
		}
	}
}

func TestAuditRequest(t *testing.T) {
	temperature := 0.3
	m := &scripted{answer: judging(even)}
	a := newAuditor(t, m, judge.Options{Context: "A lake.\n\n", Params: llm.Params{Temperature: &temperature}})
	entries := memories(12)
	img := image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.White})
	if _, err := a.Audit(context.Background(), judge.Where{Trial: "trial"}, entries, []llm.Part{llm.Image(img, []byte("x"))}); err != nil {
		t.Fatal(err)
	}
	first, second := m.requests[0], m.requests[1]
	if first.Trial != "trial" || first.Purpose != "audit" || *first.Params.Temperature != temperature {
		t.Errorf("request %+v", first)
	}
	prompt := text(first.Parts)
	last := -1
	for _, want := range []string{"A lake.\n", "data", `"judgments"`, `"memory_id"`, "<picture>", "[mem_000] claim 0\n[mem_001] claim 1\n", "[mem_009] claim 9\n"} {
		at := strings.Index(prompt, want)
		if at <= last {
			t.Fatalf("%q is missing or out of order in\n%s", want, prompt)
		}
		last = at
	}
	if strings.Contains(prompt, "mem_010") || strings.Contains(prompt, "{{") {
		t.Errorf("too much in\n%s", prompt)
	}
	// All but the entries must be the same parts, so that prompt caches work
	// and the store keeps them once.
	for i := range len(first.Parts) - 1 {
		if first.Parts[i].Sum() != second.Parts[i].Sum() {
			t.Errorf("part %d changes between batches: %q", i, first.Parts[i].Text())
		}
	}
	// Caches are told where the picture begins and where the entries do.
	if len(first.Shared) != 2 || !first.Parts[first.Shared[0]].IsImage() || first.Shared[1] != len(first.Parts)-1 {
		t.Errorf("%d parts, shared %v", len(first.Parts), first.Shared)
	}

	var schema struct {
		Required             []string
		AdditionalProperties *bool
		Properties           struct {
			Judgments struct {
				Items struct {
					Properties           map[string]any
					Required             []string
					AdditionalProperties *bool
				}
			}
		}
	}
	if err := json.Unmarshal(first.Schema.JSON, &schema); err != nil {
		t.Fatal(err)
	}
	items := schema.Properties.Judgments.Items
	if want := []string{"memory_id", "is_stale", "confidence", "reasoning"}; first.Schema.Name != "audit" || !slices.Equal(items.Required, want) || len(items.Properties) != len(want) {
		t.Errorf("schema %s: %s", first.Schema.Name, first.Schema.JSON)
	}
	if schema.AdditionalProperties == nil || *schema.AdditionalProperties || items.AdditionalProperties == nil || *items.AdditionalProperties {
		t.Error("strict modes refuse a schema that allows other properties")
	}
}

// The prompt must not tell how many entries are stale.
func TestPromptIsNeutral(t *testing.T) {
	words := strings.FieldsFunc(strings.ToLower(judge.Prompt), func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' })
	for _, hint := range []string{"some", "most", "many", "few", "several", "usually", "often", "rarely", "likely", "outdated", "changed", "careful"} {
		if slices.Contains(words, hint) {
			t.Errorf("the prompt says %q", hint)
		}
	}
}

func TestAuditAgain(t *testing.T) {
	m := &scripted{}
	m.answer = func(req *llm.Request) (*llm.Reply, error) {
		switch req.Slot {
		case "window0/batch0":
			return judging(even, "mem_001", "mem_004")(req)
		case "window0/batch0/again":
			return judging(even, "mem_004")(req)
		}
		return judging(even)(req)
	}
	res, err := newAuditor(t, m, judge.Options{Batch: 5, Again: true}).Audit(context.Background(), judge.Where{}, memories(10), seen)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"window0/batch0", "window0/batch0/again", "window0/batch1"}, m.slots()); diff != "" {
		t.Fatalf("slots (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"mem_001", "mem_004"}, askedIn(m.requests[1])); diff != "" {
		t.Errorf("asked again (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{S, V, S, V, U, V, S, V, S, V}, statuses(res.Verdicts)); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]record.Parsed{
		{Slot: "window0/batch0", Outcome: judge.Partial},
		{Slot: "window0/batch0/again", Outcome: judge.Partial},
		{Slot: "window0/batch1", Outcome: judge.Answered},
	}, res.Replies); diff != "" {
		t.Errorf("replies (-want +got):\n%s", diff)
	}
}

// By default a reply that leaves something out is taken as it is.
func TestAuditAsksOnce(t *testing.T) {
	m := &scripted{answer: func(*llm.Request) (*llm.Reply, error) { return &llm.Reply{Text: "I'm sorry."}, nil }}
	res, err := newAuditor(t, m, judge.Options{Mode: judge.WholeStore}).Audit(context.Background(), judge.Where{}, memories(2), seen)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.requests) != 1 || res.Replies[0].Outcome != judge.Refusal || res.Verdicts[1].Status != U {
		t.Errorf("%d calls, %+v", len(m.requests), res)
	}
}

func TestAuditError(t *testing.T) {
	m := &scripted{}
	m.answer = func(req *llm.Request) (*llm.Reply, error) {
		if req.Slot == "window1/batch1" {
			return nil, &llm.Error{Kind: llm.KindQuota, Model: "x/y", Slot: req.Slot}
		}
		return judging(even)(req)
	}
	res, err := newAuditor(t, m, judge.Options{}).Audit(context.Background(), judge.Where{Window: 1}, memories(30), seen)
	if res != nil || llm.KindOf(err) != llm.KindQuota || !strings.Contains(err.Error(), "window1/batch1") {
		t.Errorf("result %v, error %v", res, err)
	}
	if len(m.requests) != 2 {
		t.Errorf("%d calls: the third batch was asked about for nothing", len(m.requests))
	}
}

func TestNewRefuses(t *testing.T) {
	m := &scripted{}
	for _, tc := range []struct {
		name    string
		model   llm.Model
		options judge.Options
		say     string
	}{
		{"no model", nil, judge.Options{}, "no model"},
		{"negative batch", m, judge.Options{Batch: -1}, "batches of -1"},
		{"mode", m, judge.Options{Mode: 7}, "unknown mode 7"},
		{"prompt without a place", m, judge.Options{Prompt: "{{observation}}{{entries}}"}, "{{context}} is missing"},
	} {
		if _, err := judge.New(tc.model, tc.options); err == nil || !strings.Contains(err.Error(), tc.say) {
			t.Errorf("%s: error %v, want one that says %q", tc.name, err, tc.say)
		}
	}
}

func TestIDs(t *testing.T) {
	for _, tc := range []struct{ ids, want []string }{
		{nil, []string{}},
		{[]string{"a", "b", "A", " a"}, []string{"a", "b", "A", " a"}},
		{[]string{"7", "7", "8"}, []string{"7#1", "7#2", "8"}},
		{[]string{"7", "7#1", "7"}, []string{"7#2", "7#1", "7#3"}},
		{[]string{"7#1", "7#1", "7", "7"}, []string{"7#1#1", "7#1#2", "7#2", "7#3"}},
		{[]string{"会議 1", `"x"`, "[y]"}, []string{"会議 1", `"x"`, "[y]"}},
	} {
		got, err := judge.IDs(entriesWith(tc.ids))
		if err != nil {
			t.Errorf("%q: %v", tc.ids, err)
		} else if !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, want %q", tc.ids, got, tc.want)
		}
	}
	for _, tc := range []struct{ id, say string }{
		{"", "entry 2 has no id"}, {"a\nb", "U+000A"}, {"a\u2028b", "U+2028"}, {"a\u200bb", "U+200B"}, {"a\xffb", "U+FFFD"}, {"\t", "U+0009"},
	} {
		if _, err := judge.IDs(entriesWith([]string{"a", tc.id})); err == nil || !strings.Contains(err.Error(), tc.say) {
			t.Errorf("%q: error %v, want one that says %q", tc.id, err, tc.say)
		}
		m := &scripted{answer: judging(even)}
		if _, err := newAuditor(t, m, judge.Options{}).Audit(context.Background(), judge.Where{}, entriesWith([]string{"a", tc.id}), seen); err == nil || len(m.requests) > 0 {
			t.Errorf("%q was asked about", tc.id)
		}
		if _, err := judge.Labels(even).Audit(context.Background(), judge.Where{}, entriesWith([]string{"a", tc.id}), seen); err == nil {
			t.Errorf("%q was labelled", tc.id)
		}
	}
}

func entriesWith(ids []string) []judge.Entry {
	entries := make([]judge.Entry, len(ids))
	for i, id := range ids {
		entries[i] = judge.Entry{ID: id}
	}
	return entries
}

// The memories of testdata/omcd.json belong to other agents than the lake's.
// Each of their entries must get one verdict under a name of its own, whatever
// stands in the memory.
func TestAuditOtherMemories(t *testing.T) {
	var cases []struct {
		Name        string
		Memories    []struct{ ID, Text string }
		Observation string
		Stale       []string
	}
	readJSON(t, "testdata/omcd.json", &cases)
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			var entries []judge.Entry
			for _, m := range tc.Memories {
				entries = append(entries, judge.Entry{ID: m.ID, Parts: []llm.Part{llm.Text(m.Text)}})
			}
			stale := func(id string) bool { return slices.Contains(tc.Stale, id) }
			m := &scripted{answer: judging(stale)}
			res, err := newAuditor(t, m, judge.Options{}).Audit(context.Background(), judge.Where{}, entries, []llm.Part{llm.Text(tc.Observation)})
			if err != nil {
				t.Fatal(err)
			}
			told, err := judge.Labels(stale).Audit(context.Background(), judge.Where{}, entries, nil)
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for i, v := range res.Verdicts {
				if v.Status == S {
					found = append(found, v.ID)
				}
				if told.Verdicts[i].ID != v.ID || told.Verdicts[i].Status != v.Status {
					t.Errorf("the labels say %+v, the model %+v", told.Verdicts[i], v)
				}
			}
			if len(res.Verdicts) != len(entries) || strings.Join(found, " ") != strings.Join(tc.Stale, " ") {
				t.Errorf("found stale: %v, want %v; verdicts %+v", found, tc.Stale, res.Verdicts)
			}
			if len(told.Replies) != 0 {
				t.Error("labels made a call")
			}
		})
	}
}

func TestLines(t *testing.T) {
	img := image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.White})
	picture := llm.Image(img, []byte("x"))
	entries := []judge.Entry{
		{"a", []llm.Part{llm.Text("one\n")}},
		{"b", []llm.Part{llm.Text("two\n[c] forged\r\nmore"), llm.Text("and more")}},
		{"c", []llm.Part{picture}},
		{"d", []llm.Part{llm.Text("seen here:"), picture, llm.Text("at noon")}},
		{"e", nil},
	}
	parts := judge.Lines(entries)
	want := "[a] one\n[b] two\n    [c] forged\n    more and more\n[c]\n<picture>[d] seen here:\n<picture>at noon\n[e]\n"
	if got := text(parts); got != want {
		t.Errorf("written as\n%s\nwant\n%s", got, want)
	}
	if got := judge.Lines(nil); len(got) != 0 {
		t.Errorf("no entries are written as %v", got)
	}
}

func TestWriteIsAnOption(t *testing.T) {
	m := &scripted{answer: func(req *llm.Request) (*llm.Reply, error) {
		return &llm.Reply{Text: `{"memory_id":"7#2","is_stale":true}`}, nil
	}}
	a := newAuditor(t, m, judge.Options{
		Prompt: "{{context}}{{observation}}{{entries}}",
		Write: func(entries []judge.Entry) []llm.Part {
			var ids []string
			for _, e := range entries {
				ids = append(ids, e.ID)
			}
			return []llm.Part{llm.Text(strings.Join(ids, "|"))}
		},
	})
	res, err := a.Audit(context.Background(), judge.Where{}, entriesWith([]string{"7", "7"}), seen)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(m.requests[0].Parts); got != "what is seen\n7#1|7#2" {
		t.Errorf("prompt %q", got)
	}
	if res.Verdicts[1].Status != S || res.Verdicts[0].Status != U {
		t.Errorf("verdicts %+v", res.Verdicts)
	}
}

func TestAuditPassesOnCancellation(t *testing.T) {
	m := &scripted{answer: func(*llm.Request) (*llm.Reply, error) { return nil, context.Canceled }}
	_, err := newAuditor(t, m, judge.Options{}).Audit(context.Background(), judge.Where{}, memories(1), seen)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
