package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/spatialstale/spatialstale/run"
)

// runsFolder is where runs are kept unless told otherwise.
const runsFolder = "runs"

type runsCmd struct {
	Folder string `arg:"" optional:"" default:"runs" help:"Folder to look in; runs unless given."`
	JSON   bool   `name:"json" help:"Write JSON."`
}

// Run lists the runs below a folder, the newest first.
func (c *runsCmd) Run(e *env) error {
	runs, err := run.List(c.Folder)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(e.stdout, listedRuns(runs))
	}
	if len(runs) == 0 {
		fmt.Fprintf(e.stderr, "no run below %s; spatialstale run makes one\n", c.Folder)
		return nil
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "run\tbegun\tstate\ttrials\tstudy\tmodels")
	for i := range runs {
		r := &runs[i]
		if r.Err != nil {
			fmt.Fprintf(w, "%s\t%s\t%s: %v\n", r.Name, r.Created.UTC().Format("2006-01-02 15:04"), r.Status(), r.Err)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d of %d\t%s\t%s\n", r.Name, r.Created.UTC().Format("2006-01-02 15:04"), r.Status(), r.Done, r.Planned, r.Title, shortList(r.Models))
	}
	return w.Flush()
}

// shortList names a few models and counts the others.
func shortList(names []string) string {
	const few = 2
	if len(names) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}

// A listedRun is a run as runs --json has it.
type listedRun struct {
	Folder  string   `json:"folder"`
	Title   string   `json:"study"`
	Created string   `json:"created"`
	Updated string   `json:"updated"`
	Status  string   `json:"status"`
	Models  []string `json:"models"`
	Planned int      `json:"trials"`
	Done    int      `json:"done"`
	Failed  int      `json:"failed"`
	Calls   int      `json:"calls"`
	Spent   *float64 `json:"spent_usd_at_most"` // null where it is not known
	Error   string   `json:"error,omitempty"`
}

func listedRuns(runs []run.Listed) []listedRun {
	out := make([]listedRun, len(runs))
	for i := range runs {
		r := &runs[i]
		l := listedRun{
			Folder: r.Dir, Title: r.Title, Created: r.Created.UTC().Format(jsonTime), Updated: r.Updated.UTC().Format(jsonTime), Status: r.Status(),
			Models: append([]string{}, r.Models...), Planned: r.Planned, Done: r.Done, Failed: r.Failed, Calls: r.Calls,
		}
		if r.Spent != nil {
			dollars := r.Spent.Dollars()
			l.Spent = &dollars
		}
		if r.Err != nil {
			l.Error = r.Err.Error()
		}
		out[i] = l
	}
	return out
}

const jsonTime = "2006-01-02T15:04:05Z"

// latest is the name of the newest run below runsFolder, wherever a command takes
// a run's folder.
const latest = "latest"

// runFolder reads a run's folder on the command line.
func runFolder(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("folder", &text); err != nil {
		return err
	}
	dir, err := folderOf(text)
	target.SetString(dir)
	return err
}

// folderOf is the folder that is meant by one on the command line.
func folderOf(text string) (string, error) {
	if _, err := os.Stat(text); text == latest && err != nil {
		return run.Latest(runsFolder)
	}
	return text, nil
}
