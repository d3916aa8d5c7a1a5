package store

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func sorted(slots ...string) string {
	calls := make([]callRow, len(slots))
	for i, s := range slots {
		calls[i].call.Slot = s
	}
	sortBySlot(calls)
	for i := range calls {
		slots[i] = calls[i].call.Slot
	}
	return strings.Join(slots, " ")
}

func TestSortBySlot(t *testing.T) {
	for _, test := range []struct{ written, want string }{
		{"", ""},
		{"step1 step2 step10", "step1 step2 step10"},
		{"window10 window2 window0", "window0 window2 window10"},
		{"window0/batch10 window0/batch2 window0/batch0", "window0/batch0 window0/batch2 window0/batch10"},
		{"window0/batch1 window0/batch0/again window0/batch0", "window0/batch0 window0/batch0/again window0/batch1"},
		// An episode audits, walks, audits again: the order of writing decides.
		{"window0/batch1 window0/batch0 step1 step2 window1/batch0 step3", "window0/batch0 window0/batch1 step1 step2 window1/batch0 step3"},
		{"step1 step2 window0/batch3 window0/batch1 step3", "step1 step2 window0/batch1 window0/batch3 step3"},
		// A detection may make all its windows at once.
		{"window3/batch0 window1/batch1 window0/batch0 window1/batch0", "window0/batch0 window1/batch0 window1/batch1 window3/batch0"},
		{"b a 10 9", "b a 9 10"},
	} {
		if got := sorted(strings.Fields(test.written)...); got != test.want {
			t.Errorf("%q\n got %q\nwant %q", test.written, got, test.want)
		}
	}
}

func TestCompareNatural(t *testing.T) {
	ascending := []string{"", "0", "00", "01", "1", "2", "10", "99999999999999999999998", "99999999999999999999999", "a", "a/b", "a1", "a1b", "a02", "a2", "a10", "b"}
	for i, a := range ascending {
		for j, b := range ascending {
			if got, want := compareNatural(a, b), compareInts(i, j); got != want {
				t.Errorf("compareNatural(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func compareInts(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Sorting needs a strict order: equal only to itself, and never in a circle.
func TestCompareNaturalIsAnOrder(t *testing.T) {
	text := rapid.StringMatching(`[ab0-9/]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(text, 3, 3).Draw(t, "texts")
		for _, a := range all {
			for _, b := range all {
				if compareNatural(a, b) != -compareNatural(b, a) || (compareNatural(a, b) == 0) != (a == b) {
					t.Fatalf("%q and %q", a, b)
				}
			}
		}
		slices.SortFunc(all, compareNatural)
		if compareNatural(all[0], all[2]) > 0 {
			t.Fatalf("a circle: %q", all)
		}
	})
}
