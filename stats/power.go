package stats

import (
	"math"
)

// A PairedDesign is a comparison of two conditions on the same units, before
// or after it was run. Power is that of the paired t test, by the noncentral t
// distribution; the sign-flip and Wilcoxon tests come close to it from about
// 10 units on, and have none at all where they cannot reach Alpha (see
// [SmallestP]), which is a Warning.
type PairedDesign struct {
	Units       int         // pairs; at least 2
	SD          float64     // standard deviation of a unit's difference, > 0
	Alpha       float64     // 0 means 0.05
	Alternative Alternative // of the test of a difference
	Range       float64     // of a unit's difference, for equivalence: see [EquivalenceOptions]; 0 leaves it open
}

// PowerResult is one question to a design, answered.
type PowerResult struct {
	Basis
	Units      int     `json:"units"`
	SD         float64 `json:"sd"`
	Alpha      float64 `json:"alpha"`
	Difference float64 `json:"difference"` // the true mean difference
	Margin     float64 `json:"margin"`     // of equivalence, 0 for a test of a difference
	Power      float64 `json:"power"`      // chance that the test is significant
}

// maxUnits bounds the search for a design.
const maxUnits = 10_000_000

// Power returns the chance that the test finds a true mean difference. Errors:
// *InputError.
func (d PairedDesign) Power(difference float64) (PowerResult, error) {
	d, err := d.checked(true)
	if err != nil {
		return PowerResult{}, err
	}
	if err := checkScalar("difference", difference); err != nil {
		return PowerResult{}, err
	}
	return d.result(difference, 0, d.power(difference)), nil
}

// SmallestDifference returns the difference (positive; negative for Less) that
// the design finds with the given power; power 0 means 0.8. Errors: *InputError.
func (d PairedDesign) SmallestDifference(power float64) (PowerResult, error) {
	d, err := d.checked(true)
	if err != nil {
		return PowerResult{}, err
	}
	if power, err = d.wantedPower(power); err != nil {
		return PowerResult{}, err
	}
	sign := 1.0
	if d.Alternative == Less {
		sign = -1
	}
	high := d.SD
	for d.power(sign*high) < power {
		high *= 2
	}
	found := sign * bisect(0, high, func(x float64) bool { return d.power(sign*x) >= power })
	return d.result(found, 0, d.power(found)), nil
}

// UnitsNeeded returns the fewest units with which the test finds the
// difference with the given power (0 means 0.8), and with which the exact
// tests can reach Alpha at all. The receiver's Units are not used. Errors:
// *InputError, also for a difference of 0 or one in the direction that the
// alternative does not look for, and when ten million units are not enough.
func (d PairedDesign) UnitsNeeded(difference, power float64) (PowerResult, error) {
	d, err := d.checked(false)
	if err != nil {
		return PowerResult{}, err
	}
	if power, err = d.wantedPower(power); err != nil {
		return PowerResult{}, err
	}
	if err := checkScalar("difference", difference); err != nil {
		return PowerResult{}, err
	}
	if difference == 0 || d.Alternative == Greater && difference < 0 || d.Alternative == Less && difference > 0 {
		return PowerResult{}, badArg("difference", "is %v; the test (%s) never finds it, however many units there are", difference, d.Alternative)
	}
	enough := func(n int) bool { return d.with(n).power(difference) >= power }
	n, ok := fewest(enough)
	if !ok {
		return PowerResult{}, badArg("difference", "%v needs more than %d units at a standard deviation of %v", difference, maxUnits, d.SD)
	}
	least, err := UnitsToReach(d.Alpha, d.Alternative)
	if err != nil {
		return PowerResult{}, err
	}
	raised := least > n
	d.Units = max(n, least)
	res := d.result(difference, 0, d.power(difference))
	if raised {
		res.warn(CannotReach, "%s would do for a t test, but exact tests cannot reach %g with fewer than %d", plural(n, "unit"), d.Alpha, least)
	}
	return res, nil
}

// EquivalencePower returns the chance that two one-sided t tests at Alpha show
// equivalence within ±margin (0 means 0.10) when the true mean difference is
// the given one. The alternative is not used. Errors: *InputError.
func (d PairedDesign) EquivalencePower(margin, difference float64) (PowerResult, error) {
	d, err := d.checked(true)
	if err != nil {
		return PowerResult{}, err
	}
	margin, err = d.checkEquivalence(margin, difference)
	if err != nil {
		return PowerResult{}, err
	}
	return d.equivalenceResult(margin, difference), nil
}

// EquivalenceUnitsNeeded returns the fewest units with which equivalence within
// ±margin (0 means 0.10) is shown with the given power (0 means 0.8) at a true
// difference inside the margins. The receiver's Units are not used. Errors:
// *InputError.
func (d PairedDesign) EquivalenceUnitsNeeded(margin, difference, power float64) (PowerResult, error) {
	d, err := d.checked(false)
	if err != nil {
		return PowerResult{}, err
	}
	if margin, err = d.checkEquivalence(margin, difference); err != nil {
		return PowerResult{}, err
	}
	if power, err = orDefault("power", power, 0.8); err != nil {
		return PowerResult{}, err
	}
	if math.Abs(difference) >= margin {
		return PowerResult{}, badArg("difference", "is %v; it must lie inside the margins ±%v to be shown equivalent", difference, margin)
	}
	n, ok := fewest(func(n int) bool {
		return d.with(n).shows(margin) && equivalencePower(n, d.SD, d.Alpha, margin, difference) >= power
	})
	if !ok {
		return PowerResult{}, badArg("margin", "%v needs more than %d units at a standard deviation of %v", margin, maxUnits, d.SD)
	}
	return d.with(n).equivalenceResult(margin, difference), nil
}

