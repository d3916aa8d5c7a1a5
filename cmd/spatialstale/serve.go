package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spatialstale/spatialstale/audit"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/models"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/run"
	"github.com/spatialstale/spatialstale/serve"
)

// serviceFlags are what serve and mcp have in common.
type serviceFlags struct {
	Model       []string      `required:"" sep:"none" placeholder:"[NAME=]MODEL" help:"A model that requests may ask, such as openai/gpt-4o, by a name of your choice; repeat. The first is asked where a request names none. With none alone, rules judge."`
	NoSchema    bool          `help:"Never ask for output that follows a schema."`
	Detail      string        `enum:",low,high,auto" default:"" placeholder:"low|high|auto" help:"How closely pictures are to be looked at, where a protocol has it."`
	InFlight    int           `placeholder:"N" help:"Most calls of each model under way at once, of each token; 64 unless given."`
	RPM         int           `name:"rpm" placeholder:"N" help:"Most calls a minute of each model, of each token."`
	Batch       int           `placeholder:"N" help:"Entries a call; 10 unless given, as in the paper."`
	Concurrency int           `placeholder:"N" help:"Calls of one audit under way at once; 8 unless given."`
	Prices      string        `placeholder:"FILE" help:"Take the prices of tokens from this YAML file in place of the list that ships."`
	Honour      []string      `enum:"kind,protected,replaced_by,expiry" placeholder:"CLAIM,…" help:"What a request may believe of what a record says of itself: kind, protected, replaced_by, expiry. Nothing unless given."`
	MaxMemories int           `placeholder:"N" help:"Most entries of a request; 10,000 unless given."`
	MaxBody     int           `placeholder:"BYTES" help:"Largest request; 8 MiB unless given."`
	AuditTime   time.Duration `placeholder:"5m" help:"Longest time for an audit."`
	MaxAudits   int           `placeholder:"N" help:"Most audits under way at once; 64 unless given."`
	logFlags
	connectionFlags `group:"How models are reached (docs/models.md):"`
}

// options are what the flags say of a service.
func (f *serviceFlags) options(e *env) (o serve.Options, err error) {
	var connection run.Options
	if err := f.connectionFlags.fill(&connection); err != nil {
		return o, err
	}
	if f.InFlight < 0 || f.RPM < 0 {
		return o, usageError{errors.New("--in-flight and --rpm must not be negative; leave them out for what is usual")}
	}
	prices := price.Shipped()
	if f.Prices != "" {
		if prices, err = price.Read(f.Prices); err != nil {
			return o, err
		}
	}
	for _, given := range f.Model {
		name, model := given, given
		if before, after, ok := strings.Cut(given, "="); ok && !strings.Contains(before, "/") {
			name, model = before, after
		}
		if given == "none" {
			continue
		}
		if err := models.Check(model); err != nil {
			return o, usageError{err}
		}
		priced, _ := prices.Of(model)
		o.Models = append(o.Models, serve.Model{Name: name, Price: priced, Open: func(b *price.Budget) (audit.Model, error) {
			return models.Open(model, models.Options{
				Settings: provider.Settings{Deadlines: connection.Deadlines, Stream: connection.Stream, NoSchema: f.NoSchema, Detail: f.Detail},
				Getenv:   connection.Getenv, Prices: prices, Budget: b, Limit: llm.LimitOptions{InFlight: f.InFlight, RPM: f.RPM},
			})
		}})
	}
	has := func(claim string) bool { return slices.Contains(f.Honour, claim) }
	o.Honour = audit.Honour{Kind: has("kind"), Protected: has("protected"), ReplacedBy: has("replaced_by"), Expiry: has("expiry")}
	o.Limits = serve.Limits{Memories: f.MaxMemories, Body: f.MaxBody, Time: f.AuditTime, Audits: f.MaxAudits, AuditsEach: (f.MaxAudits + 1) / 2}
	o.Batch, o.Concurrency = f.Batch, f.Concurrency
	o.Version, o.Now = record.Program(), e.now
	if f.Log != "" {
		o.Keep = func(account string) (serve.Recorder, error) {
			return f.open(e, filepath.Join(f.Log, account))
		}
	}
	return o, nil
}

