// Command spatialstale runs the SpatialSTALE benchmark and shows what came of
// it. This package is wiring only: one file a subcommand.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	mangokong "github.com/alecthomas/mango-kong"

	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/study"
)

// Exit codes.
const (
	exitDone    = 0
	exitFailed  = 1 // it could not run
	exitUsage   = 2
	exitStopped = 3 // stopped early, or some of it failed
	exitStale   = 4 // an audit found entries that are stale
	exitOverCap = 5 // more of them than may be removed at once
	exitMark    = 6 // a model is fit to mark stale entries, not to remove them
	exitUnfit   = 7 // a model is not to be trusted with an audit
)

// A stoppedError ends a command that did part of its work.
type stoppedError struct{ error }

// An exitWith ends a command that did its work with an exit code of its own; all
// there is to say was said.
type exitWith int

func (code exitWith) Error() string { return fmt.Sprintf("exit code %d", int(code)) }

// A usageError is a mistake in the command line.
type usageError struct{ error }

type cli struct {
	Run      runCmd      `cmd:"" help:"Run a study: the paper's on the built-in reference agents unless told otherwise."`
	Resume   resumeCmd   `cmd:"" help:"Go on where a run stopped, or make it larger."`
	Merge    mergeCmd    `cmd:"" help:"Make one run of the shards of a study that were run on several machines (docs/shards.md)."`
	Branch   branchCmd   `cmd:"" help:"Continue an episode of a run from one step on, under another strategy, memory, model or action (docs/branch.md)."`
	Play     playCmd     `cmd:"" help:"Walk the lake yourself, seeing what a model would see; the walk is stored as a run, to be reported beside models."`
	Runs     runsCmd     `cmd:"" help:"List the runs in a folder, newest first; latest names the newest in every command."`
	View     viewCmd     `cmd:"" help:"Show runs in a browser: how far they are, tables, and every trial step by step (docs/view.md)."`
	Check    checkCmd    `cmd:"" help:"Verify a run: database, contents, plan, and every trial made again from its replies."`
	Plan     planCmd     `cmd:"" help:"Say what run would do and cost: trials, calls, tokens, dollars. Spends nothing."`
	Show     showCmd     `cmd:"" help:"Show an instance, or the prompt that a model would be sent for it."`
	Report   reportCmd   `cmd:"" help:"Show every table of a run, or of several together."`
	Compare  compareCmd  `cmd:"" help:"Set two runs side by side, paired by seed."`
	Trace    traceCmd    `cmd:"" help:"Tell one trial step by step: what it saw, remembered, was told, answered."`
	Export   exportCmd   `cmd:"" help:"Write a run as files that other programs read."`
	Dataset  datasetCmd  `cmd:"" help:"Write a study's instances as a folder for other harnesses: tables, texts, pictures."`
	Score    scoreCmd    `cmd:"" help:"Score verdicts that were made elsewhere on the entries of a dataset."`
	Audit    auditCmd    `cmd:"" help:"Audit a memory of your own against what is seen now, and leave out what is stale (docs/audit.md)."`
	Models   modelsCmd   `cmd:"" help:"List the providers of models and which of their keys were found; or ping a model."`
	Env      envCmd      `cmd:"" help:"Play episodes with an agent in another program: lines of JSON in, lines of JSON out (docs/python.md)."`
	Rehearse rehearseCmd `cmd:"" help:"Answer as a model's server would, without a model: to try a run over the wire, and its troubles, for nothing."`
	Serve    serveCmd    `cmd:"" help:"Audit memories for other programs, over HTTP and MCP (docs/serve.md)."`
	MCP      mcpCmd      `cmd:"" name:"mcp" help:"Audit memories for an agent, over MCP on standard input and output (docs/serve.md)."`

	Completion completionCmd `cmd:"" help:"Print what makes a shell complete command lines: bash, zsh or fish (docs/install.md)."`
	Complete   completeCmd   `cmd:"" hidden:"" help:"Print what can follow on a command line."`

	Version kong.VersionFlag  `help:"Print the version and exit."`
	Man     mangokong.ManFlag `help:"Print the manual page and exit: spatialstale --man | man -l -."`
}

// An env is what a command touches of the world outside its arguments.
type env struct {
	ctx            context.Context // ends at once: the second signal
	stop           <-chan struct{} // closed to finish what is under way: the first signal; nil for never
	watch          func() (context.Context, <-chan struct{})
	stdout, stderr io.Writer
	now            func() time.Time
}

