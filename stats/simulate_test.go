package stats

import (
	"math"
	"testing"
)

// The t test's power is close to what the sign-flip test does on whole studies;
// without a difference it rejects no more often than it may, and with too few
// units never.
func TestSimulatedPower(t *testing.T) {
	const studies = 500
	for name, tt := range map[string]struct {
		rates AssumedRates
		units int
	}{
		"spread seeds": {AssumedRates{RateA: 0.6, RateB: 0.4, ICC: 0.3, Episodes: 5}, 50},
		"alike":        {AssumedRates{RateA: 0.85, RateB: 0.75, ICC: 0.1, Correlation: 0.5, Episodes: 10}, 30},
		"all or none":  {AssumedRates{RateA: 0.7, RateB: 0.5, ICC: 1, Episodes: 1}, 60},
		"chances only": {AssumedRates{RateA: 0.55, RateB: 0.4, ICC: 0, Episodes: 4}, 25},
	} {
		got, err := tt.rates.SimulatedPower(tt.units, 0, studies, 7)
		if err != nil {
			t.Fatal(err)
		}
		sd, err := tt.rates.DesignSD()
		if err != nil {
			t.Fatal(err)
		}
		want, err := PairedDesign{Units: tt.units, SD: sd.SD}.Power(tt.rates.RateA - tt.rates.RateB)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Power-want.Power) > 0.1 { // a discrete test is cautious
			t.Errorf("%s: simulated %.3f, by the t test %.3f", name, got.Power, want.Power)
		}
		if again, _ := tt.rates.SimulatedPower(tt.units, 0, studies, 7); again.Power != got.Power {
			t.Errorf("%s: the same seed gives %v and %v", name, got.Power, again.Power)
		}
		null := tt.rates
		null.RateB = null.RateA
		if got, _ := null.SimulatedPower(tt.units, 0, studies, 8); got.Power > 0.05+3*math.Sqrt(0.05*0.95/studies) {
			t.Errorf("%s: without a difference %.3f of studies find one", name, got.Power)
		}
	}
	few := AssumedRates{RateA: 1, RateB: 0, Episodes: 5}
	if got, err := few.SimulatedPower(5, 0.05, 10, 1); err != nil || got.Power != 0 {
		t.Errorf("5 units reach 0.05: %+v, %v", got, err)
	}
	if got, err := few.SimulatedPower(6, 0.05, 10, 1); err != nil || got.Power != 1 {
		t.Errorf("6 units do not find the largest difference: %+v, %v", got, err)
	}
	for _, bad := range []AssumedRates{{RateA: 2, Episodes: 1}, {Episodes: 0}} {
		if _, err := bad.SimulatedPower(10, 0, 10, 1); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if _, err := few.SimulatedPower(10, 0, 0, 1); err == nil {
		t.Error("no studies are accepted")
	}
}
