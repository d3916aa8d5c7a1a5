package store

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/record"
)

// A Row is one planned trial in short, as lists show it.
type Row struct {
	record.Spec
	Outcome    string        `json:"outcome"` // "" until it has ended
	Error      string        `json:"error,omitempty"`
	Cause      string        `json:"cause,omitempty"` // of a death
	Moves      *int          `json:"moves"`           // nil for a detection, and where unknown
	Fallbacks  int           `json:"fallbacks"`
	Counts     record.Counts `json:"counts"`
	Calls      int           `json:"calls"`
	Input      int           `json:"input_tokens"` // as far as servers said
	Output     int           `json:"output_tokens"`
	LatencySum float64       `json:"seconds"` // of all calls
}

// A Query chooses rows.
type Query struct {
	// Where are the values that a column may have, by its name (Columns); no entry is
	// no condition. The outcome "" is that of trials that have not ended.
	Where  map[string][]string
	Order  string // a column; "" is the plan's order
	Desc   bool
	Offset int
	Limit  int  // 0 for all
	Brief  bool // without the calls, which take the longest
}

// listColumns are what rows can be chosen and ordered by, as SQL.
var listColumns = map[string]string{
	"task": "p.task", "model": "p.model", "modality": "p.modality", "regime": "p.regime", "seed": "p.seed", "strategy": "p.strategy",
	"batch": "p.batch", "framing": "p.framing", "episode": "p.episode", "size": "p.rows || 'x' || p.cols", "trial": "p.key",
	"outcome": "coalesce(r.outcome, '')", "cause": "coalesce(r.death_cause, '')", "moves": "r.moves", "fallbacks": "r.fallbacks",
	"missed": "r.fn", "flagged": "r.fp", "unanswered": "r.unanswered",
}

