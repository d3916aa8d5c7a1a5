package stats

import "math"

// CeilingResult is what unreliable measures leave of a correlation.
type CeilingResult struct {
	Basis
	// Ceiling is the largest correlation that two measures of these
	// reliabilities can show, if what they measure is perfectly correlated:
	// sqrt(reliability x · reliability y). It is nil where one of them is not
	// known, or is estimated at or below 0.
	Ceiling *float64 `json:"ceiling"`
	// Observed is the correlation given, and Corrected is Observed/Ceiling: an
	// estimate of the correlation of what is measured (Spearman 1904). It can
	// lie outside [-1, 1] by sampling error, with a warning.
	Observed  *float64 `json:"observed"`
	Corrected *float64 `json:"corrected"`
}

// Attenuation returns the ceiling that the reliabilities of two measures (each
// an ICCMean of [Clusters], for example) put on their correlation. Figure 9
// shows it: a per-seed success rate over five episodes is a noisy measure, and
// a correlation near 0 means little when it could not have been above 0.5.
// observed may be nil. A reliability that is nil leaves the ceiling undefined,
// and so does one at or below 0, which an estimate can be: it says that these
// data cannot tell how reliable the measure is, not that nothing could
// correlate. Errors: *InputError for a reliability above 1 or a correlation
// outside [-1, 1].
func Attenuation(reliabilityX, reliabilityY, observed *float64) (CeilingResult, error) {
	res := CeilingResult{Observed: observed}
	res.Method = "attenuation by unreliability"
	res.N = 2
	product := 1.0
	for _, m := range []struct {
		name  string
		value *float64
	}{{"reliability of x", reliabilityX}, {"reliability of y", reliabilityY}} {
		switch {
		case m.value == nil:
			res.warn(TooFew, "the %s is undefined, and with it the ceiling", m.name)
			continue
		case math.IsNaN(*m.value) || math.IsInf(*m.value, 0) || *m.value > 1:
			return CeilingResult{}, badArg(m.name, "is %v; a number up to 1 is needed", *m.value)
		case *m.value <= 0:
			res.warn(NegativeVar, "the %s is estimated at %.3g, at or below 0: a ceiling cannot be estimated", m.name, *m.value)
			continue
		}
		res.NUsed++
		product *= *m.value
	}
	if observed != nil && !(math.Abs(*observed) <= 1) {
		return CeilingResult{}, badArg("observed", "is %v; a correlation from -1 to 1 is needed", *observed)
	}
	if res.NUsed < 2 {
		return res, nil
	}
	ceiling := math.Sqrt(product)
	res.Ceiling = ptr(ceiling)
	if observed != nil {
		res.Corrected = ptr(*observed / ceiling)
		if math.Abs(*res.Corrected) > 1 {
			res.warn(OutsideRange, "the corrected correlation lies outside -1 to 1, which only sampling error or too low a reliability can do")
		}
	}
	return res, nil
}

// SpearmanBrown returns the reliability of a mean over times as many values,
// from that of one: what ten episodes a seed instead of five would give is
// SpearmanBrown(r, 2). Errors: *InputError for a reliability outside (-1, 1] or
// times that is not positive.
func SpearmanBrown(reliability, times float64) (float64, error) {
	if !(reliability > -1 && reliability <= 1) {
		return 0, badArg("reliability", "is %v; a number above -1 and up to 1 is needed", reliability)
	}
	if !(times > 0) || math.IsInf(times, 0) {
		return 0, badArg("times", "is %v; a positive number is needed", times)
	}
	den := 1 + (times-1)*reliability
	if den <= 0 {
		return 0, badArg("reliability", "%v cannot be stretched %v times: no measure has it", reliability, times)
	}
	return times * reliability / den, nil
}
