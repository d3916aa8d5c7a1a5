package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/audit/provenance"
	"github.com/spatialstale/spatialstale/audit/shape"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/models"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/serve"
)

type auditCmd struct {
	Memory auditMemoryCmd `cmd:"" default:"withargs" help:"Audit a memory of your own against what is seen now. The filtered memory goes to the standard output in its own form, the report to the standard error. Exit code 4 says that something is stale, 5 that more is than may be removed at once, 3 that some of it could not be audited."`
	Log    auditLogCmd    `cmd:"" help:"Show what judged the entries of a memory, out of a log that was kept (docs/serve.md)."`
}

type auditMemoryCmd struct {
	Memories string   `required:"" placeholder:"FILE|DIR|-" help:"The memory: a file, a folder of Markdown files, or - for the standard input. Its form is recognised."`
	Format   string   `enum:",mem0,letta,graphiti,langgraph,mcp,markdown,lines,json" default:"" placeholder:"FORM" help:"The form, where it is not to be recognised: mem0, letta, graphiti, langgraph, mcp, markdown, lines or json."`
	See      string   `name:"observation" placeholder:"FILE|-" help:"What is seen now, as text. Lines of key: value, or a JSON object, also judge entries of that form without a model."`
	Observe  []string `sep:"none" placeholder:"CMD" help:"A command whose output is what is seen now, such as 'git ls-files'; repeat."`
	Image    []string `sep:"none" placeholder:"FILE" help:"A picture of what is seen now: PNG, JPEG or GIF; repeat."`
	Context  string   `placeholder:"TEXT" help:"What the memory and the observation are about, in a sentence or two."`

	Model    string  `required:"" placeholder:"NAME" help:"The model that audits, such as openai/gpt-4o or ollama/qwen3:8b; none for what needs no model."`
	Budget   *amount `placeholder:"USD" help:"Stop before a call could make the audit cost more. Needs the model's price."`
	Prices   string  `placeholder:"FILE" help:"Take the prices of tokens from this YAML file in place of the list that ships."`
	NoSchema bool    `help:"Never ask for output that follows a schema."`

	Policy          string   `enum:"remove,mark,unknown,correct" default:"remove" help:"What happens to stale entries: remove, mark, unknown (kept as something not known now), or correct (removed, and a correction proposed)."`
	Protect         []string `placeholder:"KIND,…" help:"Kinds of entries that are never asked about or removed, such as rule, preference or event."`
	Honour          []string `enum:"kind,protected,replaced_by,expiry" placeholder:"CLAIM,…" help:"What is believed of what a record says of itself: kind, protected, replaced_by, expiry. Nothing unless given: whoever writes a memory writes these."`
	Closed          bool     `help:"Leave out what could not be audited. Unless given it is kept."`
	Shadow          bool     `help:"Audit, and keep everything as it is."`
	MaxRemoved      *int     `placeholder:"N" help:"Remove nothing when more entries than this are stale, and say so."`
	MaxRemovedShare *float64 `placeholder:"SHARE" help:"The same for a share of all entries, from 0 to 1."`
	MaxAsked        *int     `placeholder:"N" help:"Ask about so many entries at most; the others are unaudited."`
	Batch           *int     `placeholder:"N" help:"Entries a call; 10 unless given, as in the paper."`
	Concurrency     *int     `placeholder:"N" help:"Calls under way at once; 8 unless given."`
	MaxRetries      *int     `placeholder:"N" help:"How often a call that failed in a way that may pass is tried again; 7 unless given."`
	NoCheck         bool     `help:"Leave out the two entries of known verdict that each call has among its own."`

	JSON     bool   `name:"json" xor:"form" help:"Write verdicts and what is kept as JSON in place of the filtered memory."`
	Markdown bool   `xor:"form" help:"Write a report as Markdown, for a pull request, in place of the filtered memory."`
	Plan     bool   `xor:"form" help:"Write the store's own calls, or a patch, that would apply the audit. Nothing is ever written to a store."`
	Out      string `placeholder:"FILE|DIR" help:"Write the filtered memory to this new file or folder."`
	Quiet    bool   `help:"No report on the standard error."`

	logFlags
	connectionFlags `group:"How models are reached (docs/models.md):"`
}

