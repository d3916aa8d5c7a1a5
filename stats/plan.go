package stats

import "math"

// DesignSD is the standard deviation of a unit's paired difference, taken
// apart, for [PairedDesign].
type DesignSD struct {
	Basis
	// Between is the variance of the units' true differences: what more
	// episodes cannot reduce.
	Between float64 `json:"between"`
	// Within is the variance that one episode in each condition adds; a unit
	// averages it over its episodes.
	Within   float64 `json:"within"`
	Episodes int     `json:"episodes"`
	// SD is sqrt(Between + Within/Episodes).
	SD float64 `json:"sd"`
}

// AssumedRates describes two conditions before any run: yes/no outcomes (say,
// success) whose chance differs from unit to unit.
type AssumedRates struct {
	RateA, RateB float64 // mean chances, from 0 to 1
	// ICC is the share of an outcome's variance that lies between units, from 0
	// (every seed is alike) to 1 (a seed always ends the same way).
	ICC float64
	// Correlation, from -1 to 1, is that of a unit's two chances: seeds that
	// are hard in one condition are hard in the other.
	Correlation float64
	Episodes    int // per unit and condition, at least 1
}

// DesignSD returns the standard deviation that these assumptions imply: an
// outcome of mean p has variance p(1-p), of which ICC lies between units.
// Errors: *InputError.
func (a AssumedRates) DesignSD() (DesignSD, error) {
	for _, f := range []struct {
		name            string
		value, low, top float64
	}{
		{"rate a", a.RateA, 0, 1}, {"rate b", a.RateB, 0, 1},
		{"icc", a.ICC, 0, 1}, {"correlation", a.Correlation, -1, 1},
	} {
		if !(f.value >= f.low && f.value <= f.top) {
			return DesignSD{}, badArg(f.name, "is %v; a number from %v to %v is needed", f.value, f.low, f.top)
		}
	}
	if a.Episodes < 1 {
		return DesignSD{}, badArg("episodes", "is %d; at least 1 is needed", a.Episodes)
	}
	va, vb := a.RateA*(1-a.RateA), a.RateB*(1-a.RateB)
	d := DesignSD{
		Between:  a.ICC * math.Max(0, va+vb-2*a.Correlation*math.Sqrt(va*vb)),
		Within:   (1 - a.ICC) * (va + vb),
		Episodes: a.Episodes,
	}
	d.Method = "standard deviation from assumed rates"
	d.finish()
	return d, nil
}

// ObservedSD takes the differences of a run apart, whose units averaged
// episodes values in each condition, with the given variances within units
// (ClusterResult.Within of each condition), and projects their standard
// deviation to another number of episodes. Errors: *InputError.
func ObservedSD(differences []float64, episodes int, withinA, withinB float64, newEpisodes int) (DesignSD, error) {
	if err := checkFinite("differences", differences); err != nil {
		return DesignSD{}, err
	}
	if len(differences) < 2 {
		return DesignSD{}, badArg("differences", "%s; a standard deviation needs at least 2", plural(len(differences), "value"))
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"within a", withinA}, {"within b", withinB}} {
		if !(f.value >= 0) || math.IsInf(f.value, 0) {
			return DesignSD{}, badArg(f.name, "is %v; a variance is needed", f.value)
		}
	}
	if episodes < 1 || newEpisodes < 1 {
		return DesignSD{}, badArg("episodes", "are %d and %d; at least 1 is needed", episodes, newEpisodes)
	}
	sd := StdDev(differences)
	within := withinA + withinB
	d := DesignSD{Between: sd*sd - within/float64(episodes), Within: within, Episodes: newEpisodes}
	d.Method = "standard deviation from a run"
	d.N, d.NUsed = len(differences), len(differences)
	if d.Between < 0 {
		d.warn(NegativeVar, "the units' true differences have an estimated variance of %.3g, below zero, taken as 0", d.Between)
		d.Between = 0
	}
	d.finish()
	return d, nil
}

func (d *DesignSD) finish() {
	d.SD = math.Sqrt(d.Between + d.Within/float64(d.Episodes))
	if d.SD == 0 {
		d.warn(NoVariance, "nothing varies: a power calculation is undefined")
	}
}
