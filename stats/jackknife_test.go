package stats_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/spatialstale/spatialstale/stats"
)

// For a mean the jackknife is the textbook's standard error and t interval.
func TestJackknifeOfAMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-10, 10), 2, 60).Draw(t, "xs")
		sum := 0.0
		for _, x := range xs {
			sum += x
		}
		n := float64(len(xs))
		var left []float64
		for _, x := range xs {
			left = append(left, (sum-x)/(n-1))
		}
		got, err := stats.Jackknife(sum/n, left, stats.JackknifeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if want := stats.StdDev(xs) / math.Sqrt(n); math.Abs(*got.SE-want) > 1e-9 {
			t.Fatalf("standard error %v, want %v", *got.SE, want)
		}
		if i := got.Interval; i != nil && math.Abs((i.Low+i.High)/2-sum/n) > 1e-9 {
			t.Fatalf("%+v is not around %v", i, sum/n)
		}
	})
	// scipy.stats.t.interval(0.95, 4, loc=3, scale=scipy.stats.sem([1, 2, 3, 4, 5]))
	got, err := stats.Jackknife(3, []float64{3.5, 3.25, 3, 2.75, 2.5}, stats.JackknifeOptions{})
	if err != nil || math.Abs(got.Interval.Low-1.0367568385224393) > 1e-12 || math.Abs(got.Interval.High-4.9632431614775605) > 1e-12 {
		t.Errorf("%+v %v", got.Interval, err)
	}
}

func TestJackknifeUndefined(t *testing.T) {
	for _, left := range [][]float64{nil, {1}} {
		if r, err := stats.Jackknife(1, left, stats.JackknifeOptions{}); err != nil || r.SE != nil || !r.Warned(stats.TooFew) {
			t.Errorf("%v: %+v %v", left, r, err)
		}
	}
	if r, err := stats.Jackknife(1, []float64{1, 1, 1}, stats.JackknifeOptions{}); err != nil || *r.SE != 0 || r.Interval != nil || !r.Warned(stats.Constant) {
		t.Errorf("%+v %v", r, err)
	}
	for _, bad := range []struct {
		estimate float64
		left     []float64
		level    float64
	}{{math.NaN(), []float64{1, 2}, 0}, {1, []float64{1, math.Inf(1)}, 0}, {1, []float64{1, 2}, 1.5}} {
		var input *stats.InputError
		if _, err := stats.Jackknife(bad.estimate, bad.left, stats.JackknifeOptions{Level: bad.level}); !errors.As(err, &input) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