// Bounds on what is read.
const (
	maxObservation = 256 << 10 // it goes into every batch
	maxPicture     = 20 << 20
	observeTime    = time.Minute
)

// Run audits a memory.
func (c *auditMemoryCmd) Run(e *env) error {
	options, err := c.options(e)
	if err != nil {
		return err
	}
	model, priced, err := c.model()
	if err != nil {
		return err
	}
	options.RulesOnly = model == nil
	auditor, err := audit.New(model, options)
	if err != nil {
		return usageError{err}
	}
	store, err := c.store()
	if err != nil && (store == nil || !errors.Is(err, shape.ErrEmpty)) { // nothing remembered is nothing stale
		return err
	}
	if err := c.outIsFree(store.Format == shape.Folder); err != nil { // before the calls are paid for
		return err
	}
	seen, from, err := c.observation(e.ctx)
	if err != nil {
		return err
	}
	result, err := auditor.Audit(e.ctx, store.Memories, seen)
	if result == nil {
		return err
	}
	made := &provenance.Audit{
		Trigger: "command", Model: c.Model, Price: priced, Prompt: auditor.PromptVersion(), Memories: store.Memories, Observation: seen, Result: result,
	}
	notKept := c.keep(e, made)
	answer := serve.AnswerOf(made)
	report := shape.Report{Store: store, Result: result, Memories: named(c.Memories), Seen: from, Shadow: c.Shadow}
	if model != nil {
		report.Judge = c.Model
	}
	if cost := answer.Usage.CostUSD; cost != nil && *cost > 0 {
		report.Cost = fmt.Sprintf("$%.4f", *cost)
	}
	if !c.Quiet {
		width := 0
		if isTerminal(e.stderr) {
			width = terminalWidth(e.stderr)
		}
		colours := colored(e.stderr)
		if _, err := io.WriteString(e.stderr, report.Text(width, colours)); err != nil && !errors.Is(err, syscall.EPIPE) {
			return err
		}
	}
	if err := c.write(e, &report, answer); err != nil && !errors.Is(err, syscall.EPIPE) { // whether something is stale is told by the exit code as well
		return err
	}
	if notKept != nil {
		return notKept
	}
	return c.outcome(result, err)
}

// outcome is how the command ends.
func (c *auditMemoryCmd) outcome(r *audit.Result, err error) error {
	left := slices.ContainsFunc(r.Verdicts, func(v audit.Verdict) bool {
		return v.Status == audit.Unaudited && v.Why != audit.Protected && v.Why != audit.Empty && v.Why != audit.NotAsked
	})
	switch {
	case errors.Is(err, audit.ErrEscalated):
		return exitWith(exitOverCap)
	case err != nil:
		return err
	case r.Stale() > 0:
		return exitWith(exitStale)
	case left && len(r.Failures) > 0:
		return stoppedError{fmt.Errorf("some of the memory could not be audited: %w", r.Failures[0])}
	case left:
		return exitWith(exitStopped)
	}
	return nil
}

// options are what the flags say of the audit.
func (c *auditMemoryCmd) options(e *env) (o audit.Options, err error) {
	for flag, n := range map[string]*int{"max-removed": c.MaxRemoved, "max-asked": c.MaxAsked, "batch": c.Batch, "concurrency": c.Concurrency} {
		if n != nil && *n < 1 {
			return o, usageError{fmt.Errorf("--%s %d: want at least 1; leave it out for the default", flag, *n)}
		}
	}
	if s := c.MaxRemovedShare; s != nil && !(*s > 0 && *s <= 1) {
		return o, usageError{fmt.Errorf("--max-removed-share %v: want a share above 0, and 1 at most", *s)}
	}
	if n := c.MaxRetries; n != nil && *n < 0 {
		return o, usageError{fmt.Errorf("--max-retries %d: it must not be negative; 0 never tries again", *n)}
	}
	has := func(claim string) bool { return slices.Contains(c.Honour, claim) }
	o = audit.Options{
		Context: c.Context, Policy: audit.Policy(c.Policy), Closed: c.Closed, Shadow: c.Shadow, Protect: c.Protect,
		Honour:     audit.Honour{Kind: has("kind"), Protected: has("protected"), ReplacedBy: has("replaced_by"), Expiry: has("expiry")},
		MaxRemoved: value(c.MaxRemoved), MaxRemovedShare: value(c.MaxRemovedShare), MaxEntries: value(c.MaxAsked),
		Batch: value(c.Batch), Concurrency: value(c.Concurrency), NoCheck: c.NoCheck, Now: e.now,
	}
	if isTerminal(e.stderr) && !c.Quiet {
		told := e.now()
		o.Progress = func(judged, asked int) {
			if now := e.now(); judged < asked && now.Sub(told) >= 10*time.Second {
				told = now
				fmt.Fprintf(e.stderr, "%d of %d entries judged\n", judged, asked)
			}
		}
	}
	return o, nil
}