const description = `Benchmark of stale spatial memory, and audits that keep it out.

SpatialSTALE measures whether a model notices that its memory of a place no longer holds, and what happens when it acts on it. OMCD audits the memory before acting.`

func main() {
	signal.Ignore(syscall.SIGPIPE) // a reader that has gone is an error of writing, not the end
	os.Exit(execute(os.Args[1:], env{ctx: context.Background(), watch: signals, stdout: os.Stdout, stderr: os.Stderr, now: time.Now}))
}

// watchSignals is called by commands that end in their own way; the others are
// ended by the system.
func (e *env) watchSignals() {
	if e.watch != nil {
		e.ctx, e.stop = e.watch()
	}
}

// signals returns what an interrupt, a termination or a closed terminal does:
// the first closes the channel, the second ends the context, and a third is the
// system's.
func signals() (context.Context, <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	stop := make(chan struct{})
	came := make(chan os.Signal, 2)
	signal.Notify(came, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-came
		close(stop)
		<-came
		cancel()
		signal.Stop(came)
	}()
	return ctx, stop
}

// execute runs one command line and returns the exit code, having told stderr
// of any error.
func execute(args []string, e env) int {
	e.stdout, e.stderr = throughGate(e.stdout), throughGate(e.stderr)
	err := dispatch(args, e)
	for _, w := range []io.Writer{e.stdout, e.stderr} {
		if g, ok := w.(*gate); ok {
			if closing := g.Close(); err == nil || !errors.Is(closing, syscall.EPIPE) { // a reader that left does not change how it ended
				err = errors.Join(err, closing)
			}
		}
	}
	if err == nil || errors.Is(err, syscall.EPIPE) { // whoever read the output has seen enough
		return exitDone
	}
	var code exitWith
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintf(e.stderr, "spatialstale: %v\n", err)
	var stopped stoppedError
	var usage usageError
	var misuse run.UsageError
	switch {
	case errors.As(err, &usage), errors.As(err, &misuse):
		return exitUsage
	case errors.As(err, &stopped):
		return exitStopped
	}
	return exitFailed
}

// exitRequest carries kong's wish to exit, after --help or --version, out of
// its parser.
type exitRequest struct{ code int }

// newCLI returns the command line with the flags that are made from a study's
// settings.
func newCLI() *cli {
	c := &cli{}
	for _, f := range []*studyFlags{&c.Run.studyFlags, &c.Plan.studyFlags} {
		f.Plugins = kong.Plugins{settingFlags(false)}
		f.lakeFlags.Plugins = kong.Plugins{settingFlags(true)}
	}
	c.Dataset.lakeFlags.Plugins = kong.Plugins{settingFlags(true)}
	return c
}

// decimal reads whole numbers as people write them: 010 is ten, on every flag.
func decimal(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("number", &text); err != nil {
		return err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || target.OverflowInt(n) {
		return fmt.Errorf("want a whole number, got %q", text)
	}
	target.SetInt(n)
	return nil
}

func dispatch(args []string, e env) (err error) {
	c := newCLI()
	parser, err := kong.New(c,
		kong.Name("spatialstale"),
		kong.Description(description),
		kong.Writers(e.stdout, e.stderr),
		kong.Vars{"version": fmt.Sprintf("spatialstale %s (%s %s/%s)", record.Program(), runtime.Version(), runtime.GOOS, runtime.GOARCH), "presets": strings.Join(study.Presets(), ", ")},
		kong.Exit(func(code int) { panic(exitRequest{code}) }),
		kong.KindMapper(reflect.Int, kong.MapperFunc(decimal)),
		kong.NamedMapper("run", kong.MapperFunc(runFolder)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(exitRequest); !ok {
				err = run.PanicError(r)
			}
		}
	}()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if args[0] == "help" {
		args = append(args[1:], "--help")
	}
	if len(args) == 2 && args[0] == "audit" && slices.Contains([]string{"-h", "--help"}, args[1]) {
		args = []string{"audit", "memory", "--help"} // what audit does unless told otherwise
	}
	k, err := parser.Parse(args)
	if err != nil {
		return usageError{fmt.Errorf("%w (see spatialstale --help)", err)}
	}
	return k.Run(&e)
}
