package check_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/audit/audittest"
	"github.com/spatialstale/spatialstale/audit/check"
	"github.com/spatialstale/spatialstale/llm"
)

var update = flag.Bool("update", false, "write the golden files")

// truths are the right verdicts on all entries, as a model says them.
func truths() map[string]string {
	out := map[string]string{}
	for _, c := range check.Cases() {
		for text, verdict := range c.Truth() {
			out[text] = strings.ReplaceAll(verdict, "-", "_")
		}
	}
	return out
}

func TestCases(t *testing.T) {
	seen := map[string]string{}
	for _, c := range check.Cases() {
		memories := make([]audit.Memory, len(c.Memories))
		for i, e := range c.Memories {
			memories[i] = audit.Memory{ID: e.ID, Text: e.Text}
		}
		names := audit.Names(memories)
		labels := slices.Concat(c.Stale, c.NotCovered)
		for name := range c.Asks {
			labels = append(labels, name)
		}
		for name := range c.Plain {
			labels = append(labels, name)
		}
		for _, name := range labels {
			if !slices.Contains(names, name) {
				t.Errorf("%s: no entry %s", c.Name, name)
			}
		}
		for name, asked := range c.Asks {
			if stale := slices.Contains(c.Stale, name); stale == (asked == audit.Stale) {
				t.Errorf("%s: %s is asked to be what it is", c.Name, name)
			}
		}
		if c.Name == "" || c.Kind == "" || c.Observation == "" || len(c.Memories) < 2 {
			t.Errorf("%+v", c)
		}
		for i, m := range memories {
			verdict := fmt.Sprint(slices.Contains(c.Stale, names[i]))
			if old, ok := seen[c.Name+m.Text]; ok && old != verdict {
				t.Errorf("%s: the same text is stale and is not", c.Name)
			}
			seen[c.Name+m.Text] = verdict
		}
	}
}

func TestModels(t *testing.T) {
	truth := truths()
	right := func(entry, _ string) string { return truth[entry] }
	for _, c := range []struct {
		name  string
		model *audittest.Model
		want  string
	}{
		{"right", &audittest.Model{Rule: right}, check.Fit},
		{"cautious", &audittest.Model{Rule: func(entry, o string) string { // right but for every fourth stale entry
			if v := right(entry, o); v != "stale" || len(entry)%4 > 0 {
				return v
			}
			return "valid"
		}}, check.OnlyMark},
		{"flags everything", &audittest.Model{Rule: func(string, string) string { return "stale" }}, check.Unfit},
		{"flags nothing", &audittest.Model{Rule: func(string, string) string { return "valid" }}, check.Unfit},
		{"says nothing", &audittest.Model{Rule: func(string, string) string { return "" }}, check.Unfit},
		{"obeys", &audittest.Model{Rule: func(entry, o string) string {
			if strings.Contains(entry, "its verdict is valid") || strings.Contains(entry, "melde valid") {
				return "valid"
			}
			return right(entry, o)
		}}, check.OnlyMark},
		{"down", &audittest.Model{Rule: right, Fail: func(context.Context, int64) error {
			return &llm.Error{Kind: llm.KindServer, Model: "m", Err: errors.New("the server is down")}
		}}, check.NotChecked},
		{"down now and then", &audittest.Model{Rule: right, Fail: func(_ context.Context, n int64) error {
			if n == 3 {
				return errors.New("lost")
			}
			return nil
		}}, check.Fit},
		// Wrong on the entries of known verdict as well, so that none of its verdicts counts.
		{"one word", &audittest.Model{Rule: right, Turn: func(_ string, r *llm.Reply) {
			r.Text = strings.NewReplacer(`"valid"`, `"stale"`, `"not_covered"`, `"stale"`).Replace(r.Text)
		}}, check.Unfit},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := check.Run(t.Context(), c.model, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != c.want {
				t.Errorf("%s, want %s", r.Verdict, c.want)
			}
			golden(t, strings.ReplaceAll(c.name, " ", "-")+".txt", r.Text())
		})
	}
}

// A mistake that a model makes without instructions as well is not obedience.
func TestMistakeIsNoObedience(t *testing.T) {
	truth := truths()
	r, err := check.Run(t.Context(), &audittest.Model{Rule: func(entry, _ string) string {
		if strings.HasPrefix(entry, "The east gate is open.") {
			return "valid"
		}
		return truth[entry]
	}}, nil)
	if err != nil || r.Obeyed.Hits != 0 || r.Verdict != check.Fit || r.All.Found.N-r.All.Found.Hits != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := check.Run(ctx, &audittest.Model{Rule: audittest.Gone}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", r, err)
	}
}

func ExampleRun() {
	truth := truths()
	// model, err := audit.Open("openai/gpt-4o")
	model := &audittest.Model{Rule: func(entry, _ string) string { return truth[entry] }}
	result, err := check.Run(context.Background(), model, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Verdict)
	// Output: fit to remove
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}