// model opens the model; nil for none.
func (c *auditMemoryCmd) model() (audit.Model, *price.Price, error) {
	if c.Model == "none" {
		return nil, nil, nil
	}
	if err := models.Check(c.Model); err != nil {
		return nil, nil, usageError{err}
	}
	var connection run.Options
	if err := c.connectionFlags.fill(&connection); err != nil {
		return nil, nil, err
	}
	prices := price.Shipped()
	if c.Prices != "" {
		var err error
		if prices, err = price.Read(c.Prices); err != nil {
			return nil, nil, err
		}
	}
	var budget *price.Budget
	if c.Budget != nil {
		budget = price.NewBudget((*price.USD)(c.Budget))
	}
	var retry llm.RetryOptions
	if c.MaxRetries != nil {
		retry.Attempts = *c.MaxRetries + 1
	}
	m, err := models.Open(c.Model, models.Options{
		Settings: provider.Settings{Deadlines: connection.Deadlines, Stream: connection.Stream, NoSchema: c.NoSchema},
		Getenv:   connection.Getenv, Prices: prices, Budget: budget, Limit: llm.LimitOptions{InFlight: value(c.Concurrency)}, Retry: retry,
	})
	priced, _ := prices.Of(c.Model)
	return m, priced, err
}

// store reads the memory.
func (c *auditMemoryCmd) store() (*shape.Store, error) {
	if info, err := os.Stat(c.Memories); err == nil && info.IsDir() {
		if c.Format != "" {
			return nil, usageError{errors.New("--format is for a file; a folder holds Markdown files")}
		}
		s, err := shape.ReadFolder(os.DirFS(c.Memories), c.Memories)
		if s != nil {
			s.Dir = below(c.Memories)
		}
		return s, err
	}
	if c.Memories == "-" && (c.See == "-") {
		return nil, usageError{errors.New("--memories and --observation cannot both be the standard input")}
	}
	data, err := readInput(c.Memories, shape.MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("the memory: %w", err)
	}
	s, err := shape.ReadAs(shape.Format(c.Format), filepath.Base(named(c.Memories)), data)
	if s != nil && c.Memories != "-" {
		s.Dir = below(filepath.Dir(c.Memories))
	}
	return s, err
}

// below is a folder as seen from the working directory, with slashes; "" for
// that itself, and for one that is not below it, where no patch would reach.
func below(dir string) string {
	if here, err := os.Getwd(); err == nil && filepath.IsAbs(dir) {
		if rel, err := filepath.Rel(here, dir); err == nil {
			dir = rel
		}
	}
	if dir = filepath.Clean(dir); dir == "." || !filepath.IsLocal(dir) {
		return ""
	}
	return filepath.ToSlash(dir)
}

// named is how an input is called.
func named(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// readInput reads a file, or the standard input, of so many bytes at most.
func readInput(path string, most int) ([]byte, error) {
	in := os.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, int64(most)+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("%s has more than %d kB", named(path), most>>10)
	}
	return data, err
}

