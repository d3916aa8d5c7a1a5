package stats

import (
	"math"
)

// A ZeroMethod says what Wilcoxon's test does with differences of zero.
type ZeroMethod string

// The zero methods, spelled as in SciPy.
const (
	// ZerosWilcox leaves zeros out before ranking (Wilcoxon 1945). Default.
	ZerosWilcox ZeroMethod = "wilcox"
	// ZerosPratt ranks zeros with the others, then leaves their ranks out
	// (Pratt 1959), so that many zeros weaken the evidence of the rest less.
	ZerosPratt ZeroMethod = "pratt"
	// ZerosSplit ranks zeros with the others and gives half of their ranks to
	// each side.
	ZerosSplit ZeroMethod = "zsplit"
)

// A WilcoxonMethod says where the p-value comes from.
type WilcoxonMethod string

// The methods.
const (
	// WilcoxonAuto is exact up to 50 non-zero differences, normal beyond.
	WilcoxonAuto WilcoxonMethod = "auto"
	// WilcoxonExact is exact, given the observed ranks with their ties, for up
	// to 500 non-zero differences.
	WilcoxonExact WilcoxonMethod = "exact"
	// WilcoxonNormal is the normal approximation with the tie correction.
	WilcoxonNormal WilcoxonMethod = "normal"
)

const (
	autoExactRanks = 50
	maxExactRanks  = 500
)

// WilcoxonOptions are the choices of [Wilcoxon]. The zero value is SciPy's
// default test: two-sided, zeros left out, no continuity correction.
type WilcoxonOptions struct {
	Alternative Alternative
	Zeros       ZeroMethod     // "" means ZerosWilcox
	Method      WilcoxonMethod // "" means WilcoxonAuto
	// Continuity moves W half a rank towards its mean in the normal
	// approximation; the exact test needs no correction.
	Continuity bool
}

// WilcoxonResult is the outcome of [Wilcoxon].
type WilcoxonResult struct {
	Basis
	Alternative Alternative `json:"alternative"`
	Zeros       ZeroMethod  `json:"zero_method"`
	// WPlus and WMinus are the rank sums of the positive and of the negative
	// differences; with ZerosSplit each includes half of the zeros' ranks.
	WPlus  float64 `json:"w_plus"`
	WMinus float64 `json:"w_minus"`
	// Statistic is what SciPy calls so: the smaller rank sum for two sides,
	// WPlus for one.
	Statistic float64 `json:"statistic"`
	// Z is the standardised WPlus of the normal approximation, nil for the
	// exact test. (SciPy gives -|z| for two sides.)
	Z *float64 `json:"z"`
	// P is the p-value, nil where the approximation has no variance.
	P *float64 `json:"p"`
	// SmallestP is the smallest p-value that NUsed differences can give with
	// any signs in the exact test.
	SmallestP *float64 `json:"smallest_p"`
	// RankBiserial is the matched-pairs rank-biserial correlation: the share
	// of rank sum on the positive side minus that on the negative one, in
	// [-1, 1]; nil when all differences are zero.
	RankBiserial *float64 `json:"rank_biserial"`
	// ZeroCount and TiedCount are the zero differences and those of the others
	// that share their size.
	ZeroCount int `json:"zero_count"`
	TiedCount int `json:"tied_count"`
}

// Wilcoxon is the signed-rank test on paired differences, the paper's test. Up
// to 50 non-zero differences it is exact conditional on the observed ranks,
// mid-ranks of ties included: every pattern of signs on them is equally
// likely. With ZerosSplit the zeros' halves are constants, so its exact
// p-value is ZerosPratt's. Errors: *InputError.
func Wilcoxon(differences []float64, opt WilcoxonOptions) (WilcoxonResult, error) {
	opt, err := opt.checked()
	if err != nil {
		return WilcoxonResult{}, err
	}
	if err := checkFinite("differences", differences); err != nil {
		return WilcoxonResult{}, err
	}
	res := WilcoxonResult{Alternative: opt.Alternative, Zeros: opt.Zeros}
	res.N = len(differences)
	res.Method = "Wilcoxon signed-rank test, zeros by " + string(opt.Zeros)
	if res.N == 0 {
		res.warn(TooFew, "no differences: the test is undefined")
		return res, nil
	}
	signed := rankSigned(differences, opt.Zeros)
	res.WPlus, res.WMinus = signed.plus, signed.minus
	res.Statistic = signed.plus
	if opt.Alternative == TwoSided {
		res.Statistic = math.Min(signed.plus, signed.minus)
	}
	res.NUsed = len(signed.moving)
	res.ZeroCount = signed.zeros
	res.TiedCount = signed.tiedMoving
	res.SmallestP = ptr(smallestP(res.NUsed, opt.Alternative))
	res.describe(signed)

	exact := opt.Method == WilcoxonExact || opt.Method == WilcoxonAuto && res.NUsed <= autoExactRanks
	switch {
	case exact && res.NUsed > maxExactRanks:
		return WilcoxonResult{}, badArg("method", "exact is offered up to %d non-zero differences, and there are %d; ask for auto or normal",
			maxExactRanks, res.NUsed)
	case exact:
		res.exact(signed)
	default:
		res.normal(signed, opt.Continuity)
	}
	return res, nil
}

