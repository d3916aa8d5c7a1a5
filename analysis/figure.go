package analysis

import (
	"cmp"
	"fmt"
	"maps"
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
	Topic Topic  `json:"topic"`
	Paper string `json:"paper"` // where the paper has it, such as "Figure 3"; empty when it has none
	About string `json:"about"` // one or two sentences: what is shown, how to read it
	// Warnings say what is wrong with the run behind the figure, Notes what is
	// good to know about it. Feet are the few words that stand inside the
	// drawing itself, below it: what whiskers are, how many seeds.
	Warnings []string `json:"warnings"`
	Notes    []string `json:"notes"`
	Feet     []string `json:"feet"`
	// Incomplete stands in the drawing too, before the Feet: how many of the
	// planned trials behind it have finished. Empty when all have.
	Incomplete string `json:"incomplete"`
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
	// Empty stands in the middle of a chart of two axes that has no point, such
	// as "0 of 8 finished".
	Empty string `json:"empty,omitempty"`
}

// A Category is one row of a chart: a model, say.
type Category struct {
	Name string `json:"name"`
	Tag  string `json:"tag,omitempty"` // such as "control"
	// Group is the heading above the first of the rows that follow each other in
	// it, such as "closed"; empty for none.
	Group string `json:"group,omitempty"`
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
	Key    string       `json:"key"`
	Style  record.Style `json:"-"` // how it is drawn; the zero Style stands for that of the key
	Name   string       `json:"name"`
	Mark   Mark         `json:"mark"`
	Points []Point      `json:"points"`
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
	// Trials are those behind it; nil where it is not of trials, or of some only.
	Trials *Trials `json:"trials"`
	// XBounds are the least and the most that X, over all planned seeds, could be
	// if lost trials had gone one way or the other; nil where nothing is lost, or
	// where nobody can tell.
	XBounds *Span `json:"x_bounds"`
}

// Trials counts those that have a result, and all.
type Trials struct {
	Finished int `json:"finished"`
	Planned  int `json:"planned"`
}

// A Span is a range of values, such as the interval that whiskers show; Method
// is how an interval was made.
type Span struct {
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Method string  `json:"method,omitempty"`
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
	Style   record.Style `json:"-"`   // how it is drawn; the zero Style stands for that of the key
	Name    string       `json:"name"`
	Outcome string       `json:"outcome"`
	Cells   []record.Pos `json:"cells"` // the agent's positions, one more than its steps
}

// Figures returns the paper's figures in its order, then the diagnostics, each
// from this run's records. One without data has no panels, and its Need says
// how to get them. Where a run has lakes of several sizes each figure is of one:
// of the paper's where the run has it, of the smallest otherwise; those of the
// other sizes stand behind it, under its ID with their size.
func (c *Collector) Figures() []Figure {
	sizes := c.sizes()
	views := make([]*Collector, max(1, len(sizes)))
	views[0] = c
	if len(sizes) > 1 {
		for i, size := range sizes {
			views[i] = c.onLakes(size)
		}
	}
	makers := []func(*Collector) Figure{
		(*Collector).routesFigure,
		(*Collector).regimesFigure,
		(*Collector).detectionFigure,
		(*Collector).flagFigure,
		func(c *Collector) Figure { return c.strategiesFigure(record.Text) },
		func(c *Collector) Figure { return c.strategiesFigure(record.Vision) },
		(*Collector).lengthFigure,
		(*Collector).precisionRecallFigure,
		(*Collector).directionFigure,
		(*Collector).associationFigure,
		(*Collector).traceFigure,
		(*Collector).staleDeathFigure,
	}
	figures := make([]Figure, len(makers)*len(views))
	inParallel(len(figures), func(i int) {
		f := makers[i/len(views)](views[i%len(views)])
		f.Across = max(1, f.Across)
		if len(sizes) > 1 {
			f.sized(sizes, i%len(views))
		}
		figures[i] = f
	})
	if len(sizes) > 1 {
		// What a further size has no data for, the first says how to get.
		figures = slices.DeleteFunc(figures, func(f Figure) bool { return f.ID == "" })
	}
	warnings := c.runWarnings()
	for i := range figures {
		f := &figures[i]
		f.Need = c.ask(f.Need)
		if len(f.Panels) > 0 && !strings.HasPrefix(f.ID, "figure-2-regimes") {
			f.Warnings = slices.Concat(warnings, f.Warnings)
		}
	}
	return figures
}

// sizes returns the sizes of a run's lakes, as rows and columns: the paper's
// first, then from small to large.
func (c *Collector) sizes() [][2]int {
	all := make(map[[2]int]bool)
	for k := range c.instances {
		all[[2]int{k.rows, k.cols}] = true
	}
	for s := range c.detection {
		all[[2]int{s.rows, s.cols}] = true
	}
	for s := range c.episodes {
		all[[2]int{s.rows, s.cols}] = true
	}
	published := func(s [2]int) int { return 1 - index(s == [2]int{publishedSide, publishedSide}) }
	return slices.SortedFunc(maps.Keys(all), func(a, b [2]int) int {
		return cmp.Or(published(a)-published(b), cmp.Compare(a[0]*a[1], b[0]*b[1]), cmp.Compare(a[0], b[0]))
	})
}

