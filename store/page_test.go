package store

import (
	"slices"
	"strings"
	"testing"
)

// Rows are the plan's trials with what came of them, in pages that together are
// all, whatever the order.
func TestRows(t *testing.T) {
	s := newSample()
	dir := s.written(t)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, n, err := r.Rows(Query{})
	if err != nil || n != len(s.plan) || len(all) != n {
		t.Fatalf("%d rows of %d: %v", len(all), n, err)
	}
	for i := range all {
		if all[i].Spec != s.plan[i] {
			t.Errorf("row %d: %+v, want %+v", i, all[i].Spec, s.plan[i])
		}
		want, calls := "", 0
		for _, trial := range s.trials {
			if trial.Key == all[i].Key {
				want = trial.Outcome
				if all[i].Counts != trial.Counts || all[i].Fallbacks != trial.Fallbacks() || all[i].Error != trial.Error {
					t.Errorf("%s: %+v", trial.Key, all[i])
				}
			}
		}
		for _, c := range s.calls {
			if c.Trial == all[i].Key {
				calls++
			}
		}
		if all[i].Outcome != want || all[i].Calls != calls {
			t.Errorf("%s: outcome %q, %d calls; want %q, %d", all[i].Key, all[i].Outcome, all[i].Calls, want, calls)
		}
	}
	for _, order := range append(Columns(), "") {
		var keys []string
		for at := 0; at < n; at += 3 {
			page, total, err := r.Rows(Query{Order: order, Desc: at%2 == 0 && order == "seed", Offset: at, Limit: 3})
			if err != nil || total != n {
				t.Fatalf("%s: %d, %v", order, total, err)
			}
			for _, row := range page {
				keys = append(keys, row.Key)
			}
		}
		if order != "seed" && len(keys) != n {
			t.Errorf("%s: pages have %v", order, keys)
		}
	}
	seeds := func(q Query) (out []int) {
		t.Helper()
		rows, _, err := r.Rows(q)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			out = append(out, rows[i].Seed)
		}
		return out
	}
	if got := seeds(Query{Order: "seed", Desc: true}); !slices.Equal(got, []int{9, 2, 1, 1}) {
		t.Errorf("by seed, falling: %v", got)
	}
	if got := seeds(Query{Where: map[string][]string{"task": {"navigate"}, "regime": {"L1", "L2"}}}); !slices.Equal(got, []int{1, 1}) {
		t.Errorf("navigation: %v", got)
	}
	if got := seeds(Query{Where: map[string][]string{"outcome": {""}}}); len(got) != len(s.plan)-len(s.trials) {
		t.Errorf("unfinished: %v", got)
	}
	for _, q := range []Query{{Order: "key; DROP TABLE plan"}, {Where: map[string][]string{"1=1 --": {"x"}}}} {
		if _, _, err := r.Rows(q); err == nil || !strings.Contains(err.Error(), "they have batch") {
			t.Errorf("%+v: %v", q, err)
		}
	}
	choices, err := r.Choices()
	if err != nil || !slices.Equal(choices["regime"], []string{"L3", "L1", "L2"}) || choices["model"] != nil {
		t.Errorf("%v, %v", choices, err)
	}
}

func TestState(t *testing.T) {
	s := newSample()
	dir := s.written(t)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	state, err := r.State()
	failed := 0
	for _, trial := range s.trials {
		if trial.Error != "" {
			failed += state.Errors[trial.Error]
		}
	}
	if err != nil || state.Planned != 4 || state.Done != len(s.trials) || state.Failed != failed || failed == 0 || state.Calls != len(s.calls) {
		t.Errorf("%+v, %v", state, err)
	}
}

// A run is being written while its Writer is open, and whoever asks keeps nobody
// from writing.
func TestWriting(t *testing.T) {
	s := newSample()
	w, dir := s.create(t)
	if !Writing(dir) {
		t.Error("it is not said that it is being written")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if Writing(dir) {
		t.Error("it is said that it is being written")
	}
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				Writing(dir)
			}
		}
	}()
	for range 20 {
		l, err := lockRun(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-done
}
