package shape_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/audit/shape"
)

// judged are verdicts on a store by which every entry that has one of the words
// is stale and has the action.
func judged(s *shape.Store, action string, words ...string) []audit.Verdict {
	names := audit.Names(s.Memories)
	out := make([]audit.Verdict, len(s.Memories))
	for i := range out {
		out[i] = audit.Verdict{ID: names[i], Status: audit.Valid, Action: audit.Kept}
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s.Memories[i].Text, w) }) {
			out[i].Status, out[i].Action = audit.Stale, action
		}
	}
	return out
}

func read(t *testing.T, name string) *shape.Store {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	s, err := shape.Read(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each file of testdata says what its store is, what its memories are, what is
// left when what has the word "old" is removed or marked, and by which calls.
func TestStores(t *testing.T) {
	for _, c := range []struct {
		name   string
		format shape.Format
		texts  []string
	}{
		{"mem0.json", shape.Mem0, []string{"Lives in old Berlin", "Is vegetarian", "Works at old Acme"}},
		{"letta-blocks.json", shape.Letta, []string{"human: Name: Caren", "human: Lives in old Berlin", "human: Likes \"tea\"", "persona: I am helpful."}},
		{"letta-passages.json", shape.Letta, []string{"The old office is in Kreuzberg.", "Caren's dog is called Bo."}},
		{"graphiti.json", shape.Graphiti, []string{"Caren works at old Acme", "Caren knows Bo"}},
		{"langgraph.json", shape.LangGraph, []string{"The deploy goes through old Jenkins", "Prefers short answers", `{"port": 8080, "host": "old.example"}`}},
		{"mcp.jsonl", shape.MCP, []string{"Caren: lives in old Berlin", "Caren: speaks German", "Caren: old job at Acme", "Caren works_at_old Acme", "Caren knows Bo"}},
		{"mcp-graph.json", shape.MCP, []string{"Caren: lives in old Berlin", "Caren: speaks German", "Caren knows Bo"}},
		{"notes.jsonl", shape.JSON, []string{"The door is old", "The lamp is on"}},
		{"notes.txt", shape.Lines, []string{"the old door is open", "the lamp is on"}},
		{"memory.md", shape.Markdown, []string{
			"Build: Built by the old Makefile.", "Build: Tests run with `go test`.",
			"Build: Servers:\nsee below", "Build / Servers: see below: staging is at old.example",
			"Build / Servers: see below / staging is at old.example: port 8080", "Build / Servers: see below: production is at new.example",
			"Build: The code is formatted with gofmt,\nalways.", "Style / Tabs: old tabs", "Style / Tabs: new spaces"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := read(t, c.name)
			var texts []string
			for i := range s.Memories {
				texts = append(texts, s.Memories[i].Text)
			}
			if s.Format != c.format {
				t.Errorf("format %s, want %s", s.Format, c.format)
			}
			if diff := cmp.Diff(c.texts, texts); diff != "" {
				t.Error(diff)
			}
			data, _ := os.ReadFile(filepath.Join("testdata", c.name))
			if same := s.Apply(judged(s, audit.Removed)); string(same[0].Data) != string(data) {
				t.Errorf("nothing removed, and yet changed:\n%s", same[0].Data)
			}
			removed, marked := judged(s, audit.Removed, "old"), judged(s, audit.Marked, "old")
			golden(t, c.name+".removed", string(s.Apply(removed)[0].Data))
			golden(t, c.name+".marked", string(s.Apply(marked)[0].Data))
			corrected := judged(s, audit.Removed, "old")
			for i := range corrected {
				if corrected[i].Status == audit.Stale {
					corrected[i].Proposed = "what \"is\" now"
					break
				}
			}
			golden(t, c.name+".plan", "REMOVE\n"+s.Plan(removed)+"MARK\n"+s.Plan(marked)+"CORRECT\n"+s.Plan(corrected))
			// What is left reads as the same store with fewer entries.
			left := s.Apply(removed)[0].Data
			again, err := shape.Read(c.name, left)
			if err != nil || len(again.Memories) != len(s.Memories)-count(removed) {
				t.Errorf("%v: %d entries of %d are left, %d were removed", err, len(again.Memories), len(s.Memories), count(removed))
			}
			if all := s.Apply(judged(s, audit.Removed, "")); len(all) != 1 {
				t.Errorf("%d files", len(all))
			} else if _, err := shape.Read(c.name, all[0].Data); err == nil || !errors.Is(err, shape.ErrEmpty) {
				t.Errorf("all removed, and then: %v", err)
			}
		})
	}
}

func count(verdicts []audit.Verdict) (n int) {
	for i := range verdicts {
		if verdicts[i].Action == audit.Removed {
			n++
		}
	}
	return n
}

func TestFolder(t *testing.T) {
	folder := fstest.MapFS{
		"MEMORY.md":         {Data: []byte("# Memory\n\n- [Database](db.md): old tests hit a real database\n- [Role](user/role.md): a data scientist\n- [Both](db.md), see also [the site](https://example.com)\n")},
		"db.md":             {Data: []byte("---\nname: database\ndescription: how tests reach it\nmetadata:\n  x: 1\ntype: feedback\nexpires: 2026-01-31\n---\n\nOld tests must hit a real database.\n")},
		"user/role.md":      {Data: []byte("---\nname: role\ntype: user\npinned: true\n---\nThe user is a data scientist.\n")},
		"picture.png":       {Data: []byte("\x89PNG")},
		".git/x.md":         {Data: []byte("- hidden")},
		"node_modules/a.md": {Data: []byte("- of others")},
		"rules.md":          {Data: []byte("---\n\nNo front matter, but a rule above.\n\n---\n\n- one\n")},
	}
	s, err := shape.ReadFolder(folder, "memory")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range s.Memories {
		got = append(got, s.Memories[i].ID+" = "+s.Memories[i].Text)
	}
	if diff := cmp.Diff([]string{
		"MEMORY.md:3 = [Database](db.md): old tests hit a real database",
		"MEMORY.md:4 = [Role](user/role.md): a data scientist",
		"MEMORY.md:5 = [Both](db.md), see also [the site](https://example.com)",
		"db.md = database: how tests reach it: Old tests must hit a real database.",
		"rules.md:3 = No front matter, but a rule above.",
		"rules.md:7 = one",
		"user/role.md = role: The user is a data scientist.",
	}, got); diff != "" {
		t.Error(diff)
	}
	if c := s.Memories[3].Claims; c.Kind != "feedback" || !c.Expires.Equal(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", c)
	}
	if c := s.Memories[6].Claims; c.Kind != "user" || !c.Protected {
		t.Errorf("%+v", c)
	}
	v := judged(s, audit.Removed, "Old tests")
	files := s.Apply(v)
	if len(files) != 3 || strings.Contains(string(files[0].Data), "old tests") || !strings.Contains(string(files[0].Data), "[Both]") {
		t.Errorf("%q", files)
	}
	if b := s.Besides(v); len(b) != 1 || b[0] == "" {
		t.Errorf("besides %v", b)
	}
	if plan := s.Plan(v); !strings.Contains(plan, "+++ /dev/null") || !strings.Contains(plan, "--- a/MEMORY.md") {
		t.Error(plan)
	}
	if s.Passed != 1 {
		t.Errorf("%d passed over", s.Passed)
	}
}

// Front matter makes a file of a folder one entry only where it is no document of
// its own; elsewhere it says something of all entries, and stays.
func TestFrontMatter(t *testing.T) {
	const notes = "---\ntitle: t\nexpires: 2026-01-01\n---\n\n# H\n\n@README.md\n@docs/more.md\n\n- one old\n- two\n"
	want := strings.Replace(notes, "- one old\n", "", 1)
	single, err := shape.Read("AGENTS.md", []byte(notes))
	if err != nil {
		t.Fatal(err)
	}
	folder, err := shape.ReadFolder(fstest.MapFS{"AGENTS.md": {Data: []byte(notes)}}, "notes")
	if err != nil {
		t.Fatal(err)
	}
	toml, err := shape.Read("x.md", []byte("+++\ntitle = 'old'\n+++\n- one old\n- two\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*shape.Store{single, folder, toml} {
		if len(s.Memories) != 2 {
			t.Errorf("%+v", s.Memories)
		}
	}
	for _, s := range []*shape.Store{single, folder} {
		if got := string(s.Apply(judged(s, audit.Removed, "old"))[0].Data); got != want {
			t.Errorf("%q", got)
		}
		if s.Memories[1].Claims.Expires.IsZero() {
			t.Error("what the front matter says is lost")
		}
	}
	if got := string(toml.Apply(judged(toml, audit.Removed, "old"))[0].Data); got != "+++\ntitle = 'old'\n+++\n- two\n" {
		t.Errorf("%q", got)
	}
}

func TestClaims(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for text, want := range map[string]audit.Claims{
		`{"id":"a","text":"x","kind":"rule","protected":true,"replaced_by":"b"}`:                                 {Kind: "rule", Protected: true, ReplacedBy: "b"},
		`{"id":"a","memory":"x","metadata":{"kind":"event"},"expiration_date":"2026-01-31"}`:                     {Kind: "event", Expires: at("2026-02-01T00:00:00Z")},
		`{"uuid":"a","fact":"x","invalid_at":"2026-01-02T03:04:05+01:00","expired_at":"2026-01-01T00:00:00Z"}`:   {InvalidAt: at("2026-01-01T00:00:00Z")},
		`{"id":"a","text":"x","expires_at":1767225600,"invalid_at":null,"protected":"no"}`:                       {Expires: at("2026-01-01T00:00:00Z")},
		`{"id":"a","text":"x","invalid_at":"2024-01-01"}`:                                                        {InvalidAt: at("2024-01-01T00:00:00Z")},
		`{"id":"a","text":"x","expires":"soon","type":{"a":1}}`:                                                  {},
		`{"id":"a","text":"x","expires":"2026-01-01 00:00:00","valid_until":"2025-12-01T00:00:00.5","pinned":1}`: {Expires: at("2025-12-01T00:00:00Z").Add(time.Second / 2)},
	} {
		s, err := shape.Read("x.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.Memories[0].Claims); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// Ids that several records share are told apart, and a call that would take them
// all is left to a person.
func TestSameIDs(t *testing.T) {
	s, err := shape.Read("x.json", []byte(`[{"id":7,"memory":"old"},{"id":7,"memory":"new"},{"id":8,"memory":"old"},{"id":8,"memory":"old"}]`))
	if err != nil {
		t.Fatal(err)
	}
	v := judged(s, audit.Removed, "old")
	if v[0].ID != "7#1" || v[1].ID != "7#2" {
		t.Errorf("%+v", v)
	}
	if got := string(s.Apply(v)[0].Data); got != `[{"id":7,"memory":"new"}]` {
		t.Error(got)
	}
	if diff := cmp.Diff("# 7#1 is in the store 2 times, and not all of them are stale: see to it by hand\nclient.delete(memory_id=\"8\")\n", s.Plan(v)); diff != "" {
		t.Error(diff)
	}
}

// A record without a text cannot be marked, so it is left out.
func TestMarkWithoutText(t *testing.T) {
	s, err := shape.Read("x.json", []byte(`[{"namespace":["m"],"key":"k","value":{"port":8080}},{"namespace":["m"],"key":"l","value":{"text":"old"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	v := judged(s, audit.Marked, "")
	if got := string(s.Apply(v)[0].Data); got != `[{"namespace":["m"],"key":"l","value":{"text":"[may no longer hold] old"}}]` {
		t.Error(got)
	}
	if b := s.Besides(v); len(b) != 1 || !strings.Contains(b[0], "no text") {
		t.Error(b)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"a.json", `{"results": [`, "line 1 is not the JSON that it begins as: it ends in the middle of a value"},
		{"a.json", "[1,\n2,\n}", "line 3 is not the JSON"},
		{"a.json", `[1, 2]`, "in no form that is known"},
		{"a.json", `{"results": []}`, "there is no memory in it"},
		{"a.json", strings.Repeat("[", 10_000), "nested deeper than 100"},
		{"a.json", strings.Repeat(`{"a":`, 10_000), "nested deeper than 100"},
		{"a.md", "", "no memory"},
		{"a.txt", "a\x00b", "not text in UTF-8"},
		{"a.txt", "a\xffb", "not text in UTF-8"},
	} {
		if _, err := shape.Read(c.name, []byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), c.name) {
			t.Errorf("%.20q: %v, want %q", c.data, err, c.want)
		}
	}
	if _, err := shape.ReadAs("pickle", "a", nil); err == nil || !strings.Contains(err.Error(), "mem0") {
		t.Error(err)
	}
	if _, err := shape.ReadAs(shape.Graphiti, "a", []byte(`[{"memory":"x"}]`)); err == nil || !strings.Contains(err.Error(), "looks like mem0") {
		t.Error(err)
	}
	if _, err := shape.ReadFolder(fstest.MapFS{"a.txt": {}}, "empty"); !errors.Is(err, shape.ErrEmpty) {
		t.Error(err)
	}
}

// Whatever is removed from a list of records, what is left is JSON and holds
// exactly the others, byte for byte.
func TestCutting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		gap := rapid.SampledFrom([]string{"", " ", "\n  "}).Draw(t, "gap")
		var records, kept, words []string
		for i := range n {
			records = append(records, fmt.Sprintf(`{"id": "%d", "memory":"text <%d> é", "embedding": [0.1]}`, i, i))
			if rapid.Bool().Draw(t, "gone") {
				words = append(words, fmt.Sprintf("<%d>", i))
			} else {
				kept = append(kept, records[i])
			}
		}
		s, err := shape.Read("x.json", []byte(`{"results": [`+gap+strings.Join(records, gap+","+gap)+gap+`], "next": null}`))
		if err != nil {
			t.Fatal(err)
		}
		got := string(s.Apply(judged(s, audit.Removed, words...))[0].Data)
		want := `{"results": [` + gap + strings.Join(kept, gap+","+gap) + gap + `], "next": null}`
		if len(kept) == 0 {
			want = `{"results": [` + gap + gap + `], "next": null}`
		}
		if got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func TestReport(t *testing.T) {
	s := read(t, "memory.md")
	sure := 0.92
	v := judged(s, audit.Removed, "Makefile")
	for i := range v {
		v[i].Tier = audit.TierModel
	}
	v[0].Reason, v[0].Confidence = "Makefile is gone | there is `go.mod`", &sure
	v[1].Flags = []string{audit.FlagInstructions}
	v[2].Status, v[2].Why = audit.Unaudited, audit.TooLong
	v[3].Status, v[3].Why = audit.Unaudited, audit.Protected
	r := shape.Report{Store: s, Result: &audit.Result{Verdicts: v, Kept: s.Memories[1:]}, Memories: "memory.md", Seen: "the output of \"git ls-files\"", Judge: "openai/m", Cost: "$0.01"}
	golden(t, "report.txt", r.Text(80, false)+"\n"+r.Text(80, true))
	golden(t, "report.md", r.Markdown())
}

func FuzzRead(f *testing.F) {
	entries, _ := filepath.Glob("testdata/*.*")
	for _, name := range entries {
		if data, err := os.ReadFile(name); err == nil {
			f.Add(filepath.Ext(name), string(data))
		}
	}
	f.Fuzz(func(t *testing.T, ext, data string) {
		s, err := shape.Read("x"+ext, []byte(data))
		if err != nil {
			return
		}
		if out := s.Apply(judged(s, audit.Removed)); len(out) != 1 || string(out[0].Data) != data {
			t.Fatalf("nothing removed, and yet %q became %q", data, out)
		}
		for _, action := range []string{audit.Removed, audit.Marked} {
			s.Plan(judged(s, action, ""))
			s.Apply(judged(s, action, "a", "e"))
		}
	})
}

// A table is no entry, also where words stand directly above it.
func TestTables(t *testing.T) {
	const table = "| Port | Server |\n|-----:|:-------|\n| 8080 | old |\n"
	for data, texts := range map[string][]string{
		table:                       nil,
		"- a\n\n" + table + "\nb\n": {"a", "b"},
		"Some words\nof two lines\n" + table + "\n- old\n": {"Some words\nof two lines", "old"},
		"Ports:\n" + table:                        nil,
		"a | b\n--|--\nold | d\n":                 nil,
		"The pipe is old: a | b\nand more | so\n": {"The pipe is old: a | b\nand more | so"},
	} {
		s, err := shape.ReadAs(shape.Markdown, "a.md", []byte(data))
		if err != nil && !errors.Is(err, shape.ErrEmpty) {
			t.Fatal(err)
		}
		var got []string
		for i := range s.Memories {
			got = append(got, s.Memories[i].Text)
		}
		if !slices.Equal(got, texts) {
			t.Errorf("%q has the entries %q, want %q", data, got, texts)
		}
		left := s.Apply(judged(s, audit.Removed, ""))[0].Data
		if strings.Contains(data, table) && !strings.Contains(string(left), table) {
			t.Errorf("of %q there is left %q, without its table", data, left)
		}
	}
}

// A line of an index goes with the file that it leads to, however the link is
// written, and stays when it leads elsewhere as well.
func TestIndexLinks(t *testing.T) {
	const note = "---\nname: port\n---\nold\n"
	for line, goes := range map[string]bool{
		"- [Port](a%20b.md)":                              true,
		"- [Port](<a b.md>)":                              true,
		"- [Port](<a b.md> \"the port\")":                 true,
		"- [Port](<a b.md>), [Rest](c.md \"the rest\")":   false,
		"- [Port](<a b.md>), [Site](https://x.org/a_(b))": false,
	} {
		s, err := shape.ReadFolder(fstest.MapFS{
			"INDEX.md": {Data: []byte(line + "\n")}, "a b.md": {Data: []byte(note)}, "c.md": {Data: []byte("---\nname: rest\n---\nnew\n")},
		}, "memory")
		if err != nil {
			t.Fatal(err)
		}
		if gone := string(s.Apply(judged(s, audit.Removed, "port: old"))[0].Data) == ""; gone != goes {
			t.Errorf("%s: gone %v, want %v", line, gone, goes)
		}
	}
}

// Mem0 with a graph answers with relations beside the memories.
func TestMem0WithRelations(t *testing.T) {
	const relations = `"relations": [{"source": "caren", "relationship": "lives_in", "destination": "old_berlin"}]`
	s, err := shape.Read("mem0.json", []byte(`{"results": [{"id": "a", "memory": "old"}, {"id": "b", "memory": "new"}], `+relations+`}`))
	if err != nil || s.Format != shape.Mem0 {
		t.Fatal(err)
	}
	if got, want := string(s.Apply(judged(s, audit.Removed, "old"))[0].Data), `{"results": [{"id": "b", "memory": "new"}], `+relations+`}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