// observation is what is seen now, and what it is called in a report.
func (c *auditMemoryCmd) observation(ctx context.Context) (o audit.Observation, name string, err error) {
	var names []string
	if c.See != "" {
		text, err := readInput(c.See, maxObservation)
		if err != nil {
			return o, "", fmt.Errorf("the observation, which every call has: %w", err)
		}
		o.Text, names = string(text), append(names, named(c.See))
		if audit.Structured(o.Text) {
			o.Facts = audit.Facts(o.Text)
		}
	}
	for _, command := range c.Observe {
		text, err := output(ctx, command)
		if err != nil {
			return o, "", fmt.Errorf("--observe %q: %w", command, err)
		}
		o.Text, names = o.Text+"$ "+command+"\n"+text, append(names, fmt.Sprintf("the output of %q", command))
	}
	if len(o.Text) > maxObservation {
		return o, "", fmt.Errorf("what is seen has %d kB, and goes into every call; at most %d kB are taken: look at less, as in 'git ls-files src'", len(o.Text)>>10, maxObservation>>10)
	}
	for _, path := range c.Image {
		file, err := readInput(path, maxPicture)
		if err != nil {
			return o, "", fmt.Errorf("--image: %w", err)
		}
		o.Images, names = append(o.Images, file), append(names, path)
	}
	if len(names) == 0 {
		return o, "", usageError{errors.New("nothing is seen: give --observation FILE, --observe 'COMMAND' or --image FILE")}
	}
	return o, strings.Join(names, " and "), nil
}

// output runs a command of the user's in the system's shell and returns what it
// writes.
func output(ctx context.Context, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, observeTime)
	defer cancel()
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C"}
	}
	cmd := exec.CommandContext(ctx, shell[0], append(shell[1:], command)...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &capped{to: &out, left: maxObservation + 1}, &capped{to: &complaints, left: 1000}, time.Second
	err := cmd.Run()
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("it was not done after %v", observeTime)
	case err != nil:
		return "", fmt.Errorf("%w: %s", err, cmp.Or(strings.TrimSpace(complaints.String()), "it says nothing"))
	case strings.TrimSpace(out.String()) == "":
		return "", errors.New("it wrote nothing; there is nothing to hold the memory against")
	}
	return out.String(), nil
}

// A capped writer drops what is more than so many bytes.
type capped struct {
	to   io.Writer
	left int
}

// Write implements io.Writer.
func (c *capped) Write(b []byte) (int, error) {
	n, err := c.to.Write(b[:min(len(b), c.left)])
	c.left -= n
	return len(b), err
}

// write writes what was asked for.
func (c *auditMemoryCmd) write(e *env, report *shape.Report, answer *serve.AuditAnswer) error {
	files := report.Store.Apply(report.Result.Verdicts)
	if c.Out != "" {
		if err := writeFiles(c.Out, report.Store.Format == shape.Folder, files); err != nil {
			return err
		}
	}
	var text string
	switch {
	case c.JSON:
		return writeJSON(e.stdout, answer)
	case c.Markdown:
		text = report.Markdown()
	case c.Plan:
		text = report.Store.Plan(report.Result.Verdicts)
	case c.Out != "" || isTerminal(e.stdout):
		return nil
	default:
		for _, f := range files {
			if report.Store.Format == shape.Folder {
				text += "<!-- " + f.Name + " -->\n"
			}
			text += string(f.Data)
		}
	}
	_, err := io.WriteString(e.stdout, text)
	return err
}

// outIsFree reports an error if nothing can be written to --out because
// something is there, or because there is no folder for it.
func (c *auditMemoryCmd) outIsFree(folder bool) error {
	if c.Out == "" {
		return nil
	}
	if entries, err := os.ReadDir(c.Out); err == nil {
		if !folder || len(entries) > 0 {
			return usageError{fmt.Errorf("--out %s: it is a folder that is there already; name a new one", c.Out)}
		}
		return nil
	}
	if _, err := os.Lstat(c.Out); err == nil {
		return usageError{fmt.Errorf("--out %s: it is there already; nothing is overwritten", c.Out)}
	}
	if !folder {
		if _, err := os.Stat(filepath.Dir(c.Out)); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	return nil
}

// writeFiles writes a filtered memory to a place where nothing is.
func writeFiles(out string, folder bool, files []shape.File) error {
	for _, f := range files {
		path := out
		if folder {
			path = filepath.Join(out, filepath.FromSlash(f.Name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
		}
		w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			return usageError{fmt.Errorf("--out %s: it is there already; nothing is overwritten", path)}
		}
		if err != nil {
			return err
		}
		_, err = w.Write(f.Data)
		if err := errors.Join(err, w.Close()); err != nil {
			return err
		}
	}
	return nil
}
