package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// Ours has the cluster bootstrap's interval over seeds, and the verdict says
// whether the published value lies in it.
func TestPublishedIntervals(t *testing.T) {
	var c Collector
	rates := []float64{0, 0.5, 0, 0, 0.5, 0, 0.5, 0}
	for seed, rate := range rates {
		for e := 1; e <= 2; e++ {
			outcome := record.Death
			if float64(e) <= 2*rate {
				outcome = record.Success
			}
			tr := episode("openai/gpt-4o", "no-filter", seed, e, outcome, 8, 0)
			tr.Regime = "L2"
			add(t, &c, tr)
		}
	}
	table := c.Published()
	got := cellOf(t, table, "interval", "success", "GPT-4o", "L2", "no-filter")
	boot := record.PlannedTests().Bootstrap
	want, err := stats.BootstrapMean(rates, stats.BootstrapOptions{Level: boot.Level, Draws: boot.Resamples, Seed: boot.Seed})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "low", got.Low, want.Interval.Low)
	near(t, "high", got.High, want.Interval.High)
	if got.Method != "BCa bootstrap" {
		t.Errorf("by %q", got.Method)
	}
	near(t, "difference", cellOf(t, table, "difference", "success", "GPT-4o", "L2", "no-filter").Value, stats.Mean(rates)-0.144)
	if v := cellOf(t, table, "agrees", "success", "GPT-4o", "L2", "no-filter"); v.Label != "yes" {
		t.Errorf("0.144 in [%v, %v]: %q", *got.Low, *got.High, v.Label)
	}
	// Nobody ran out of steps: the exact bound on an event never seen in 8 seeds.
	c = Collector{}
	for seed := range 8 {
		tr := episode("openai/gpt-4o", "no-memory", seed, 1, record.Death, 8, 0)
		tr.Regime = "L2"
		add(t, &c, tr)
	}
	never := cellOf(t, c.Published(), "interval", "timeout", "GPT-4o", "L2", "no-memory")
	near(t, "low of none", never.Low, 0)
	near(t, "high of none", never.High, 1-math.Pow(0.05, 1.0/8))
	if v := cellOf(t, c.Published(), "agrees", "timeout", "GPT-4o"); v.Label != "no" { // 0.312 against 0.32
		t.Errorf("0.32 in [0, %v]: %q", *never.High, v.Label)
	}
}

// A bound is kept or not, and the distance is that to the end that ours is
// beyond.
func TestPublishedBounds(t *testing.T) {
	const none = 9.0
	for _, tt := range []struct {
		f        figure
		ours     float64
		agrees   string
		distance float64
		interval Cell
	}{
		{figure{Relation: "above", Value: new(0.88)}, 0.9, "yes", 0, Cell{}},
		{figure{Relation: "above", Value: new(0.91)}, 0.9, "no", -0.01, Cell{}},
		{figure{Relation: "above", Value: new(0.9)}, 0.9, "no", 0, Cell{}},
		{figure{Relation: "below", Value: new(0.91)}, 0.9, "yes", 0, Cell{}},
		{figure{Relation: "below", Value: new(0.5)}, 0.9, "no", 0.4, Cell{}},
		{figure{Relation: "at most", Value: new(0.9)}, 0.9, "yes", 0, Cell{}},
		{figure{Relation: "at most", Value: new(0.02)}, 0.8 - 0.78, "yes", 0, Cell{}}, // 0.0200…02 in floats
		{figure{Relation: "up to", Value: new(0.7), High: new(0.8)}, 0.9, "no", 0.1, Cell{}},
		{figure{Relation: "up to", Value: new(0.7), High: new(0.8)}, 0.6, "no", -0.1, Cell{}},
		{figure{Relation: "up to", Value: new(0.7), High: new(0.8)}, 0.75, "yes", 0, Cell{}},
		{figure{Relation: "about", Value: new(0.85)}, 0.9, "", 0.05, Cell{}},
		{figure{Value: new(0.85)}, 0.9, "yes", 0.05, Cell{Low: new(0.84), High: new(0.95)}},
		{figure{Value: new(0.85)}, 0.9, "no", 0.05, Cell{Low: new(0.86), High: new(0.95)}},
		{figure{Value: new(0.85), Seed: 4810}, 0.9, "", 0.05, Cell{Low: new(0.84), High: new(0.95)}}, // another lake
		{figure{Text: "none"}, 0.9, "", none, Cell{}},
	} {
		o := ourSide{value: Cell{Value: &tt.ours}, interval: tt.interval}
		if got := tt.f.verdict(&o).Label; got != tt.agrees {
			t.Errorf("%+v and ours of %v: %q", tt.f, tt.ours, got)
		}
		got := tt.f.distance(&tt.ours)
		if tt.distance == none {
			tt.distance = undefined
		}
		near(t, fmt.Sprintf("%+v: the distance of %v", tt.f, tt.ours), got, tt.distance)
	}
	// A setting is the published one or is not.
	for ours, want := range map[float64]string{7: "yes", 7.3: "yes", 8: "no"} {
		f := figure{Measure: "batch-calls", Value: new(7.0)}
		if got := f.verdict(&ourSide{value: Cell{Value: &ours}, setting: true}).Label; got != want {
			t.Errorf("7 calls and ours of %v: %q", ours, got)
		}
	}
}

