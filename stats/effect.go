package stats

import "math"

// EffectResult holds the sizes of a paired difference, in the data's own unit
// and without one.
type EffectResult struct {
	Basis
	// Mean and SD of the differences, in their own unit (a rate: 0.1 is ten
	// points). This is the effect to read first.
	Mean *float64 `json:"mean"`
	SD   *float64 `json:"sd"`
	// Dz is the paired Cohen's d: Mean/SD. nil when the differences do not
	// vary.
	Dz *float64 `json:"dz"`
	// HedgesG is Dz with the exact small-sample correction for N-1 degrees of
	// freedom (Hedges 1981).
	HedgesG *float64 `json:"hedges_g"`
	// RankBiserial is the matched-pairs rank-biserial correlation over the
	// non-zero differences, in [-1, 1] (Kerby 2014).
	RankBiserial *float64 `json:"rank_biserial"`
	// Positive, Negative and Zero count the units by the sign of their
	// difference.
	Positive int `json:"positive"`
	Negative int `json:"negative"`
	Zero     int `json:"zero"`
}

// Effects describes paired differences. Errors: *InputError.
func Effects(differences []float64) (EffectResult, error) {
	signed, err := Wilcoxon(differences, WilcoxonOptions{Method: WilcoxonNormal})
	if err != nil {
		return EffectResult{}, err
	}
	res := EffectResult{RankBiserial: signed.RankBiserial}
	res.Method = "paired effect sizes"
	res.N, res.NUsed = len(differences), len(differences)
	for _, d := range differences {
		switch {
		case d > 0:
			res.Positive++
		case d < 0:
			res.Negative++
		default:
			res.Zero++
		}
	}
	if res.N == 0 {
		res.warn(TooFew, "no differences: all effect sizes are undefined")
		return res, nil
	}
	mean := Mean(differences)
	res.Mean = ptr(mean)
	if res.Positive+res.Negative == 0 {
		res.warn(AllZero, "all %s are zero: the rank-biserial correlation is undefined", plural(res.N, "difference"))
	}
	if res.N < 2 {
		res.warn(TooFew, "1 difference: a standard deviation needs at least 2")
		return res, nil
	}
	sd := StdDev(differences)
	if sd <= roundingNoise*largestSize(differences) {
		res.SD = ptr(0)
		res.warn(NoVariance, "the differences do not vary: a standardised effect is undefined")
		return res, nil
	}
	res.SD = ptr(sd)
	dz := mean / sd
	res.Dz = ptr(dz)
	if res.N < 3 {
		res.warn(TooFew, "2 differences: Hedges' correction needs at least 3")
		return res, nil
	}
	res.HedgesG = ptr(dz * hedges(float64(res.N-1)))
	return res, nil
}

// hedges is the factor that makes a standardised mean difference unbiased, for
// df > 1 degrees of freedom.
func hedges(df float64) float64 {
	a, _ := math.Lgamma(df / 2)
	b, _ := math.Lgamma((df - 1) / 2)
	return math.Exp(a-b) / math.Sqrt(df/2)
}
