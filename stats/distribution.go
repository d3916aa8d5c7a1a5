package stats

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
)

// Tails of the distributions that the tests need. Gonum's CDFs are exact
// enough in the body, but a survival function written as 1-CDF has no digits
// left at 1e-14, and its noncentral t loses them from 1e-7 on; each tail is
// therefore computed for itself.

// normalTail returns P(Z > z).
func normalTail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// normalBetween returns P(a < Z < b), 0 when a >= b.
func normalBetween(a, b float64) float64 {
	if a >= b {
		return 0
	}
	if a < 0 {
		a, b = -b, -a // then a > 0, or 0 lies inside
	}
	if a < 0 {
		return 1 - normalTail(-a) - normalTail(b)
	}
	return normalTail(a) - normalTail(b)
}

// normalQuantile returns z with P(Z < z) = p, for 0 < p < 1.
func normalQuantile(p float64) float64 { return mathext.NormalQuantile(p) }

// normalTwoSided returns z with P(|Z| < z) = level.
func normalTwoSided(level float64) float64 { return -normalQuantile((1 - level) / 2) }

// chiSquareTail1 returns P(X > x) for one degree of freedom.
func chiSquareTail1(x float64) float64 { return math.Erfc(math.Sqrt(x / 2)) }

// studentTail returns P(T > t) with df > 0 degrees of freedom.
func studentTail(t, df float64) float64 {
	if t < 0 {
		return 1 - studentTail(-t, df)
	}
	t2 := t * t
	if t2 < 1 {
		// Near the middle df/(df+t²) rounds t away; its complement does not.
		return 0.5 - 0.5*mathext.RegIncBeta(0.5, df/2, t2/(df+t2))
	}
	return 0.5 * mathext.RegIncBeta(df/2, 0.5, df/(df+t2))
}

// studentQuantile returns t >= 0 with P(T > t) = tail, for 0 < tail <= 1/2.
func studentQuantile(tail, df float64) float64 {
	if tail >= 0.5 {
		return 0
	}
	low, high := 0.0, 1.0
	for studentTail(high, df) > tail && high < 1e300 {
		low, high = high, 2*high
	}
	return bisect(low, high, func(t float64) bool { return studentTail(t, df) <= tail })
}

// bisect returns the point between low and high from which on reached is
// true, to the last bits of a float64; reached(high) must hold.
func bisect(low, high float64, reached func(float64) bool) float64 {
	for range 2100 { // enough to walk through every exponent
		mid := low + (high-low)/2
		if mid <= low || mid >= high {
			break
		}
		if reached(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// noncentralTail returns P(T > t) where T is noncentral t with df degrees of
// freedom and noncentrality nc: the mean, over the chi-distributed scale, of a
// normal tail.
func noncentralTail(t, df, nc float64) float64 {
	return overScale(df, kinkOf(nc, t), math.Inf(1), func(scale float64) float64 {
		return normalTail(t*scale - nc)
	})
}

// kinkOf returns where t·scale crosses nc, and how wide the crossing is.
func kinkOf(nc, t float64) kink {
	if t == 0 {
		return kink{}
	}
	return kink{at: nc / t, width: 1 / math.Abs(t)}
}

// A kink is a place on the scale axis where an integrand changes fast.
type kink struct{ at, width float64 }

// overScale returns the mean of g(S), S = chi(df)/√df, over 0 < S < upper, by
// Gauss–Legendre panels around the mass of S and around the kink of g. The
// density is normalised by the same quadrature, which spares the difference
// of two large log-gammas.
func overScale(df float64, k kink, upper float64, g func(float64) float64) float64 {
	root := math.Sqrt(df)
	mode := math.Sqrt(df - 1)
	density := func(x float64) float64 { // of chi, relative to its mode
		u := x - mode
		if mode == 0 {
			return math.Exp(-x * x / 2)
		}
		return math.Exp(mode*mode*math.Log1p(u/mode) - u*mode - u*u/2)
	}
	const reach, step = 14.0, 1.0 // chi's deviation is at most 0.71
	low, high := math.Max(0, mode-reach), mode+reach
	end := math.Min(high, upper*root)
	cuts := []float64{}
	for x := low; x < high; x += step {
		cuts = append(cuts, x)
	}
	if k.width > 0 && k.width*root < step {
		for i := -24; i <= 24; i++ {
			cuts = append(cuts, (k.at+float64(i)*k.width/2)*root)
		}
	}
	cuts = append(cuts, high, end)
	panels := panelsOf(cuts, low, high)

	var mass, value float64
	nodes := legendre()
	for i := 1; i < len(panels); i++ {
		a, b := panels[i-1], panels[i]
		for j, x := range nodes.at {
			at := a + (b-a)*x
			w := (b - a) * nodes.weight[j] * density(at)
			mass += w
			if at < end {
				value += w * g(at/root)
			}
		}
	}
	return value / mass
}

// panelsOf sorts cuts, and drops what lies outside or adds no width.
func panelsOf(cuts []float64, low, high float64) []float64 {
	sorted := sortedCopy(cuts)
	panels := []float64{low}
	for _, c := range sorted {
		if last := panels[len(panels)-1]; c > last+1e-12*(1+last) && c <= high {
			panels = append(panels, c)
		}
	}
	return panels
}

type rule struct{ at, weight []float64 }

// legendre is the 20-point Gauss–Legendre rule on [0, 1].
var legendre = sync.OnceValue(func() rule {
	r := rule{make([]float64, 20), make([]float64, 20)}
	quad.Legendre{}.FixedLocations(r.at, r.weight, 0, 1)
	return r
})