// namedRun invents a run of two of the paper's models with detections and
// episodes on twelve seeds, of which each trial is lost with a chance.
func namedRun(t *testing.T, lost float64) *Collector {
	rng := rand.New(rand.NewPCG(7, 7))
	var trials []*record.Trial
	keep := func(tr *record.Trial) {
		switch x := rng.Float64(); {
		case x < lost/2:
			tr = failedTrial(tr)
		case x < lost:
			tr.Outcome = ""
		}
		trials = append(trials, tr)
	}
	window := func(n int) record.Window {
		letters := make([]byte, n)
		for i := range letters {
			letters[i] = "svvvSSV"[rng.IntN(7)]
		}
		w := judged(string(letters))
		for i := range w.Judgments {
			w.Judgments[i].Claim = claimNames[rng.IntN(2)]
		}
		return w
	}
	for _, model := range []string{"openai/gpt-4o", "anthropic/claude-sonnet-4-6"} {
		for _, regime := range regimeOrder {
			for seed := range 12 {
				for _, modality := range modalityOrder {
					tr := detection(model, regime, seed)
					tr.Modality, tr.Windows = modality, []record.Window{window(40)}
					countJudgments(tr)
					keep(tr)
				}
				for _, strategy := range strategyOrder {
					for n := range 3 {
						outcome := []string{record.Success, record.Death, record.Death, record.Timeout}[rng.IntN(4)]
						tr := episode(model, strategy, seed, n+1, outcome, 5+rng.IntN(20), 0)
						tr.Regime = regime
						if strategy == "omcd" {
							tr.Batch, tr.Windows = 10, []record.Window{window(12)}
							countJudgments(tr)
						}
						keep(tr)
					}
				}
			}
		}
	}
	return planned(t, trials...)
}

// sameInterval fails where two tables have two intervals of one number.
func sameInterval(t *testing.T, what string, got, want Cell) {
	t.Helper()
	if want.Low == nil {
		t.Errorf("%s: the other table has no interval", what)
		return
	}
	near(t, what+", low", got.Low, *want.Low)
	near(t, what+", high", got.High, *want.High)
	if got.Method != want.Method || got.Level != want.Level {
		t.Errorf("%s: %s %v, and %s %v elsewhere", what, got.Method, got.Level, want.Method, want.Level)
	}
}

// What two tables say of the same cell is the same, whatever is lost.
func TestPublishedAgreesWithContrasts(t *testing.T) {
	for _, lost := range []float64{0, 0.05} {
		c := namedRun(t, lost)
		table, contrasts := c.Published(), c.Contrasts()
		seen, lossy := 0, 0
		for i := range published() {
			f := &published()[i]
			row := func(key string) Cell { return cellIn(t, table, i, key) }
			if f.Against == "" || row("our_model").Label == "" || len(f.Regimes) > 1 {
				continue
			}
			measure := "success"
			if f.Measure == "deaths-over" {
				measure = "death"
			}
			other := rowOf(t, &contrasts, row("our_model").Label, measure, f.Modality, f.Regimes[0], record.Contrast{A: f.Strategy, B: f.Against}.String())
			what := fmt.Sprint(f.Measure, f.Model, f.Regimes, f.Strategy)
			seen++
			if row("ours").N < 12 {
				lossy++
			}
			near(t, what+", seeds", row("seeds").Value, float64(other("seeds").Count))
			near(t, what+", planned", row("seeds_planned").Value, float64(other("seeds").Of))
			switch f.Measure {
			case "success-difference":
				near(t, what, row("ours").Value, *other("difference").Value)
				near(t, what+", sd", row("ours").SD, *other("difference").SD)
				sameInterval(t, what, row("interval"), other("interval"))
				for ours, theirs := range map[string]string{"ours_least": "difference_least", "ours_most": "difference_most"} {
					want := undefined
					if v := other(theirs).Value; v != nil {
						want = *v
					}
					near(t, what+" "+ours, row(ours).Value, want)
				}
			case "success-difference-size":
				d, in := *other("difference").Value, other("interval")
				near(t, what, row("ours").Value, math.Abs(d))
				low, high := math.Abs(*in.Low), math.Abs(*in.High)
				if *in.Low < 0 && *in.High > 0 {
					low, high = 0, max(low, high)
				}
				near(t, what+", low", row("interval").Low, min(low, high))
				near(t, what+", high", row("interval").High, max(low, high))
			case "deaths-over":
				near(t, what, row("ours").Value, *other("first").Value / *other("second").Value)
			default:
				t.Errorf("no table of tests has %s", f.Measure)
			}
		}
		if seen != 8 || lost > 0 && lossy == 0 {
			t.Errorf("%d cells are compared, %d with losses", seen, lossy)
		}
	}
}