type serveCmd struct {
	serviceFlags
	Listen string   `default:"127.0.0.1:8642" placeholder:"HOST:PORT" help:"Address to answer at, 127.0.0.1:8642 unless given; port 0 takes a free one."`
	Host   []string `placeholder:"NAME" help:"A name besides the loopback's that requests may be for, without a port; repeat."`
	Origin []string `placeholder:"URL" help:"The origin of a page that may ask, such as https://app.example.org; repeat. No page may, unless given."`
	Tokens string   `placeholder:"FILE" help:"Take tokens, each with a name, a budget and models, from this YAML file. Unless given, there is one: that of the variable SPATIALSTALE_TOKEN, or one that is made and shown once."`
	Budget *amount  `placeholder:"USD" help:"What the calls of the one token may cost, until the service ends. Needs the price of each model."`
	Quiet  bool     `help:"No line for each request."`
	Spec   bool     `name:"openapi" help:"Write the description of the HTTP API, OpenAPI 3.1 as JSON, and serve nothing."`
}

// tokenVar is the variable that holds the one token.
const tokenVar = "SPATIALSTALE_TOKEN"

// Run answers requests until it is told to stop, and then finishes those that
// are under way.
func (c *serveCmd) Run(e *env) error {
	e.watchSignals()
	o, err := c.options(e)
	if err != nil {
		return err
	}
	o.Hosts, o.Origins = c.Host, c.Origin
	level := slog.LevelInfo
	if c.Quiet {
		level = slog.LevelWarn
	}
	o.Log = slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level}))
	made, err := c.accounts(&o)
	if err != nil {
		return err
	}
	s, err := serve.New(o)
	if err != nil {
		return usageError{err}
	}
	if c.Spec {
		spec, err := s.OpenAPI()
		if err == nil {
			_, err = e.stdout.Write(spec)
		}
		return err
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(e.stdout, "http://%s\n", l.Addr()); err != nil {
		_ = l.Close() // nobody will ask it
		return err
	}
	if made != "" {
		fmt.Fprintf(e.stderr, "The token, which is not shown again: %s\n", made)
	}
	if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() && len(c.Host) == 0 {
		fmt.Fprintf(e.stderr, "It listens beyond this machine, and answers requests for localhost only; name others with --host.\n")
	}
	return s.Serve(e.ctx, l, e.stop)
}

// accounts sets who may ask, and returns the token if it was made.
func (c *serveCmd) accounts(o *serve.Options) (made string, err error) {
	if c.Tokens != "" {
		if c.Budget != nil {
			return "", usageError{fmt.Errorf("--budget is of the one token; with --tokens, %s has a budget for each", c.Tokens)}
		}
		o.Accounts, err = serve.ReadAccounts(c.Tokens)
		return "", err
	}
	o.Limits.AuditsEach = cmp.Or(c.MaxAudits, serve.DefaultLimits.Audits) // nobody else asks
	token := os.Getenv(tokenVar)
	if token == "" {
		made = serve.NewToken()
		token = made
	}
	sum, err := serve.HashToken(token)
	if err != nil {
		return "", usageError{fmt.Errorf("%s: %w", tokenVar, err)}
	}
	o.Accounts = []serve.Account{{Name: "token", Token: sum, Budget: (*price.USD)(c.Budget), Operator: true}}
	return made, nil
}

type mcpCmd struct {
	serviceFlags
	Budget *amount `placeholder:"USD" help:"What the calls may cost. Needs the price of each model."`
}

// Run speaks the Model Context Protocol over standard input and output.
func (c *mcpCmd) Run(e *env) error {
	e.watchSignals()
	o, err := c.options(e)
	if err != nil {
		return err
	}
	o.Log = slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := serve.New(o)
	if err != nil {
		return usageError{err}
	}
	return s.ServeStdio(e.ctx, os.Stdin, e.stdout, serve.Account{Name: "stdio", Budget: (*price.USD)(c.Budget)}, e.stop)
}
