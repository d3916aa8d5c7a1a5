package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/stats"
)

// A Figure is the data of one drawing: what stands where, with its intervals
// and with what a reader must know. It draws nothing; package report/figure
// does.
type Figure struct {
	ID    string `json:"id"` // stable, fit for a file name, such as "figure-3-detection"
	Title string `json:"title"`
	Paper string `json:"paper"` // where the paper has it, such as "Figure 3"; empty when it has none
	About string `json:"about"` // one or two sentences: what is shown, how to read it
	// Warnings say what is wrong with the run behind the figure, Notes what is
	// good to know about it. Feet are the few words that stand inside the
	// drawing itself, below it: what whiskers are, how many seeds.
	Warnings []string `json:"warnings"`
	Notes    []string `json:"notes"`
	Feet     []string `json:"feet"`
	// Need says what a run must hold for the figure to have panels, and how to
	// get it, such as "episodes: spatialstale run --task navigate".
	Need string `json:"need"`
	// Controls is true when no model in it is more than a built-in control.
	Controls bool `json:"controls"`
	// Panels stand in rows of Across, from the top left.
	Across int     `json:"across"`
	Panels []Panel `json:"panels"`
}

// A Panel is one chart of a figure. With Categories it is a chart of rows, one
// a category from the top down, whose values run along X; without, it has two
// axes of numbers. With a Scene it is a drawing of a lake and has nothing else.
type Panel struct {
	Title      string     `json:"title"`
	Wide       bool       `json:"wide,omitempty"` // it has a row of its own
	Categories []Category `json:"categories,omitempty"`
	X          Axis       `json:"x"`
	Y          Axis       `json:"y"`
	Series     []Series   `json:"series,omitempty"`
	Guides     []Guide    `json:"guides,omitempty"`
	Remarks    []string   `json:"remarks,omitempty"` // what a test of the panel says, a line each
	Scene      *Scene     `json:"scene,omitempty"`
}

// A Category is one row of a chart: a model, say.
type Category struct {
	Name string `json:"name"`
	Tag  string `json:"tag,omitempty"` // such as "control"
}