// onLakes returns what a collector has of lakes of one size. It is for reading
// only.
func (c *Collector) onLakes(size [2]int) *Collector {
	view := *c
	view.detection = onLakes(c.detection, size)
	view.episodes = onLakes(c.episodes, size)
	view.instances = maps.Clone(c.instances)
	maps.DeleteFunc(view.instances, func(k instanceKey, _ *world) bool { return [2]int{k.rows, k.cols} != size })
	return &view
}

func onLakes[T any](g groups[T], size [2]int) groups[T] {
	out := maps.Clone(g)
	maps.DeleteFunc(out, func(s setting, _ map[int]*T) bool { return [2]int{s.rows, s.cols} != size })
	return out
}

// sized says of which of a run's sizes a figure is; one of a further size is
// named after it. Without data it is none.
func (f *Figure) sized(sizes [][2]int, i int) {
	if len(f.Panels) == 0 {
		if i > 0 {
			*f = Figure{}
		}
		return
	}
	var others []string
	for j, size := range sizes {
		if j != i {
			others = append(others, gridCell(size[0], size[1]).Short)
		}
	}
	is := gridCell(sizes[i][0], sizes[i][1])
	f.Feet = slices.Insert(slices.Clip(f.Feet), 0, fmt.Sprintf("Lakes of %s; those of %s have figures of their own.", is.Short, joined(others)))
	if i > 0 {
		f.ID += "-" + is.Label
		f.Title += ", on lakes of " + is.Short
		f.Paper = "" // its lakes are the paper's size only
	}
}

// An intervals makes the whiskers of a figure, as the run's study has declared
// its intervals: whole seeds are drawn again, so that what belongs to one seed
// stays together. It keeps count of how they were made, to say it.
type intervals struct {
	boot      *record.Bootstrap
	resampled int // by the bootstrap
	exact     int // where it cannot give any: seeds that are all equal
	none      int // values without an interval
}

func (c *Collector) intervals() *intervals { return &intervals{boot: c.tests().Bootstrap} }

// words say in a drawing what the whiskers so far are.
func (iv *intervals) words() string {
	level := fmt.Sprintf("%g%%", 100*iv.boot.Level)
	const equal = "where all seeds are equal, or there is one"
	var words string
	switch {
	case iv.resampled > 0 && iv.exact > 0:
		words = fmt.Sprintf("Whiskers: %s bootstrap intervals, whole seeds drawn; %s, the exact %s bound on what unseen seeds could change.", level, equal, level)
	case iv.resampled > 0:
		words = fmt.Sprintf("Whiskers: %s bootstrap intervals, whole seeds drawn.", level)
	case iv.exact > 0:
		words = fmt.Sprintf("Whiskers: the exact %s bound on what unseen seeds could change; no bootstrap, because everywhere all seeds are equal, or there is one.", level)
	case iv.none > 0:
		return "No whiskers: too few seeds, or all of them equal."
	default:
		return ""
	}
	if iv.none > 0 {
		words += " No whisker: too few seeds, or all of them equal."
	}
	return words
}

// span is the interval that a value's whiskers show; nil where the method has
// none, or where what it was given cannot have one.
func (iv *intervals) span(r stats.BootstrapResult) *Span {
	switch {
	case r.Interval == nil:
		iv.none++
		return nil
	case r.Interval.Method == stats.ExactBound:
		iv.exact++
	default:
		iv.resampled++
	}
	return &Span{r.Interval.Low, r.Interval.High, r.Interval.Method}
}

// mean is a point at the mean over seeds of values between low and high. Seeds
// without the value are left out.
func (iv *intervals) mean(values []*float64, low, high float64) Point {
	xs := defined(values)
	p := Point{N: len(xs)}
	if len(xs) == 0 {
		return p
	}
	p.X = new(stats.Mean(xs))
	p.XRange = iv.span(sure(stats.BootstrapMean(xs, bootstrapOptions(iv.boot, stats.Range{Low: low, High: high}))))
	return p
}

