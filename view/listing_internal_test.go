package view

import (
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

// A listing in memory chooses and orders as the database does: numbers as numbers,
// trials that have no value last, and otherwise as they were planned.
func TestSorted(t *testing.T) {
	var rows []*store.Row
	for i, moves := range []int{9, 10, -1, 2, 10} {
		r := &store.Row{Spec: record.Spec{Key: strconv.Itoa(i), Seed: 20 - i, Rows: 4, Cols: 6}, Outcome: "death"}
		if moves >= 0 {
			r.Moves = &moves
		}
		rows = append(rows, r)
	}
	keys := func() (out string) {
		for _, r := range rows {
			out += r.Key
		}
		return out
	}
	for _, c := range []struct {
		name string
		desc bool
		want string
	}{{"moves", false, "30142"}, {"moves", true, "14032"}, {"seed", false, "43210"}, {"outcome", false, "01234"}} {
		slices.SortFunc(rows, func(x, y *store.Row) int { return y.Seed - x.Seed })
		if sorted(rows, c.name, c.desc); keys() != c.want {
			t.Errorf("%s, %v: %s, want %s", c.name, c.desc, keys(), c.want)
		}
	}
	for value, want := range map[string]bool{"4x6": true, "4×6": false} {
		if fits(rows[0], map[string][]string{"size": {value}, "outcome": {"success", "death"}}) != want {
			t.Errorf("size %s", value)
		}
	}
}

// Would fail if a page of a large run had other trials, or another order, than the
// database gives.
func TestListingIsTheDatabase(t *testing.T) {
	s, err := study.Parse("{base: quick, seeds: 2, regimes: [L1, L3]}")
	if err != nil {
		t.Fatal(err)
	}
	session, err := run.Start(t.Context(), s, run.Options{Dir: filepath.Join(t.TempDir(), "a")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Wait(); err != nil {
		t.Fatal(err)
	}
	stored, err := run.Open(session.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	v := New(Options{})
	large := run.Listed{Dir: session.Dir(), State: store.State{Planned: leastListed}}
	for _, c := range sortable {
		for _, q := range []store.Query{
			{Order: c.name, Limit: 1000}, {Order: c.name, Desc: true, Offset: 10, Limit: 30},
			{Order: c.name, Limit: 50, Where: map[string][]string{"strategy": {"omcd", "no-filter"}, "outcome": {"death", "done"}, "batch": {"0", "10"}}},
			{Order: c.name, Limit: 50, Where: map[string][]string{"regime": {"L2"}}},
		} {
			want, all, err := stored.Rows(q)
			if err != nil {
				t.Fatal(err)
			}
			got, n, _, err := v.rowsOf(&large, stored, q)
			same := func(x, y store.Row) bool { return x.Key == y.Key && x.Calls == y.Calls && x.Outcome == y.Outcome }
			if err != nil || n != all || !slices.EqualFunc(got, want, same) {
				t.Errorf("%+v: %d of %d, want %d of %d; %v", q, len(got), n, len(want), all, err)
			}
		}
	}
}