func (o WilcoxonOptions) checked() (WilcoxonOptions, error) {
	alt, err := orTwoSided(o.Alternative)
	if err != nil {
		return o, err
	}
	o.Alternative = alt
	switch o.Zeros {
	case "":
		o.Zeros = ZerosWilcox
	case ZerosWilcox, ZerosPratt, ZerosSplit:
	default:
		return o, badArg("zeros", "is %q; %q, %q or %q is needed", o.Zeros, ZerosWilcox, ZerosPratt, ZerosSplit)
	}
	switch o.Method {
	case "":
		o.Method = WilcoxonAuto
	case WilcoxonAuto, WilcoxonExact, WilcoxonNormal:
	default:
		return o, badArg("method", "is %q; %q, %q or %q is needed", o.Method, WilcoxonAuto, WilcoxonExact, WilcoxonNormal)
	}
	return o, nil
}

// signedRanks is the ranked differences, split by sign.
type signedRanks struct {
	plus, minus float64   // rank sums, with the zeros' halves for ZerosSplit
	moving      []float64 // ranks of the non-zero differences
	movingMinus float64   // rank sum of the negative ones alone
	zeros       int
	tiedMoving  int     // non-zero differences that share their size
	mean        float64 // of WPlus under the null hypothesis
	variance    float64
	ranking     ranking
}

func rankSigned(differences []float64, zeros ZeroMethod) signedRanks {
	var s signedRanks
	kept := make([]float64, 0, len(differences))
	for _, d := range differences {
		if d == 0 {
			s.zeros++
			if zeros == ZerosWilcox {
				continue
			}
		}
		kept = append(kept, d)
	}
	sizes := make([]float64, len(kept))
	for i, d := range kept {
		sizes[i] = math.Abs(d)
	}
	s.ranking = rank(sizes)
	zeroRanks := 0.0
	for i, d := range kept {
		r := s.ranking.ranks[i]
		switch {
		case d > 0:
			s.plus += r
		case d < 0:
			s.minus += r
			s.movingMinus += r
		default:
			zeroRanks += r
			continue
		}
		s.moving = append(s.moving, r)
	}
	if zeros == ZerosSplit {
		s.plus += zeroRanks / 2
		s.minus += zeroRanks / 2
	}
	s.moments(zeros, float64(len(kept)))
	return s
}

// moments sets mean and variance of WPlus for the normal approximation, with
// the tie correction, as SciPy has them: Pratt's take the zeros' ranks out
// (Cureton 1967), zsplit's count the zeros as one more group of ties.
func (s *signedRanks) moments(zeros ZeroMethod, n float64) {
	s.tiedMoving = s.ranking.tied()
	ties := s.ranking.tieSum()
	s.mean = n * (n + 1) / 4
	sum := n * (n + 1) * (2*n + 1)
	if z := float64(s.zeros); zeros != ZerosWilcox && z > 0 {
		if s.zeros > 1 {
			s.tiedMoving -= s.zeros
		}
		if zeros == ZerosPratt {
			s.mean -= z * (z + 1) / 4
			sum -= z * (z + 1) * (2*z + 1)
			ties -= z*z*z - z
		}
	}
	s.variance = (sum - ties/2) / 24
}

// describe sets the effect size and the warnings that any method shares.
func (r *WilcoxonResult) describe(s signedRanks) {
	if total := s.plus + s.minus; r.NUsed > 0 {
		r.RankBiserial = ptr((s.plus - s.minus) / total)
	}
	if r.NUsed == 0 {
		r.warn(AllZero, "all %s are zero: the data hold no evidence either way", plural(r.N, "difference"))
	} else if s.zeros > 0 {
		r.warn(ZerosDropped, "%s of zero among %d, handled by %s", plural(s.zeros, "difference"), r.N, r.Zeros)
	}
	if s.tiedMoving > 0 {
		r.warn(Ties, "%d non-zero differences share their size with another and got mid-ranks", s.tiedMoving)
	}
	s.ranking.warnNear(&r.Basis)
}

// exact computes the tail of the signed-rank sum over all patterns of signs.
// Ranks are doubled to make mid-ranks whole.
func (r *WilcoxonResult) exact(s signedRanks) {
	r.Method += ", exact"
	doubled := make([]int, len(s.moving))
	total := 0
	for i, rank := range s.moving {
		doubled[i] = int(math.Round(2 * rank))
		total += doubled[i]
	}
	minus := int(math.Round(2 * s.movingMinus))
	tail := sidedTail(r.Alternative, float64(total-minus), float64(minus), func(t float64) flipTail {
		p := latticeTail(doubled, int(t))
		return flipTail{Low: p, High: p, Exact: true}
	})
	r.P = ptr(tail.High)
}

// normal computes the approximation, with SciPy's continuity correction.
func (r *WilcoxonResult) normal(s signedRanks, continuity bool) {
	r.Method += ", normal approximation with tie correction"
	if continuity {
		r.Method += " and continuity correction"
	}
	if s.variance <= 0 {
		r.warn(NoVariance, "the rank sum has no variance: the normal approximation is undefined")
		return
	}
	if r.NUsed < 10 {
		r.warn(SmallSample, "the normal approximation is rough below 10 non-zero differences, and there are %d", r.NUsed)
	}
	se := math.Sqrt(s.variance)
	z := (s.plus - s.mean) / se
	if continuity {
		z -= continuitySign(z, r.Alternative) * 0.5 / se
	}
	r.Z = ptr(z)
	switch r.Alternative {
	case Greater:
		r.P = ptr(normalTail(z))
	case Less:
		r.P = ptr(normalTail(-z))
	default:
		r.P = ptr(2 * normalTail(math.Abs(z)))
	}
}

func continuitySign(z float64, alt Alternative) float64 {
	switch {
	case alt == Greater, alt == TwoSided && z > 0:
		return 1
	case alt == Less, alt == TwoSided && z < 0:
		return -1
	}
	return 0
}
