package stats

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"
)

// SimulatedPower returns the chance that the exact sign-flip test at alpha (0
// means 0.05) finds the difference of the two rates with this many units, by
// drawing whole studies: a unit's chances from beta distributions with the given
// means and ICC, joined by a Gaussian copula with the given correlation (chances
// near 0 or 1 then correlate less), and its episodes from its chances. It is a
// check of PairedDesign, whose power is the t test's: with few distinct values the
// exact test finds less. The Warning has its standard error. The same seed gives the same
// studies. Errors: *InputError.
func (a AssumedRates) SimulatedPower(units int, alpha float64, studies int, seed uint64) (PowerResult, error) {
	sd, err := a.DesignSD()
	if err != nil {
		return PowerResult{}, err
	}
	if alpha, err = orDefault("alpha", alpha, 0.05); err != nil {
		return PowerResult{}, err
	}
	if units < 1 || studies < 1 {
		return PowerResult{}, badArg("studies", "of %s, %d times: at least one of each is needed", plural(units, "unit"), studies)
	}
	gen := rand.NewPCG(seed, streamStudies)
	differences := make([]float64, units)
	found := 0
	for range studies {
		for i := range differences {
			differences[i] = a.draw(gen)
		}
		res, err := SignFlip(differences, SignFlipOptions{Seed: seed})
		if err != nil {
			return PowerResult{}, err
		}
		if *res.P <= alpha {
			found++
		}
	}
	power := float64(found) / float64(studies)
	r := PowerResult{Units: units, SD: sd.SD, Alpha: alpha, Difference: a.RateA - a.RateB, Power: power}
	r.N, r.NUsed = units, units
	r.Method = fmt.Sprintf("exact sign-flip test on %d simulated studies, seed %d", studies, seed)
	r.warn(MonteCarlo, "estimated from %d simulated studies; its standard error is %.2g", studies, math.Sqrt(power*(1-power)/float64(studies)))
	return r, nil
}

// draw returns the difference of one unit's two rates. Episodes are counted in
// whole numbers first, so that equal differences are equal.
func (a AssumedRates) draw(gen *rand.PCG) float64 {
	z := normalQuantile(uniform(gen))
	other := a.Correlation*z + math.Sqrt(1-a.Correlation*a.Correlation)*normalQuantile(uniform(gen))
	chanceA, chanceB := chance(a.RateA, a.ICC, normalTail(-z)), chance(a.RateB, a.ICC, normalTail(-other))
	hits := 0
	for range a.Episodes {
		if uniform(gen) < chanceA {
			hits++
		}
		if uniform(gen) < chanceB {
			hits--
		}
	}
	return float64(hits) / float64(a.Episodes)
}

// chance is the quantile u of a unit's chance: of a beta distribution whose
// variance is the share icc of what a yes/no outcome of this rate has.
func chance(rate, icc, u float64) float64 {
	switch {
	case rate <= 0 || rate >= 1 || icc <= 0:
		return rate
	case icc >= 1:
		if u < 1-rate {
			return 0
		}
		return 1
	}
	total := 1/icc - 1
	return mathext.InvRegIncBeta(rate*total, (1-rate)*total, u)
}

// uniform returns a number inside (0, 1).
func uniform(gen *rand.PCG) float64 {
	return (float64(gen.Uint64()>>12) + 0.5) / (1 << 52)
}