// cellIn is a cell of a row by its number.
func cellIn(t *testing.T, table Table, row int, key string) Cell {
	t.Helper()
	col := slices.IndexFunc(table.Columns, func(c Column) bool { return c.Key == key })
	if col < 0 {
		t.Fatalf("table %s has no column %q", table.ID, key)
	}
	return table.Rows[row][col]
}

// A figure of several regimes is made of its seeds in all of them: where nothing
// is lost, it is the mean of the rows of its regimes.
func TestPublishedOfSeveralRegimes(t *testing.T) {
	c := namedRun(t, 0)
	table, contrasts, sight := c.Published(), c.Contrasts(), c.Sight()
	var reduction, difference float64
	for _, regime := range regimeOrder {
		deaths := rowOf(t, &contrasts, "anthropic/claude-sonnet-4-6", "death", regime, record.Contrast{A: "omcd", B: "no-filter"}.String())
		reduction += (1 - *deaths("first").Value / *deaths("second").Value) / 3
		difference += *rowOf(t, &sight, "anthropic/claude-sonnet-4-6", regime)("difference").Value / 3
	}
	near(t, "deaths avoided", ours(t, table, "ours", "death-reduction", "Claude-Sonnet-4.6").Value, reduction)
	near(t, "vision less text", ours(t, table, "ours", "f1-vision-less-text", "Claude-Sonnet-4.6").Value, difference)
}

// What lost trials could change is what the table of it says.
func TestPublishedAgreesWithBounds(t *testing.T) {
	c := namedRun(t, 0.1)
	table, bounds := c.Published(), c.navigationBounds()
	for _, at := range [][]string{{"success", "no-filter"}, {"death", "omcd"}, {"timeout", "no-memory"}} {
		other := rowOf(t, &bounds, "openai/gpt-4o", "text", "L2", at[1])
		near(t, at[0]+", least", ours(t, table, "ours_least", at[0], "GPT-4o", "L2", at[1]).Value, *other(at[0] + "_least").Value)
		near(t, at[0]+", most", ours(t, table, "ours_most", at[0], "GPT-4o", "L2", at[1]).Value, *other(at[0] + "_most").Value)
	}
}

