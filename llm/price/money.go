package price

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// USD is an amount of money in millionths of a millionth of a US dollar: what a
// token costs is a whole number of them, so that sums are exact and do not
// depend on their order. Sums and products stay at the largest amount, about
// 9.2 million dollars, rather than go beyond it.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1_000_000_000_000

// most is the largest amount.
const most USD = math.MaxInt64

// Dollars returns the amount as a number of dollars, for display and records.
func (u USD) Dollars() float64 { return float64(u) / float64(Dollar) }

// String writes the amount as people do: in cents, and below ten cents with
// two digits that count. What is not nothing is never written as $0.
func (u USD) String() string {
	if u < 0 {
		return "-" + (-u).String()
	}
	d := u.Dollars()
	switch {
	case u == 0:
		return "$0"
	case d >= 0.0995:
		return fmt.Sprintf("$%.2f", d)
	case d < 0.000001:
		return "under $0.000001"
	}
	digits := 1 - int(math.Floor(math.Log10(d)))
	return "$" + strings.TrimRight(fmt.Sprintf("%.*f", digits, d), "0")
}

// FromDollars returns an amount given in dollars, rounded to the nearest
// millionth of a dollar. ok is false for what is negative, not a number or
// beyond a million dollars.
func FromDollars(d float64) (u USD, ok bool) {
	if !(d >= 0 && d <= 1e6) {
		return 0, false
	}
	return USD(math.Round(d*1e6)) * (Dollar / 1e6), true
}

// plus adds two amounts that are not negative.
func (u USD) plus(v USD) USD {
	if u > most-v {
		return most
	}
	return u + v
}

// A Rate is what one token costs.
type Rate USD

// perMillion returns the rate of a price in dollars per million tokens; ok is
// false where it cannot be written exactly.
func perMillion(dollars float64) (r Rate, ok bool) {
	exact := dollars * 1e6
	whole := math.Round(exact)
	if !(dollars >= 0 && dollars <= 1e6) || math.Abs(exact-whole) > 1e-3 {
		return 0, false
	}
	return Rate(whole), true
}

// of returns what n tokens cost.
func (r Rate) of(n int) USD {
	if n <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(r), uint64(n))
	if high > 0 || low > uint64(most) {
		return most
	}
	return USD(low)
}