// An Axis is a range of numbers; all values lie in it.
type Axis struct {
	Label string  `json:"label"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
}

// A Mark is the form that a series is drawn in.
type Mark string

// The marks.
const (
	Bars  Mark = "bars" // from 0 to the value; charts of rows only
	Dots  Mark = "dots"
	Discs Mark = "discs" // their area is N
)

// A Series is what has one colour and one shape. Key says what it is about,
// such as "omcd" or "vision": the same key looks the same in every figure. A
// key "1", "2", … is a number among the figure's own.
type Series struct {
	Key    string  `json:"key"`
	Name   string  `json:"name"`
	Mark   Mark    `json:"mark"`
	Points []Point `json:"points"`
}

// A Point is one value, or a pair of values. A nil X is undefined, which is
// not zero: a chart of rows shows a dash in its place.
type Point struct {
	Category int      `json:"category"` // index of the row; 0 in a chart of two axes
	X        *float64 `json:"x"`
	XRange   *Span    `json:"x_range"` // its interval; nil where none can be given
	Y        *float64 `json:"y"`
	YRange   *Span    `json:"y_range"`
	N        int      `json:"n"` // what it rests on, or how many units lie here: see the figure's Feet
	Label    string   `json:"label,omitempty"`
}

// A Span is the interval that whiskers show.
type Span struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// A Guide is a line without data of its own: a curve of equal F1, or zero.
type Guide struct {
	Label string       `json:"label,omitempty"` // stands at its last point
	Line  [][2]float64 `json:"line"`
}

// A Scene is a lake with routes on it.
type Scene struct {
	Rows   []string     `json:"rows"`   // one letter a cell
	Thaw   []record.Pos `json:"thaw"`   // cells whose entry says SAFE and that are holes
	Freeze []record.Pos `json:"freeze"` // cells whose entry says DANGER and that are safe
	Routes []Route      `json:"routes"`
}

// A Route is an episode's way over the lake, from S to where it ended.
type Route struct {
	Key     string       `json:"key"` // as of a Series: the strategy
	Name    string       `json:"name"`
	Outcome string       `json:"outcome"`
	Cells   []record.Pos `json:"cells"` // the agent's positions, one more than its steps
}

// Figures returns the paper's figures in its order, then the diagnostics, each
// from this run's records. One without data has no panels, and its Need says
// how to get them.
func (c *Collector) Figures() []Figure {
	makers := []func() Figure{
		c.routesFigure,
		c.regimesFigure,
		c.detectionFigure,
		c.flagFigure,
		func() Figure { return c.strategiesFigure(record.Text) },
		func() Figure { return c.strategiesFigure(record.Vision) },
		c.lengthFigure,
		c.precisionRecallFigure,
		c.directionFigure,
		c.associationFigure,
		c.traceFigure,
		c.staleDeathFigure,
	}
	figures := make([]Figure, len(makers))
	inParallel(len(makers), func(i int) {
		figures[i] = makers[i]()
		figures[i].Across = max(1, figures[i].Across)
	})
	warnings := c.runWarnings()
	for i := range figures {
		f := &figures[i]
		f.Need = c.ask(f.Need)
		if len(f.Panels) > 0 && f.ID != "figure-2-regimes" {
			f.Warnings = slices.Concat(warnings, f.Warnings)
		}
	}
	return figures
}

// An intervals makes the whiskers of figures, as the run's study has declared
// its intervals: whole seeds are drawn again, so that what belongs to one seed
// stays together.
type intervals struct{ boot *record.Bootstrap }

func (c *Collector) intervals() intervals { return intervals{c.tests().Bootstrap} }

// words say in a drawing what whiskers are.
func (iv intervals) words() string {
	return fmt.Sprintf("Whiskers: %g%% bootstrap intervals, whole seeds drawn.", 100*iv.boot.Level)
}

// mean is a point at the mean over seeds of values between low and high. Seeds
// without the value are left out.
func (iv intervals) mean(values []*float64, low, high float64) Point {
	xs := defined(values)
	p := Point{N: len(xs)}
	if len(xs) == 0 {
		return p
	}
	p.X = new(stats.Mean(xs))
	p.XRange = intervalOf(stats.BootstrapMean(xs, bootstrapOptions(iv.boot, stats.Range{Low: low, High: high})))
	return p
}

// pooled is a point at the quotient of two sums over seeds, whose interval
// draws whole seeds. Where all seeds have the same quotient and it has bounds,
// the interval is that of the mean of equal values.
func (iv intervals) pooled(seeds []pair, bounds *stats.Range) Point {
	var sum pair
	var rates []*float64
	for _, s := range seeds {
		sum.plus(s)
		rates = append(rates, quotient(s.count, s.of))
	}
	p := Point{X: quotient(sum.count, sum.of), N: sum.of}
	if p.X == nil {
		return p
	}
	opt := stats.BootstrapOptions{Level: iv.boot.Level, Draws: iv.boot.Resamples, Seed: iv.boot.Seed}
	p.XRange = intervalOf(stats.Bootstrap(len(seeds), func(units []int) (float64, bool) {
		var drawn pair
		for _, u := range units {
			drawn.plus(seeds[u])
		}
		q := quotient(drawn.count, drawn.of)
		if q == nil {
			return 0, false
		}
		return *q, true
	}, opt))
	if p.XRange == nil && bounds != nil {
		opt.Range = bounds
		p.XRange = intervalOf(stats.BootstrapMean(defined(rates), opt))
	}
	return p
}

// intervalOf takes the interval out of a result; there is none where the
// method has none, or where what it was given cannot have one.
func intervalOf(r stats.BootstrapResult, err error) *Span {
	if err != nil || r.Interval == nil {
		return nil
	}
	return &Span{r.Interval.Low, r.Interval.High}
}

// defined returns the values that exist.
func defined(values []*float64) []float64 {
	var xs []float64
	for _, v := range values {
		if v != nil {
			xs = append(xs, *v)
		}
	}
	return xs
}

// signFlip tests per-seed differences; the test is undefined for none.
func signFlip(differences []float64) *float64 {
	r, err := stats.SignFlip(differences, stats.SignFlipOptions{})
	if err != nil {
		return nil
	}
	return r.P
}

// probability writes a p-value for people.
func probability(p *float64) string {
	switch {
	case p == nil:
		return "no test"
	case *p < 0.001:
		return "p < 0.001"
	}
	return fmt.Sprintf("p = %.3f", *p)
}

// A choice is one of the settings that differ in nothing but batch, wording and
// size.
type choice struct {
	framing    string
	rows, cols int
}

// principal picks the trials that figures show where a run varies batch,
// wording or size: the paper's where it has them, the first of its tables
// otherwise. It also says whether anything was left out.
func (c *Collector) principal(settings []setting) (keep func(setting) bool, others bool) {
	settings = slices.SortedFunc(slices.Values(settings), c.plan.compareRest)
	if len(settings) == 0 {
		return func(setting) bool { return false }, false
	}
	of := func(s setting) choice { return choice{s.framing, s.rows, s.cols} }
	best := of(settings[0])
	for _, s := range settings {
		if s.rows == publishedSide && s.cols == publishedSide && (s.framing == publishedFraming || s.framing == "") {
			best = of(s)
			break
		}
	}
	batches := make(map[string]int)
	for _, s := range settings {
		if of(s) != best {
			continue
		}
		if old, ok := batches[s.strategy]; !ok || s.batch == publishedBatch && old != publishedBatch {
			batches[s.strategy] = s.batch
		}
	}
	keep = func(s setting) bool { return of(s) == best && s.batch == batches[s.strategy] }
	return keep, slices.ContainsFunc(settings, func(s setting) bool { return !keep(s) })
}

// otherVariants says that a run holds more than a figure shows.
const otherVariants = "The run varies batch, wording or size; the figure shows the paper’s choice where the run has it, and the tables show all."

// about adds to a figure what the models in it ask for: the full names behind
// short ones, and whether they are controls.
func (f *Figure) about(c *Collector, models []string) {
	f.Notes = append(f.Notes, modelNotes(groupsOfModels(models, nil), c.modelNames())...)
	f.Controls = len(models) > 0 && !slices.ContainsFunc(models, func(m string) bool { return !strings.HasPrefix(m, controlPrefix) })
}

// categoriesOf makes a row of each model.
func (c *Collector) categoriesOf(models []string) []Category {
	short := c.modelNames()
	out := make([]Category, len(models))
	for i, m := range models {
		cell := modelCell(m, short)
		out[i] = Category{cell.Display(), cell.Tag}
	}
	return out
}

// share is the axis of a rate.
func share(label string) Axis { return Axis{Label: label, Min: 0, Max: 1} }

// spread returns "n = 50" where all numbers are the same, "n = 48–50"
// otherwise, "" for none.
func spread(what string, ns []int) string {
	if len(ns) == 0 {
		return ""
	}
	low, high := slices.Min(ns), slices.Max(ns)
	if low == high {
		return countOf(low, what)
	}
	return fmt.Sprintf("%s–%s", thousands(low), countOf(high, what))
}