func (d PairedDesign) checked(units bool) (PairedDesign, error) {
	var err error
	if d.Alpha, err = orDefault("alpha", d.Alpha, 0.05); err != nil {
		return d, err
	}
	if d.Alternative, err = orTwoSided(d.Alternative); err != nil {
		return d, err
	}
	if !(d.SD > 0) || math.IsInf(d.SD, 0) {
		return d, badArg("sd", "is %v; a positive number is needed", d.SD)
	}
	if units && (d.Units < 2 || d.Units > maxUnits) {
		return d, badArg("units", "is %d; a number from 2 to %d is needed", d.Units, maxUnits)
	}
	return d, nil
}

func (d PairedDesign) wantedPower(power float64) (float64, error) {
	power, err := orDefault("power", power, 0.8)
	if err == nil && power <= d.Alpha {
		err = badArg("power", "is %v; it must be above alpha, %v, which a test has without any difference", power, d.Alpha)
	}
	return power, err
}

func (d PairedDesign) checkEquivalence(margin, difference float64) (float64, error) {
	margin, err := orMargin(margin)
	if err != nil {
		return 0, err
	}
	if d.Alpha >= 0.5 {
		return 0, badArg("alpha", "is %v; two one-sided tests need a level below 0.5", d.Alpha)
	}
	return margin, checkScalar("difference", difference)
}

func (d PairedDesign) with(units int) PairedDesign {
	d.Units = units
	return d
}

func (d PairedDesign) result(difference, margin, power float64) PowerResult {
	r := PowerResult{Units: d.Units, SD: d.SD, Alpha: d.Alpha, Difference: difference, Margin: margin, Power: power}
	r.N, r.NUsed = d.Units, d.Units
	r.Method = "noncentral t, paired t test, " + string(d.Alternative)
	if least := smallestP(d.Units, d.Alternative); least > d.Alpha {
		r.warn(CannotReach, "exact tests cannot reach %g with %s: their smallest p is %g, so their power is 0", d.Alpha, plural(d.Units, "unit"), least)
	}
	return r
}

func (d PairedDesign) equivalenceResult(margin, difference float64) PowerResult {
	r := d.result(difference, margin, equivalencePower(d.Units, d.SD, d.Alpha, margin, difference))
	r.Method = "two one-sided paired t tests, bivariate noncentral t"
	r.Warnings = nil
	if !d.shows(margin) {
		r.Power = 0
		r.warn(CannotReach, "%s cannot show that less than %g is hidden", plural(d.Units, "unit"), margin)
	} else if least := smallestP(d.Units, Greater); least > d.Alpha {
		r.warn(CannotReach, "exact tests cannot reach %g with %s: their smallest p is %g, so their power is 0", d.Alpha, plural(d.Units, "unit"), least)
	}
	return r
}

// shows reports whether the units are enough for what they could hide to lie
// within a margin.
func (d PairedDesign) shows(margin float64) bool {
	return d.Range == 0 || math.Pow(math.Max(0, 1-margin/d.Range), float64(d.Units)) <= d.Alpha
}

// power is that of the paired t test.
func (d PairedDesign) power(difference float64) float64 {
	df := float64(d.Units - 1)
	nc := difference / d.SD * math.Sqrt(float64(d.Units))
	switch d.Alternative {
	case Greater:
		return noncentralTail(criticalT(d.Alpha, df), df, nc)
	case Less:
		return noncentralTail(criticalT(d.Alpha, df), df, -nc)
	}
	t := studentQuantile(d.Alpha/2, df)
	return math.Min(1, noncentralTail(t, df, nc)+noncentralTail(t, df, -nc))
}

// criticalT returns t with P(T > t) = alpha, negative above one half.
func criticalT(alpha, df float64) float64 {
	if alpha > 0.5 {
		return -studentQuantile(1-alpha, df)
	}
	return studentQuantile(alpha, df)
}

// equivalencePower integrates over the sample's standard deviation the chance
// that its mean falls so far inside the margins that both t tests reject.
func equivalencePower(units int, sd, alpha, margin, difference float64) float64 {
	df := float64(units - 1)
	t := studentQuantile(alpha, df)
	root := math.Sqrt(float64(units)) / sd
	upper, lower := (margin-difference)*root, (margin+difference)*root
	// Both reject while the scaled standard deviation stays below this.
	end := margin * root / t
	return overScale(df, kink{at: math.Min(upper, lower) / t, width: 1 / t}, end, func(scale float64) float64 {
		return normalBetween(t*scale-lower, upper-t*scale)
	})
}

// fewest returns the smallest number of units, from 2 to maxUnits, that is
// enough; power grows with units.
func fewest(enough func(int) bool) (int, bool) {
	low, high := 1, 2
	for !enough(high) {
		if high == maxUnits {
			return 0, false
		}
		low, high = high, min(2*high, maxUnits)
	}
	for high-low > 1 {
		mid := low + (high-low)/2
		if enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high, true
}
