package judge_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/llm"
)

// A told source gives the labels of the moment and notes the windows.
type told struct {
	stale   []string
	windows []int
	err     error
}

func (s *told) Audit(ctx context.Context, w judge.Where, entries []judge.Entry, observation []llm.Part) (*judge.Result, error) {
	s.windows = append(s.windows, w.Window)
	if s.err != nil {
		return nil, s.err
	}
	return judge.Labels(func(id string) bool { return slices.Contains(s.stale, id) }).Audit(ctx, w, entries, observation)
}

func kept(v judge.View) string {
	var ids []string
	for _, e := range v.Entries {
		ids = append(ids, e.ID)
	}
	return strings.Join(ids, " ") + " - " + strings.Join(v.Removed, " ")
}

func TestSession(t *testing.T) {
	type step struct {
		stale  string // by then
		event  bool
		want   string // the view: kept, removed
		audits bool
	}
	for _, tc := range []struct {
		name    string
		when    judge.When
		steps   []step
		windows []int
	}{
		{"once", judge.Once, []step{
			{"a", false, "b c - a", true},
			{"b", false, "b c - a", false},
			{"b", true, "b c - a", false},
		}, []int{0}},
		{"on event", judge.OnEvent, []step{
			{"", false, "a b c - ", true},
			{"a", false, "a b c - ", false},
			{"a c", true, "b - a c", true},
			{"", false, "b - a c", false},
			{"b", true, "a c - b", true}, // what was removed is judged again, and may come back
			{"", true, "a b c - ", true},
		}, []int{0, 1, 2, 3}},
		{"an event before the first view", judge.OnEvent, []step{
			{"a", true, "b c - a", true},
			{"b", false, "b c - a", false},
		}, []int{0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := &told{}
			s := judge.NewSession(src, entriesWith([]string{"a", "b", "c"}), tc.when, judge.Remove)
			for i, st := range tc.steps {
				src.stale = strings.Fields(st.stale)
				if got := s.Due(st.event); got != st.audits {
					t.Errorf("view %d: due is %v", i, got)
				}
				v, err := s.View(context.Background(), "t", nil, st.event)
				if err != nil {
					t.Fatal(err)
				}
				if kept(v) != st.want || (v.Result != nil) != st.audits {
					t.Errorf("view %d: %s, audited %v; want %s, %v", i, kept(v), v.Result != nil, st.want, st.audits)
				}
			}
			if diff := cmp.Diff(tc.windows, src.windows); diff != "" {
				t.Errorf("windows (-want +got):\n%s", diff)
			}
		})
	}
}

// An audit that failed is still owed, in the same window: a resumed trial finds
// its finished calls by their slots.
func TestSessionAfterAnError(t *testing.T) {
	src := &told{stale: []string{"a"}}
	s := judge.NewSession(src, entriesWith([]string{"a", "b"}), judge.OnEvent, judge.Remove)
	view := func(event bool) (judge.View, error) { return s.View(context.Background(), "t", nil, event) }
	if _, err := view(false); err != nil {
		t.Fatal(err)
	}
	src.err, src.stale = errors.New("no"), []string{"b"}
	if _, err := view(true); !errors.Is(err, src.err) {
		t.Fatalf("error %v", err)
	}
	src.err = nil
	v, err := view(false)
	if err != nil {
		t.Fatal(err)
	}
	if kept(v) != "a - b" || v.Result == nil {
		t.Errorf("the view is %s: the event was forgotten", kept(v))
	}
	if diff := cmp.Diff([]int{0, 1, 1}, src.windows); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
}

// Entries that share an id are kept and removed one by one; an unanswered entry
// stays.
func TestSessionRemovesByEntry(t *testing.T) {
	m := &scripted{answer: func(*llm.Request) (*llm.Reply, error) {
		return &llm.Reply{Text: `[{"memory_id":"7#1","is_stale":true},{"memory_id":"8","is_stale":null}]`}, nil
	}}
	s := judge.NewSession(newAuditor(t, m, judge.Options{}), entriesWith([]string{"7", "7", "8"}), judge.Once, judge.Remove)
	v, err := s.View(context.Background(), "t", nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if kept(v) != "7 8 - 7#1" {
		t.Errorf("view %s", kept(v))
	}
	if got := v.Result.Verdicts[1].Status; got != U {
		t.Errorf("7#2 is %s", got)
	}
}

func TestSessionOfNothing(t *testing.T) {
	m := &scripted{}
	s := judge.NewSession(newAuditor(t, m, judge.Options{}), nil, judge.OnEvent, judge.Remove)
	v, err := s.View(context.Background(), "t", nil, false)
	if err != nil || len(v.Entries) != 0 || len(m.requests) != 0 || v.Result == nil {
		t.Errorf("view %+v, error %v, %d calls", v, err, len(m.requests))
	}
}

// A source that loses entries must not lose them from the view.
type short struct{}

func (short) Audit(context.Context, judge.Where, []judge.Entry, []llm.Part) (*judge.Result, error) {
	return &judge.Result{}, nil
}

func TestSessionRefuses(t *testing.T) {
	entries := entriesWith([]string{"a"})
	for _, tc := range []struct {
		session *judge.Session
		say     string
	}{
		{judge.NewSession(&told{}, entries, 9, judge.Remove), "unknown moment 9"},
		{judge.NewSession(&told{}, entries, judge.Once, 9), "unknown policy 9"},
		{judge.NewSession(short{}, entries, judge.Once, judge.Remove), "0 verdicts on 1 entries"},
	} {
		if _, err := tc.session.View(context.Background(), "t", nil, false); err == nil || !strings.Contains(err.Error(), tc.say) {
			t.Errorf("error %v, want one that says %q", err, tc.say)
		}
	}
}
