package analysis

import "github.com/spatialstale/spatialstale/record"

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