// pooled is a point at the quotient of two sums over seeds, whose interval
// draws whole seeds. Where all seeds have the same quotient and it has bounds,
// the interval is that of the mean of equal values.
func (iv *intervals) pooled(seeds []pair, bounds *stats.Range) Point {
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
	r := sure(stats.Bootstrap(len(seeds), func(units []int) (float64, bool) {
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
	if r.Interval == nil && bounds != nil {
		opt.Range = bounds
		r = sure(stats.BootstrapMean(defined(rates), opt))
	}
	p.XRange = iv.span(r)
	return p
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

// probability writes a p-value for people.
func probability(p *float64) string {
	switch {
	case p == nil:
		return "no test"
	case *p < 0.001:
		return "p < 0.001"
	case *p > 0.9995: // as tables have it
		return "p > 0.999"
	}
	return fmt.Sprintf("p = %.3f", *p)
}

// principal picks the trials that figures show where a run varies batch or
// wording: the paper's where it has them, the first of its tables otherwise. The
// sentence says what is shown, and what else the run has; it is empty when that
// is all.
func (c *Collector) principal(settings []setting) (keep func(setting) bool, sentence string) {
	settings = slices.SortedFunc(slices.Values(settings), c.plan.compareRest)
	if len(settings) == 0 {
		return func(setting) bool { return false }, ""
	}
	framing := settings[0].framing
	for _, s := range settings {
		if s.framing == publishedFraming || s.framing == "" {
			framing = s.framing
			break
		}
	}
	batches := make(map[string]int)
	for _, s := range settings {
		if s.framing != framing {
			continue
		}
		if old, ok := batches[s.strategy]; !ok || s.batch == publishedBatch && old != publishedBatch {
			batches[s.strategy] = s.batch
		}
	}
	var shown, framings, others []string
	for _, s := range settings {
		switch {
		case s.framing != framing:
			addNew(&framings, s.framing)
		case s.batch != batches[s.strategy]:
			addNew(&shown, fmt.Sprint(batches[s.strategy]))
			addNew(&others, fmt.Sprint(s.batch))
		}
	}
	var parts []string
	if len(others) > 0 {
		parts = append(parts, fmt.Sprintf("audits of %s entries a call (the run also has %s)", joined(shown), joined(others)))
	}
	if len(framings) > 0 {
		parts = append(parts, fmt.Sprintf("the %s wording (the run also has %s)", framing, joined(framings)))
	}
	if len(parts) > 0 {
		sentence = "Shown: " + strings.Join(parts, "; ") + ". The tables have all."
	}
	return func(s setting) bool { return s.framing == framing && s.batch == batches[s.strategy] }, sentence
}

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
		out[i] = Category{Name: cell.Display(), Tag: cell.Tag}
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

// trialsOf counts the trials behind a point, nil for no plan.
func trialsOf[T any](seeds map[int]*T, of func(*T) *progress) *Trials {
	if len(seeds) == 0 {
		return nil
	}
	var t Trials
	for _, s := range seeds {
		t.Finished += of(s).finished
		t.Planned += of(s).all()
	}
	return &t
}

// plus adds the trials of another seed or cell.
func (t *Trials) plus(o *Trials) *Trials {
	if t == nil || o == nil {
		return cmp.Or(t, o)
	}
	return &Trials{t.Finished + o.Finished, t.Planned + o.Planned}
}

// lossy says that some have no result.
func (t *Trials) lossy() bool { return t != nil && t.Finished < t.Planned }

// told says "3 of 8".
func (t *Trials) told() string {
	return thousands(t.Finished) + " of " + thousands(t.Planned)
}

// count adds to a point the trials behind it. Where some are lost it is labelled
// with how many are left; where all are, the drawing says so in its place.
func (p *Point) count(t *Trials) {
	p.Trials = t
	if !t.lossy() || t.Finished == 0 {
		return
	}
	if p.Label != "" {
		p.Label += ", "
	}
	p.Label += t.told()
}

// boundsOf are the least and the most that a mean over seeds could be; nil where
// nothing is lost.
func boundsOf[T any](seeds map[int]*T, of func(*T) seedValue) *Span {
	lost := false
	var least, most []*float64
	for _, seed := range slices.Sorted(maps.Keys(seeds)) {
		v := of(seeds[seed])
		lost = lost || v.lost
		least, most = append(least, v.least), append(most, v.most)
	}
	low, high := overSeeds(least).Value, overSeeds(most).Value
	if !lost || low == nil || high == nil {
		return nil
	}
	return &Span{Low: *low, High: *high}
}

// lose says in a drawing how many of the planned trials have finished, and then
// what else a reader must know of it. Nothing where none is lost.
func (f *Figure) lose(t *Trials, what string, then ...string) {
	if t.lossy() {
		f.Incomplete = strings.Join(append([]string{fmt.Sprintf("Incomplete: %s of %s planned %s finished; the others failed or have no record, and are in none of the values.",
			thousands(t.Finished), thousands(t.Planned), what)}, then...), " ")
	}
}

// beside explains the labels of count.
const beside = "Beside a value: finished of planned."

// finishedRemark says of which models of a panel trials are lost.
func finishedRemark(names []Category, of func(i int) *Trials) []string {
	var parts []string
	for i, name := range names {
		t := of(i)
		if !t.lossy() {
			continue
		}
		if len(names) > 1 {
			parts = append(parts, named(name)+" "+t.told())
		} else {
			parts = append(parts, t.told())
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"finished: " + strings.Join(parts, ", ")}
}
