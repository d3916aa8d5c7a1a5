package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spatialstale/spatialstale/llm/models"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/reference"
	"github.com/spatialstale/spatialstale/run"
)

type modelsCmd struct {
	Ping   bool     `help:"Make one call to each --model, to see that it answers: one small step with a picture. It costs what one call costs; a model that takes no picture is asked once more, in text."`
	Check  bool     `help:"Say of each --model whether it can be trusted to audit a memory: built-in cases of known verdict and one seed of the benchmark, some 50 calls. Exit code 6: only to mark; 7: not at all (docs/audit.md)."`
	Model  []string `sep:"none" placeholder:"NAME" help:"Model to ping or to check; repeat for several."`
	Prices bool     `help:"List the prices that are known, with their dates and sources; with FILE, those of that file."`
	File   string   `arg:"" optional:"" help:"With --prices: a list of prices of your own."`
	JSON   bool     `name:"json" help:"Write JSON."`

	connectionFlags `group:"How models are reached (docs/models.md):"`
	requestFlags    `group:"How models are reached (docs/models.md):"`
}

// Run lists the providers, or makes one call to each named model.
func (c *modelsCmd) Run(e *env) error {
	switch {
	case c.Prices && (c.Ping || c.Check || len(c.Model) > 0):
		return usageError{errors.New("--prices asks no model; give it alone, or with a file")}
	case c.File != "" && !c.Prices:
		return usageError{fmt.Errorf("%s: models takes a file only with --prices; a model to ask is given with --model", c.File)}
	case c.Prices:
		return c.listPrices(e)
	case c.Ping && c.Check:
		return usageError{errors.New("--ping and --check: give one of them")}
	case c.Check && len(c.Model) == 0:
		return usageError{errors.New("--check asks the models that you name, as in --check --model openai/gpt-4o; each call is paid for")}
	case c.Ping && len(c.Model) == 0:
		return usageError{errors.New("--ping asks the models that you name, as in --ping --model openai/gpt-4o; each call is paid for")}
	case c.Check:
		return c.check(e)
	case !c.Ping && len(c.Model) > 0:
		return usageError{errors.New("--model goes with --ping or --check; without it, every provider is listed")}
	case c.Ping:
		return c.ping(e)
	}
	var o run.Options
	if err := c.fill(&o); err != nil {
		return err
	}
	list := listProviders(provider.Env{Getenv: o.Getenv})
	if c.JSON {
		return writeJSON(e.stdout, map[string]any{"providers": list, "controls": controlsList()})
	}
	return writeProviders(e.stdout, list)
}

// A listedProvider is one provider as models lists it.
type listedProvider struct {
	Form       string   `json:"form"`
	Note       string   `json:"note"`
	Credential []string `json:"credential"` // the variables that may hold the key
	Optional   bool     `json:"optional"`   // it also works without
	Found      *bool    `json:"found"`      // the key is there; null where the variable's name depends on the model's
	URL        *string  `json:"base_url"`   // null where it must be set and is not
	URLVar     string   `json:"base_url_variable"`
	Moved      bool     `json:"moved"` // URLVar says where
	Wrong      string   `json:"wrong,omitempty"`
}

func listProviders(env provider.Env) []listedProvider {
	var list []listedProvider
	for _, p := range models.Providers().All() {
		a := p.Access
		l := listedProvider{Form: p.Form, Note: p.Note, Credential: []string{}, Optional: a.Optional, URLVar: a.BaseURLVar}
		for _, name := range []string{a.Credential, a.Or} {
			if name != "" {
				l.Credential = append(l.Credential, name)
			}
		}
		if p.Check == nil { // else the variables' names are part of the model's
			found := a.Found(env)
			l.Found = &found
			l.Moved = env.Get(a.BaseURLVar) != ""
			if l.Moved || a.BaseURL != "" {
				url, err := a.URL(p.Form, env)
				if err != nil {
					l.Wrong = strings.TrimPrefix(err.Error(), fmt.Sprintf("model %q: ", p.Form))
				} else {
					url = withoutUser(url)
					l.URL = &url
				}
			}
		}
		list = append(list, l)
	}
	return list
}

type listedControl struct {
	Form string `json:"form"`
	Note string `json:"note"`
}

func controlsList() []listedControl {
	var list []listedControl
	for _, a := range reference.About {
		list = append(list, listedControl{a.Name, a.Note})
	}
	return list
}

func writeProviders(w io.Writer, list []listedProvider) error {
	var b strings.Builder
	b.WriteString("Models by provider:\n\n")
	for _, p := range list {
		fmt.Fprintf(&b, "  %s\n      %s\n", p.Form, p.Note)
		if len(p.Credential) > 0 {
			fmt.Fprintf(&b, "      key: %s\n", p.key())
		}
		fmt.Fprintf(&b, "      at:  %s\n", p.address())
	}
	b.WriteString("\nBuilt-in controls, no models and no key:\n\n")
	for _, c := range controlsList() {
		fmt.Fprintf(&b, "  %s\n      %s\n", c.Form, c.Note)
	}
	b.WriteString("\nTo see whether one answers: spatialstale models --ping --model NAME (one small call each),\nand whether it can be trusted to audit a memory: spatialstale models --check --model NAME\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// key says whether the credential was found, never what it is.
func (p *listedProvider) key() string {
	names := strings.Join(p.Credential, " or ")
	switch {
	case p.Found == nil && p.Optional:
		return names + ", if it wants one"
	case p.Found == nil:
		return names
	case *p.Found:
		return names + " is set"
	case p.Optional:
		return names + " is not set, which is right where the server wants none"
	}
	return names + " is not set"
}

func (p *listedProvider) address() string {
	switch {
	case p.Wrong != "":
		return p.Wrong
	case p.Moved:
		return *p.URL + ", moved there by " + p.URLVar
	case p.URL != nil && p.URLVar != "":
		return *p.URL + " (" + p.URLVar + " moves it)"
	case p.URL != nil:
		return *p.URL
	case p.Found == nil:
		return "in " + p.URLVar
	}
	return "in " + p.URLVar + ", which is not set"
}

// withoutUser is an address without a user, a password and a query, any of which
// may be a secret.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// ping makes one call to each named model.
func (c *modelsCmd) ping(e *env) error {
	if err := run.NameModels(c.Model); err != nil {
		return err
	}
	var o run.Options
	if err := c.fill(&o); err != nil {
		return err
	}
	var err error
	if o.Models, err = c.models(c.Model); err != nil {
		return err
	}
	failed := 0
	pongs := []pong{}
	for _, name := range c.Model {
		p := ping(e, o, c.NoSchema, name)
		if !p.OK {
			failed++
		}
		pongs = append(pongs, p)
		if c.JSON {
			continue
		}
		to := e.stdout
		if !p.OK {
			to = e.stderr
		}
		p.write(func(format string, args ...any) { fmt.Fprintf(to, format, args...) })
	}
	if c.JSON {
		if err := writeJSON(e.stdout, pongs); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s of %d did not answer", count(failed, "model"), len(pongs))
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