// Columns are the names of columns that a Query knows, in order.
func Columns() []string {
	var names []string
	for name := range listColumns {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

const rowsFrom = " FROM plan p LEFT JOIN results r ON r.trial = p.ordinal"

// where writes the conditions of a query.
func (q *Query) where() (text string, args []any, err error) {
	var parts []string
	for name, values := range q.Where {
		column, known := listColumns[name]
		if !known {
			return "", nil, fmt.Errorf("trials have no column %q; they have %s", name, strings.Join(Columns(), ", "))
		}
		marks := make([]string, len(values))
		for i, v := range values {
			marks[i] = "?"
			args = append(args, v)
		}
		if name != "trial" { // which is a text, and has an index
			column = "CAST(" + column + " AS TEXT)"
		}
		parts = append(parts, fmt.Sprintf("%s IN (%s)", column, strings.Join(marks, ",")))
	}
	if len(parts) > 0 {
		text = " WHERE " + strings.Join(parts, " AND ")
	}
	return text, args, nil
}

// Rows returns the planned trials that a query chooses, and how many there are
// without its limit. Nothing but the page's own rows is read.
func (r *Run) Rows(q Query) (rows []Row, all int, err error) {
	where, args, err := q.where()
	if err != nil {
		return nil, 0, err
	}
	from := rowsFrom
	if where == "" {
		from = " FROM plan"
	}
	if err := r.db.queryRow("SELECT count(*)"+from+where, args...).Scan(&all); err != nil {
		return nil, 0, r.broken("the trials", err)
	}
	order := "p.ordinal"
	if q.Order != "" {
		column, known := listColumns[q.Order]
		if !known {
			return nil, 0, fmt.Errorf("trials have no column %q to order them by; they have %s", q.Order, strings.Join(Columns(), ", "))
		}
		order = "nullif(" + column + ", '')" + map[bool]string{true: " DESC"}[q.Desc] + " NULLS LAST, p.ordinal"
	}
	limit := q.Limit
	if limit == 0 {
		limit = -1
	}
	calls := "0, 0, 0, 0.0"
	if !q.Brief {
		const of = " FROM calls c WHERE c.trial = p.ordinal), "
		calls = "(SELECT count(*)" + of + "(SELECT coalesce(sum(input_tokens), 0)" + of + "(SELECT coalesce(sum(output_tokens), 0)" + of + "(SELECT coalesce(sum(latency_ns), 0) / 1e9 FROM calls c WHERE c.trial = p.ordinal)"
	}
	// The page is found by what it is ordered by alone; the rest is read for its rows.
	query := `SELECT key, task, model, modality, regime, seed, rows, cols, strategy, batch, framing, episode,
  coalesce(outcome, ''), coalesce(error, ''), coalesce(death_cause, ''), moves, coalesce(fallbacks, 0),
  coalesce(tp, 0), coalesce(fp, 0), coalesce(fn, 0), coalesce(tn, 0), coalesce(unanswered, 0),
  ` + calls + `
FROM (SELECT p.ordinal AS place` + rowsFrom + where + ` ORDER BY ` + order + ` LIMIT ? OFFSET ?)
JOIN plan p ON p.ordinal = place LEFT JOIN results r ON r.trial = p.ordinal ORDER BY ` + order
	r.each("the trials", query, append(args, limit, q.Offset), func(s *sql.Rows) error {
		var t Row
		rows = append(rows, t)
		row := &rows[len(rows)-1]
		return s.Scan(&row.Key, &row.Task, &row.Model, &row.Modality, &row.Regime, &row.Seed, &row.Rows, &row.Cols, &row.Strategy, &row.Batch, &row.Framing, &row.Episode,
			&row.Outcome, &row.Error, &row.Cause, &row.Moves, &row.Fallbacks,
			&row.Counts.TP, &row.Counts.FP, &row.Counts.FN, &row.Counts.TN, &row.Counts.Unanswered,
			&row.Calls, &row.Input, &row.Output, &row.LatencySum)
	}, func(e error) bool { err = e; return e == nil })
	return rows, all, err
}

// Choices are the values of columns among the planned trials, those of which
// there are several, in the order of their first trial. Of what only ends can say,
// the outcome and the cause of death, they are all that there can be.
func (r *Run) Choices() (map[string][]string, error) {
	names := []string{"task", "model", "modality", "regime", "strategy", "batch", "framing", "size"}
	columns := make([]string, len(names))
	for i, name := range names {
		columns[i] = "CAST(" + listColumns[name] + " AS TEXT)"
	}
	out := map[string][]string{}
	add := func(name, value string) {
		if !slices.Contains(out[name], value) {
			out[name] = append(out[name], value)
		}
	}
	var err error
	var settings [8]string
	r.each("the plan", "SELECT "+strings.Join(columns, ", ")+" FROM plan p GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY min(ordinal)", nil, func(s *sql.Rows) error {
		v := &settings
		if err := s.Scan(&v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]); err != nil {
			return err
		}
		for i, name := range names {
			add(name, v[i])
		}
		return nil
	}, func(e error) bool { err = e; return e == nil })
	if err != nil {
		return nil, err
	}
	if out["seed"], err = values[string](r, "the plan", "SELECT CAST(seed AS TEXT) FROM plan GROUP BY seed ORDER BY min(ordinal)"); err != nil {
		return nil, err
	}
	if slices.Contains(out["task"], record.Detect) {
		add("outcome", record.Done)
	}
	if slices.Contains(out["task"], record.Navigate) {
		out["outcome"] = append(out["outcome"], record.Outcomes.Names()...)
		out["cause"] = record.Causes.Names()
	}
	out["outcome"] = append(out["outcome"], record.Failed, "")
	maps.DeleteFunc(out, func(_ string, values []string) bool { return len(values) < 2 })
	return out, nil
}

// A State is how far a run is.
type State struct {
	Planned, Done, Failed int
	Calls                 int
	Input, Output         int // tokens, as far as servers said
	// Errors are the trials that failed, by their words.
	Errors map[string]int
}

// State counts what there is.
func (r *Run) State() (s State, err error) {
	s.Planned, s.Errors = r.manifest.Trials, map[string]int{}
	err = errors.Join(
		r.db.queryRow("SELECT count(*), coalesce(sum(outcome = 'error'), 0) FROM results").Scan(&s.Done, &s.Failed),
		r.db.queryRow("SELECT count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) FROM calls").Scan(&s.Calls, &s.Input, &s.Output))
	if err != nil {
		return s, r.broken("the trials", err)
	}
	r.each("the trials", "SELECT error, count(*) FROM results WHERE outcome = 'error' GROUP BY error ORDER BY 2 DESC LIMIT 20", nil, func(rows *sql.Rows) error {
		var words string
		var n int
		err := rows.Scan(&words, &n)
		s.Errors[words] = n
		return err
	}, func(e error) bool { err = e; return e == nil })
	return s, err
}

// Writing reports whether a process writes to the run in a folder.
func Writing(dir string) bool {
	lock, err := tryLock(dir)
	if err != nil {
		return errors.Is(err, ErrBusy)
	}
	_ = lock.Close() // it was free
	return false
}

// A LastCall is one of the calls that were answered last.
type LastCall struct {
	Trial, Model, Slot, Finish, Reply string
	Seconds                           float64
}

// Last returns the calls that were answered last, the latest first, of each reply
// the first characters.
func (r *Run) Last(n, characters int) (calls []LastCall, err error) {
	const query = `SELECT p.key, coalesce(c.model, p.model), c.slot, c.finish, substr(coalesce(b.text, ''), 1, ?), c.latency_ns / 1e9
FROM calls c JOIN plan p ON p.ordinal = c.trial JOIN blobs b ON b.id = c.reply ORDER BY c.id DESC LIMIT ?`
	r.each("the calls", query, []any{characters, n}, func(s *sql.Rows) error {
		var c LastCall
		err := s.Scan(&c.Trial, &c.Model, &c.Slot, &c.Finish, &c.Reply, &c.Seconds)
		calls = append(calls, c)
		return err
	}, func(e error) bool { err = e; return e == nil })
	return calls, err
}

// Instance returns the instance of a trial.
func (r *Run) Instance(t *record.Spec) (in record.Instance, err error) {
	for one, err := range r.Instances() {
		if err != nil {
			return in, err
		}
		if one.Seed == t.Seed && one.Regime == t.Regime && len(one.Rows) == t.Rows && len(one.Rows[0]) == t.Cols {
			return one, nil
		}
	}
	return in, fmt.Errorf("trial %s: its run has no instance for it; the folder is damaged", t.Key)
}
