package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Mean returns the arithmetic mean, NaN for no values.
func Mean(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	return stat.Mean(xs, nil)
}

// StdDev returns the sample standard deviation (divisor n-1), NaN for fewer
// than two values.
func StdDev(xs []float64) float64 {
	if len(xs) < 2 {
		return math.NaN()
	}
	return stat.StdDev(xs, nil)
}
