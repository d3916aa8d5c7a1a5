package stats

import (
	"fmt"
	"math"
)

// ClusterResult splits the variance of values that come in clusters (episodes
// of one seed) into what differs between clusters and what within.
type ClusterResult struct {
	Basis
	Values int `json:"values"` // all values together
	// Mean is over all values.
	Mean *float64 `json:"mean"`
	// Within is the pooled variance inside clusters, in squared units of the
	// data: what a repeated episode of the same seed varies by. nil when no
	// cluster has two values.
	Within *float64 `json:"within"`
	// Between is the variance of the clusters' true means: the part of the
	// variance between clusters that Within does not explain. An estimate
	// below zero is given as 0, with a warning.
	Between *float64 `json:"between"`
	// MeanSquareBetween is the analysis of variance's; the one within clusters
	// is Within.
	MeanSquareBetween *float64 `json:"mean_square_between"`
	// ICC1 is the intraclass correlation ICC(1) (Shrout and Fleiss 1979): the
	// reliability of one value. It can be negative.
	ICC1 *float64 `json:"icc1"`
	// ICCMean is ICC(1,k): the reliability of a cluster's mean over
	// ClusterSize values.
	ICCMean *float64 `json:"icc_mean"`
	// ClusterSize is the size k used by the two: the common one, or for
	// unequal sizes the usual (N-Σk²/N)/(clusters-1).
	ClusterSize *float64 `json:"cluster_size"`
	// DesignEffect is 1+(k-1)·ICC1: how many times more variance the mean has
	// than if all values were independent.
	DesignEffect *float64 `json:"design_effect"`
}

// Clusters does a one-way random-effects analysis of variance. Empty clusters
// are counted in N, not in NUsed. Errors: *InputError.
func Clusters(clusters [][]float64) (ClusterResult, error) {
	var res ClusterResult
	res.Method = "one-way random-effects analysis of variance"
	res.N = len(clusters)
	var all []float64
	var kept [][]float64
	squares := 0.0
	equal := true
	for i, c := range clusters {
		if err := checkFinite(fmt.Sprintf("clusters[%d]", i), c); err != nil {
			return ClusterResult{}, err
		}
		if len(c) == 0 {
			continue
		}
		kept = append(kept, c)
		all = append(all, c...)
		squares += float64(len(c) * len(c))
		equal = equal && len(c) == len(kept[0])
	}
	res.NUsed, res.Values = len(kept), len(all)
	if len(all) == 0 {
		res.warn(TooFew, "no values: everything is undefined")
		return res, nil
	}
	grand := Mean(all)
	res.Mean = ptr(grand)
	if !equal {
		res.warn(UnequalSizes, "clusters differ in size: variance components are weighted")
	}

	var between, within float64
	for _, c := range kept {
		mean := Mean(c)
		between += float64(len(c)) * (mean - grand) * (mean - grand)
		for _, v := range c {
			within += (v - mean) * (v - mean)
		}
	}
	noise := float64(len(all)) * math.Pow(roundingNoise*largestSize(all), 2)
	between, within = orZero(between, noise), orZero(within, noise)
	groups, total := float64(len(kept)), float64(len(all))
	if len(all) == len(kept) {
		res.warn(TooFew, "no cluster has two values: the variance within clusters is undefined")
		return res, nil
	}
	msw := within / (total - groups)
	res.Within = ptr(msw)
	if len(kept) < 2 {
		res.warn(TooFew, "1 cluster: the variance between clusters needs at least 2")
		return res, nil
	}
	msb := between / (groups - 1)
	k := (total - squares/total) / (groups - 1)
	res.MeanSquareBetween, res.ClusterSize = ptr(msb), ptr(k)
	component := (msb - msw) / k
	if component < 0 {
		res.warn(NegativeVar, "the variance between clusters is estimated at %.3g, below zero, and given as 0: clusters differ less than chance would have it", component)
	}
	res.Between = ptr(math.Max(0, component))
	res.reliability(msb, msw, k)
	return res, nil
}

func (r *ClusterResult) reliability(msb, msw, k float64) {
	if msb == 0 && msw == 0 {
		r.warn(Constant, "the values do not vary: the intraclass correlation is undefined")
		return
	}
	icc := (msb - msw) / (msb + (k-1)*msw)
	r.ICC1 = ptr(icc)
	r.DesignEffect = ptr(1 + (k-1)*icc)
	if msb == 0 {
		r.warn(Constant, "the clusters' means do not vary: their reliability is undefined")
		return
	}
	r.ICCMean = ptr((msb - msw) / msb)
}

// orZero returns 0 for a sum of squares that is rounding noise.
func orZero(x, noise float64) float64 {
	if x <= noise {
		return 0
	}
	return x
}
