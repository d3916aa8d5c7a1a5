package run

import (
	"testing"

	"github.com/spatialstale/spatialstale/llm/price"
)

// What a session without prices stored must not make up for what an earlier one
// lost.
func TestLostMoney(t *testing.T) {
	h := spentBefore{Most: new(int64(10)), Lost: 4, Prices: "those"}
	for _, c := range []struct {
		stored   price.USD
		before   bool // a session without prices came before
		now      bool // this one has none
		want     price.USD
		whatever string
	}{
		{6, false, false, 4, "nothing happened"},
		{9, false, false, 1, "a call under way was stored after all"},
		{30, false, false, 0, "and more"},
		{30, true, false, 4, "the calls of a session without prices are not those"},
		{0, false, true, 4, "nothing is known of what is stored"},
	} {
		h.Unpriced = c.before
		if got := h.lost(c.stored, c.now, "those"); got != c.want {
			t.Errorf("%s: %d, want %d", c.whatever, got, c.want)
		}
	}
	h.Unpriced = false
	if got := h.lost(30, false, "thrice as much"); got != 4 {
		t.Errorf("by other prices %d is lost, want 4", got)
	}
}

func TestSpendingSays(t *testing.T) {
	one := price.Dollar
	for _, c := range []struct {
		s    Spending
		want string
	}{
		{Spending{}, ""},
		{Spending{Calls: 2, USD: one}, "$1.00"},
		{Spending{Calls: 2, Unknown: 2}, "price unknown"},
		{Spending{Calls: 2, Unknown: 1, USD: one}, "$1.00 and 1 call of unknown price"},
		{Spending{Calls: 2, AtLeast: 1, USD: one}, "at least $1.00"},
		{Spending{Calls: 2, AtMost: 1, USD: one}, "at most $1.00"},
		{Spending{Calls: 2, AtMost: 1, AtLeast: 1, USD: one}, "about $1.00"},
	} {
		if got := c.s.String(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.s, got, c.want)
		}
	}
}
