package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"time"

	"github.com/spatialstale/spatialstale/llm/llmtest"
	"github.com/spatialstale/spatialstale/run"
)

type rehearseCmd struct {
	Listen     string        `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Loopback address to answer at; port 0 takes a free one."`
	Control    string        `default:"ref/reader" placeholder:"NAME" help:"Control that answers where a request's model is not itself one."`
	Delay      time.Duration `placeholder:"200ms" help:"How long each answer takes."`
	Faults     string        `placeholder:"429=0.1,…" help:"What goes wrong, with which probability: 429, 429-date, 429-ms, 529, 500, 502, quota, bad-key, no-model, too-long, hang, silence, trickle, reset, cut, cut-json, html, gzip, error-object, no-choices, null-content, length, filter, endless; in batches also expire and missing. With seed=N other draws, with first=N in the first N attempts of a call only."`
	RetryAfter time.Duration `default:"1s" placeholder:"1s" help:"How long a refused request is told to wait."`
	Refuse     []string      `placeholder:"PARAM,…" help:"Parameters that the server does not take, such as temperature, response_format or max_tokens."`
	Certainty  float64       `placeholder:"P" help:"Claim this probability, below 1, of each boolean that is written, where log-probabilities are asked for."`
	Blind      bool          `help:"Drop the pictures of requests without a word, as some proxies do."`
	BatchTime  time.Duration `placeholder:"1m" help:"How long a batch takes; it has ended when it is asked for unless given."`
	BatchMost  int           `placeholder:"N" help:"Most calls that may be in batches of OpenAI's interface at once."`
	Ledger     string        `placeholder:"FILE" help:"Append each answered request to this file, a JSON object a line."`
}

// Run answers requests of every protocol that we speak until it is told to stop.
func (c *rehearseCmd) Run(e *env) error {
	e.watchSignals()
	faults, err := llmtest.Script(c.Faults)
	if err != nil {
		return usageError{err}
	}
	s, err := llmtest.Listen(c.Listen, llmtest.Options{
		Control: c.Control, Delay: c.Delay, Faults: faults, RetryAfter: c.RetryAfter, Refuse: c.Refuse, Certainty: c.Certainty, Blind: c.Blind, Ledger: c.Ledger, BatchTime: c.BatchTime, BatchMost: c.BatchMost,
	})
	var network *net.OpError
	var file *fs.PathError
	switch {
	case errors.As(err, &network), errors.As(err, &file):
		return err
	case err != nil:
		return usageError{err}
	}
	if _, err := fmt.Fprintln(e.stdout, s.URL); err != nil {
		_ = s.Close() // nobody will ask it
		return err
	}
	fmt.Fprintf(e.stderr, "A built-in control answers there, no model. From another terminal:\n"+
		"  %s=1 REHEARSE_BASE_URL=%s spatialstale run quick --model openai-api/rehearse/%s\n"+
		"or, by the protocols of Anthropic, Gemini and Ollama:\n"+
		"  %[1]s=1 ANTHROPIC_API_KEY=none ANTHROPIC_BASE_URL=%[2]s spatialstale run quick --model anthropic/%[3]s\n"+
		"  %[1]s=1 GEMINI_API_KEY=none GOOGLE_BASE_URL=%[2]s spatialstale run quick --model google/%[3]s\n"+
		"  %[1]s=1 OLLAMA_HOST=%[2]s spatialstale run quick --model ollama/%[3]s\n", run.NameCallsVar, s.URL, c.Control)
	select {
	case <-e.ctx.Done():
	case <-e.stop:
	}
	err = s.Close()
	t := llmtest.Count(s.Entries())
	fmt.Fprintf(e.stderr, "%d requests, %d answered: %d different calls, %d repeated\n", t.Asked, t.Answered, t.Distinct, t.Repeated)
	return err
}
