package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/audit/provenance"
	"github.com/spatialstale/spatialstale/llm/price"
)

// logFlags say what is kept of verdicts.
type logFlags struct {
	Log        string `placeholder:"DIR" help:"Keep what judged each entry in this folder, without memories and reasons; see spatialstale audit log."`
	Keep       age    `default:"30d" placeholder:"30d" help:"How long verdicts are kept: such as 90d or 12h; 0 for no end but 256 MB."`
	LogReasons bool   `help:"Keep the models' reasons as well, which may repeat a memory."`
}

// open opens a log in a folder.
func (f *logFlags) open(e *env, dir string) (*provenance.Log, error) {
	return provenance.Open(dir, provenance.Options{
		Keep: time.Duration(f.Keep), Reasons: f.LogReasons, Now: e.now, Warn: func(text string) { fmt.Fprintln(e.stderr, text) },
	})
}

// keep keeps what judged the entries of an audit, if that was asked for.
func (f *logFlags) keep(e *env, a *provenance.Audit) error {
	if f.Log == "" {
		return nil
	}
	l, err := f.open(e, f.Log)
	if err != nil {
		return err
	}
	return errors.Join(l.Append(a), l.Close())
}

// An age is a time on the command line, also in days.
type age time.Duration

// UnmarshalText reads "30d" or "12h30m".
func (a *age) UnmarshalText(text []byte) error {
	s := string(text)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n <= 36500 {
			*a = age(time.Duration(n) * 24 * time.Hour)
			return nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d >= 0 || s == "0" {
		*a = age(d)
		return nil
	}
	return fmt.Errorf("%q is no length of time; write it as 30d or 12h", s)
}

// auditLogCmd tells what judged entries: audit log.
type auditLogCmd struct {
	Log    string `arg:"" placeholder:"DIR" help:"The folder of a log: that of --log, and of a service within it that of a token."`
	Since  age    `placeholder:"7d" help:"Only verdicts that are not older."`
	Status string `enum:",stale,valid,not-covered,unaudited" default:"" placeholder:"STATUS" help:"Only verdicts of this status: stale, valid, not-covered or unaudited."`
	Text   string `placeholder:"TEXT" help:"Only verdicts on the memory with this text, which the log has a hash of."`
	ID     string `name:"id" placeholder:"ID" help:"Only verdicts on the memory with this id."`
	JSON   bool   `name:"json" help:"The verdicts as JSON Lines."`
	Prune  age    `placeholder:"30d" help:"First remove what is older, to the hour."`
}

// Run writes the verdicts that are asked for, and what they come to.
func (c *auditLogCmd) Run(e *env) error {
	if err := c.isLog(); err != nil {
		return err
	}
	if c.Prune > 0 {
		if err := provenance.Prune(c.Log, time.Duration(c.Prune), e.now()); err != nil {
			return err
		}
	}
	asked, err := c.filter()
	if err != nil {
		return err
	}
	var since time.Time
	if c.Since > 0 {
		since = e.now().Add(-time.Duration(c.Since))
	}
	show := c.table
	if c.JSON {
		show = c.lines
	}
	return show(e, func(yield func(provenance.Verdict) bool) error {
		var broken []error
		for v, err := range provenance.Read(c.Log, since) {
			if err != nil {
				broken = append(broken, err)
			} else if asked(&v) && !yield(v) {
				break
			}
		}
		return errors.Join(broken...)
	})
}

// isLog returns an error unless the folder is that of one log.
func (c *auditLogCmd) isLog() error {
	_, err := provenance.ReadKey(c.Log)
	if !errors.Is(err, fs.ErrNotExist) {
		return nil // a key that cannot be read is needed for hashes only
	}
	if _, err := os.ReadDir(c.Log); err != nil {
		return err
	}
	if files, err := filepath.Glob(filepath.Join(c.Log, "*.jsonl")); err == nil && len(files) > 0 {
		return nil // a copy without the key
	}
	logs, err := filepath.Glob(filepath.Join(c.Log, "*", "*.jsonl"))
	for i := range logs {
		logs[i] = filepath.Dir(logs[i])
	}
	if logs = slices.Compact(logs); err == nil && len(logs) > 0 {
		return fmt.Errorf("%s holds the logs of several tokens; name one: %s", c.Log, strings.Join(logs, ", "))
	}
	return fmt.Errorf("%s holds no log of verdicts", c.Log)
}

// filter returns what tells the verdicts that are asked for.
func (c *auditLogCmd) filter() (func(*provenance.Verdict) bool, error) {
	var key provenance.Key
	if c.Text != "" || c.ID != "" {
		var err error
		if key, err = provenance.ReadKey(c.Log); err != nil {
			return nil, fmt.Errorf("the hashes of this log cannot be made without its key: %w", err)
		}
	}
	entry, id := key.Entry(&audit.Memory{Text: c.Text}), key.ID(c.ID)
	return func(v *provenance.Verdict) bool {
		return (c.Status == "" || v.Status == c.Status) && (c.Text == "" || v.Entry == entry) && (c.ID == "" || v.ID == id)
	}, nil
}

// found calls a function with each verdict that is asked for.
type found func(yield func(provenance.Verdict) bool) error

func (c *auditLogCmd) lines(e *env, verdicts found) error {
	enc := json.NewEncoder(e.stdout)
	var written error
	err := verdicts(func(v provenance.Verdict) bool {
		written = enc.Encode(v)
		return written == nil
	})
	return errors.Join(err, written)
}

func (c *auditLogCmd) table(e *env, verdicts found) error {
	w := tabwriter.NewWriter(e.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "time\tverdict\taction\tby\tset off by\tcost\ttook\tentry\treason")
	counts, cost, unpriced := map[string]int{}, 0.0, 0
	err := verdicts(func(v provenance.Verdict) bool {
		counts[v.Status]++
		spent, took := "", ""
		switch {
		case v.CostUSD != nil:
			cost += *v.CostUSD
			usd, _ := price.FromDollars(*v.CostUSD)
			spent = usd.String()
		case v.Calls > 0:
			unpriced++
			spent = "unknown"
		}
		if v.Calls > 0 {
			took = v.Took.Round(time.Millisecond).String()
		}
		_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.Time.Format("2006-01-02 15:04:05Z"), v.Status, v.Action, judgedBy(&v), v.Trigger, spent, took, v.Entry[:min(12, len(v.Entry))], v.Reason)
		return err == nil
	})
	if err := errors.Join(err, w.Flush()); err != nil {
		return err
	}
	return c.sum(e.stdout, counts, cost, unpriced)
}

// judgedBy says what a verdict is from.
func judgedBy(v *provenance.Verdict) string {
	by := v.Tier
	if v.Model != "" {
		by = v.Model + " (prompt " + v.Prompt + ")"
	}
	if v.Cached {
		by += ", remembered"
	}
	if v.Why != "" {
		by = strings.TrimPrefix(by+", "+v.Why, ", ")
	}
	return by
}

func (c *auditLogCmd) sum(w io.Writer, counts map[string]int, cost float64, unpriced int) error {
	usd, _ := price.FromDollars(cost)
	_, err := fmt.Fprintf(w, "\n%d stale, %d valid, %d not covered, %d unaudited; %v", counts[audit.Stale], counts[audit.Valid], counts[audit.NotCovered], counts[audit.Unaudited], usd)
	if unpriced > 0 {
		fmt.Fprintf(w, ", and what the %d verdicts cost whose price is not known", unpriced)
	}
	fmt.Fprintln(w)
	return err
}
