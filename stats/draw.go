package stats

import (
	"math/bits"
	"math/rand/v2"
)

// Streams of random numbers: each use has its own, so that a new use never
// shifts an old one.
const (
	streamFlips     = 0x666c697073 // "flips"
	streamBootstrap = 0x626f6f74   // "boot"
	streamStudies   = 0x73747564   // "stud"
)

// below returns a uniform integer in 0..n-1. It is drawn from the raw 64 bits
// (multiply, reject the few that would bias it), so that no release of the
// standard library can change what a seed gives.
func below(gen *rand.PCG, n int) int {
	bound := uint64(n)
	hi, lo := bits.Mul64(gen.Uint64(), bound)
	if lo < bound {
		for lo < -bound%bound {
			hi, lo = bits.Mul64(gen.Uint64(), bound)
		}
	}
	return int(hi)
}

// Resamples returns the resamples that a bootstrap of n units with this seed
// uses: draws lists of n unit indices each. It is there so that others can
// recompute an interval.
func Resamples(n, draws int, seed uint64) [][]int {
	gen := rand.NewPCG(seed, streamBootstrap)
	all := make([][]int, draws)
	for b := range all {
		all[b] = make([]int, n)
		resample(gen, all[b])
	}
	return all
}

// resample fills indices with a draw with replacement.
func resample(gen *rand.PCG, indices []int) {
	for i := range indices {
		indices[i] = below(gen, len(indices))
	}
}