// Numbers that figures show have the figures' whiskers.
func TestPublishedAgreesWithFigures(t *testing.T) {
	c := namedRun(t, 0)
	table := c.Published()
	figures := make(map[string]Figure)
	for _, f := range c.Figures() {
		figures[f.ID] = f
	}
	point := func(figure, panel, series string, category int) Point {
		t.Helper()
		for _, p := range figures[figure].Panels {
			for _, s := range p.Series {
				if p.Title != panel || s.Key != series {
					continue
				}
				for _, pt := range s.Points {
					if pt.Category == category {
						return pt
					}
				}
			}
		}
		t.Fatalf("%s has no point %q, %q", figure, panel, series)
		return Point{}
	}
	for _, tt := range []struct {
		measure string
		labels  []string
		is      Point
	}{
		{"success", []string{"GPT-4o", "L2", "no-filter"}, point("figure-5-strategies", "L2 cluster", "no-filter", 0)},
		{"binary-f1", []string{"GPT-4o"}, point("figure-3-detection", "L1 spot", "text", 0)},
		{"flag-rate-safe-deadly", []string{"Claude-Sonnet-4.6"}, point("figure-4-flags", "from images", "thaw", 1)},
		{"recall-freeze", []string{"Claude-Sonnet-4.6"}, point("figure-8-directions", "L2 cluster, from images", "freeze", 1)},
		{"steps-death", []string{"GPT-4o", "no-filter"}, point("figure-6-lengths", "episodes that ended in a hole", "no-filter", 0)},
		{"steps-success", []string{"Claude-Sonnet-4.6", "omcd"}, point("figure-6-lengths", "episodes that reached G", "omcd", 1)},
	} {
		in := ours(t, table, "interval", tt.measure, tt.labels...)
		near(t, tt.measure, ours(t, table, "ours", tt.measure, tt.labels...).Value, *tt.is.X)
		near(t, tt.measure+", low", in.Low, tt.is.XRange.Low)
		near(t, tt.measure+", high", in.High, tt.is.XRange.High)
	}
	for i, regime := range regimeOrder {
		said := figures["figure-9-f1-success"].Panels[i].Remarks
		in := ours(t, table, "interval", "pearson-f1-success", regime)
		want := fmt.Sprintf("Pearson %s [%s, %s], ", signed(*ours(t, table, "ours", "pearson-f1-success", regime).Value), signed(*in.Low), signed(*in.High))
		if !strings.HasPrefix(said[0], want) {
			t.Errorf("figure 9 says %q of %s, the table %q", said[0], regime, want)
		}
	}
}

// What models say in the paper's one regime is of that regime's replies alone.
func TestPublishedWordsOfARegime(t *testing.T) {
	var c Collector
	for _, regime := range regimeOrder {
		tr := withReplies(detection("openai/gpt-4o", regime, 1, "SVsv"), record.Parsed{Outcome: "answered"})
		tr.Modality = record.Vision
		for i := range tr.Windows[0].Judgments {
			j := &tr.Windows[0].Judgments[i]
			j.Claim, j.Reason = "SAFE", "frozen"
			if regime != "L1" || i == 0 {
				j.Reason = "unclear"
			}
		}
		add(t, &c, tr)
	}
	near(t, "hedging", ours(t, c.Published(), "ours", "hedging", "GPT-4o", "L1").Value, 0.25)
}

// A share of 0 or 1 has the exact bound on what was never seen, whatever it is a
// share of, and no interval leaves the measure's range.
func TestPublishedSharesStayInRange(t *testing.T) {
	var c Collector
	for _, regime := range regimeOrder {
		for seed := range 5 {
			tr := detection("anthropic/claude-sonnet-4-6", regime, seed, "SSvv")
			tr.Modality = record.Vision
			for i := range tr.Windows[0].Judgments {
				tr.Windows[0].Judgments[i].Claim = "SAFE"
			}
			add(t, &c, tr)
		}
	}
	table := c.Published()
	q := 1 - math.Pow(0.05, 1.0/5)
	all, none := ours(t, table, "interval", "flag-rate-safe-deadly", "Claude-Sonnet-4.6"), ours(t, table, "interval", "flag-rate-safe-safe", "Claude-Sonnet-4.6")
	near(t, "all, low", all.Low, 1-q)
	near(t, "all, high", all.High, 1)
	near(t, "none, low", none.Low, 0)
	near(t, "none, high", none.High, q)
	for measure, want := range map[string]string{"flag-rate-safe-deadly": "yes", "flag-rate-safe-safe": "yes"} {
		if got := ours(t, table, "agrees", measure, "Claude-Sonnet-4.6").Label; got != want {
			t.Errorf("%s: %q", measure, got)
		}
	}
	table = namedRun(t, 0.05).Published()
	for i := range table.Rows {
		in, f := cellIn(t, table, i, "interval"), &published()[i]
		low, high := 0.0, 1.0
		switch {
		case strings.HasPrefix(f.Measure, "steps-"), f.Measure == "recall-text-over-vision", f.Measure == "deaths-over":
			high = math.Inf(1)
		case f.Measure == "death-reduction":
			low = math.Inf(-1)
		case strings.Contains(f.Measure, "difference") && !strings.Contains(f.Measure, "size"), strings.Contains(f.Measure, "-less-"), f.Measure == "pearson-f1-success":
			low = -1
		}
		if in.Low != nil && (*in.Low < low || *in.High > high) {
			t.Errorf("%s %s: [%v, %v] leaves [%v, %v]", f.Measure, f.Model, *in.Low, *in.High, low, high)
		}
		if v := cellIn(t, table, i, "ours").Value; v == nil && in.Low != nil {
			t.Errorf("%s %s: an interval of nothing", f.Measure, f.Model)
		}
	}
}
