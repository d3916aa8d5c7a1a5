// Package instance turns a seed into a lake and its changes under one of the
// three regimes (paper, sections 3.1, 3.4 and appendix A). Every random choice
// comes from a stream keyed by the seed and a purpose, so that a new use never
// shifts an old one and the same seed gives the same instance on any machine.
//
// It is the second stage of the data flow, after lake. It refuses to know of
// memories, observations or models: an instance is drawn before any of them.
package instance

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// A Rand is a stream of random draws: PCG-DXSM (PCG of math/rand/v2) with
// bounded draws of our own, so that no release of Go can change what a seed
// gives. It is not safe for concurrent use.
type Rand struct{ pcg rand.PCG }

// NewRand returns the stream PCG(hi, lo).
func NewRand(hi, lo uint64) *Rand { return &Rand{*rand.NewPCG(hi, lo)} }

// Stream returns the stream of one seed and purpose: PCG keyed with the first
// two big-endian 64-bit words of the SHA-256 of "SEED/PURPOSE", as in
// "1734/grid".
func Stream(seed int, purpose string) *Rand {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s", seed, purpose))
	return NewRand(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16]))
}

// Uint64 returns the next 64 bits.
func (r *Rand) Uint64() uint64 { return r.pcg.Uint64() }

// IntN returns a uniform integer in 0..n-1; n must be positive. It is the high
// word of the 128-bit product of a draw with n, redrawn while the low word is
// below 2^64 mod n, which makes it exactly uniform.
func (r *Rand) IntN(n int) int {
	if n <= 0 {
		panic(fmt.Sprintf("instance: IntN(%d): the bound must be positive", n))
	}
	bound := uint64(n)
	hi, lo := bits.Mul64(r.Uint64(), bound)
	if lo < bound {
		for least := -bound % bound; lo < least; {
			hi, lo = bits.Mul64(r.Uint64(), bound)
		}
	}
	return int(hi)
}

// Between returns a uniform integer in lo..hi, both included.
func (r *Rand) Between(lo, hi int) int { return lo + r.IntN(hi-lo+1) }

// Chance returns true with probability p, to 53 bits.
func (r *Rand) Chance(p float64) bool {
	return float64(r.Uint64()>>11) < p*(1<<53)
}

// Mask returns 64 independent bits, each set with probability p in [0,1] to 53
// bits. It walks p's binary digits from the last set one up, with one draw a
// digit: two draws for 64 cells at the paper's 0.25.
func (r *Rand) Mask(p float64) uint64 {
	digits := uint64(p * (1 << 53))
	if digits >= 1<<53 {
		return ^uint64(0)
	}
	if digits == 0 {
		return 0
	}
	mask := uint64(0)
	for i := bits.TrailingZeros64(digits); i < 53; i++ {
		if digits>>uint(i)&1 != 0 {
			mask |= r.Uint64()
		} else {
			mask &= r.Uint64()
		}
	}
	return mask
}

// MasterSeed is the paper's master seed.
const MasterSeed = 2024

// MaxSeeds is how many seeds there are: the integers 0..9999.
const MaxSeeds = 10_000

// Seeds returns the study's first n seeds: distinct integers in 0..9999, drawn
// from PCG(2024, 0) with repeated ones left out. The paper's study uses 50. It
// panics when n is not within 0..MaxSeeds.
func Seeds(n int) []int {
	if n < 0 || n > MaxSeeds {
		panic(fmt.Sprintf("instance: Seeds(%d): there are 0 to %d seeds", n, MaxSeeds))
	}
	r := NewRand(MasterSeed, 0)
	seen := make(map[int]bool, n)
	seeds := make([]int, 0, n)
	for len(seeds) < n {
		if s := r.IntN(MaxSeeds); !seen[s] {
			seen[s] = true
			seeds = append(seeds, s)
		}
	}
	return seeds
}
