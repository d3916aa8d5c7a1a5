package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spatialstale/spatialstale/analysis"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

// An amount is a sum of money on the command line, in dollars.
type amount price.USD

// UnmarshalText reads "5", "0.25" or "$5".
func (a *amount) UnmarshalText(text []byte) error {
	if strings.HasPrefix(string(text), "-") {
		return fmt.Errorf("%q: a budget is a sum from 0 to a million dollars", text)
	}
	var d float64
	if err := json.Unmarshal([]byte(strings.TrimPrefix(string(text), "$")), &d); err != nil {
		return fmt.Errorf("%q is no sum of money; write it in dollars, as in 5 or 0.25", text)
	}
	u, ok := price.FromDollars(d)
	if !ok {
		return fmt.Errorf("%q: a budget is a sum from 0 to a million dollars", text)
	}
	*a = amount(u)
	return nil
}

// readPrices returns the prices of a file, or those that ship for "".
func readPrices(file string) (*price.List, error) {
	if file == "" {
		return price.Shipped(), nil
	}
	return price.Read(file)
}

// pricesOf returns the prices for a run: those that its manifest holds, and the
// list's for what it does not, because a run is counted by what it was made
// with. A file that is given goes before both.
func pricesOf(list *price.List, file string, models []record.ModelInfo) (*price.List, error) {
	if file != "" {
		return list, nil
	}
	kept := map[string]price.Price{}
	for _, m := range models {
		if len(m.Price) == 0 {
			continue
		}
		var p price.Price
		if err := json.Unmarshal(m.Price, &p); err != nil {
			return nil, fmt.Errorf("the price of %s in the manifest: %w", m.Name, err)
		}
		kept[m.Name] = p
	}
	return list.With(kept), nil
}

// priceOf is a model's price for the manifest; nil when it is not known.
func priceOf(prices *price.List, model string) (json.RawMessage, error) {
	p, known := prices.Of(model)
	if !known {
		return nil, nil
	}
	return json.Marshal(p)
}

// capOptions say how much a model may write where the study does not.
func capOptions(prices *price.List, model string) llm.CapOptions {
	o := llm.CapOptions{Thinking: llm.DefaultThinking}
	if p, ok := prices.Of(model); ok {
		o.Most = p.MaxOutput
		if p.Thinks != nil && !*p.Thinks {
			o.Thinking = 0
		}
	}
	return o
}

// paidFor puts the caps and the budget around a model of a provider.
func (x *execution) paidFor(name string, s *provider.Settings, m llm.Model) (llm.Model, error) {
	if x.flags.Budget != nil {
		if err := capless(s); err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", name, err)}
		}
	}
	p, _ := x.prices.Of(name) // nil when it is not known
	m = llm.Budgeted(m, x.budget.For(name, p, price.Terms{
		Detail: s.Detail, Extra: len(s.ExtraBody), Twice: strings.HasPrefix(name, "ollama/"),
	}))
	if x.flags.Budget == nil && strings.HasPrefix(name, "ollama/") {
		return m, nil // its client fits the cap to the context that it asks for, which takes memory here
	}
	return llm.Capped(m, capOptions(x.prices, name)), nil
}

// capless refuses an extra body that sets what a budget rests on: it would go
// before our own.
func capless(s *provider.Settings) error {
	var members map[string]json.RawMessage
	if len(s.ExtraBody) > 0 {
		if err := json.Unmarshal(s.ExtraBody, &members); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		switch key {
		case "max_tokens", "max_completion_tokens", "max_output_tokens", "generationConfig", "generation_config", "options":
			return fmt.Errorf("--budget rests on the cap on output tokens, and --extra-body may set another with %q; give the cap with --max-tokens", key)
		}
	}
	return nil
}

// checkBudget refuses a budget that could not be kept: each model's price must
// be known, and what its pictures count for.
func (x *execution) checkBudget() error {
	if x.flags.Budget == nil {
		return nil
	}
	var errs []error
	for _, m := range x.effective.models() {
		p, known := x.prices.Of(m.Name)
		switch {
		case m.Control:
		case !known:
			errs = append(errs, fmt.Errorf("--budget needs the price of %s, which the list of %s does not have; give one with --prices FILE, as in\n  date: %s\n  models:\n    %s: {input: 2.50, output: 10.00, source: where you read it}",
				m.Name, x.prices.Dated(m.Name), x.env.now().Format("2006-01-02"), m.Name))
		case p.Images == nil && shows(x.study, record.Vision):
			errs = append(errs, fmt.Errorf("--budget needs to know how many tokens a picture has for %s, which the list of prices does not say; give a list with its images rule with --prices FILE (docs/costs.md), or leave pictures out with --modality text", m.Name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	return nil
}

// shows reports whether a study shows the lake in that way.
func shows(s *study.Study, modality string) bool {
	return s.Detection != nil && slices.Contains(s.Detection.Modalities, modality) ||
		s.Navigation != nil && slices.Contains(s.Navigation.Modalities, modality)
}

// A ledger is the file of a run folder that holds what the run can have spent,
// over all its sessions: what its stored calls cost, and what may have been
// billed for calls whose answers never came. It is written before each call, so
// that a killed run has not forgotten the calls under way. It also holds the
// run's budget, which a session keeps to unless it is told another.
type ledger struct {
	file     *os.File
	budget   *price.USD
	unpriced bool
	prices   string // what identifies those that the sums are by
}

// held is what a ledger says.
type held struct {
	Most   *int64 `json:"spent_at_most"`
	Lost   int64  `json:"lost_at_most"` // of it, for answers that nobody saw
	Unseen int    `json:"unseen"`       // calls that may have been billed, of which not even the most is known
	Budget *int64 `json:"budget"`       // null for none
	// Unpriced says that a session knew no price of some model. What it spent is
	// not in Most.
	Unpriced bool `json:"unpriced"`
	// Prices identifies those that the sums are by; empty in a ledger of a
	// program that did not say.
	Prices string `json:"prices"`
	Unit   string `json:"unit"`
}

const ledgerName = "spent.json"

// openLedger opens the ledger of a run folder and returns what it holds; a new
// one holds nothing.
func openLedger(dir string) (*ledger, held, error) {
	file, err := os.OpenFile(filepath.Join(dir, ledgerName), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, held{}, err
	}
	h, err := readLedger(file.Name())
	if err != nil {
		return nil, held{}, errors.Join(err, file.Close())
	}
	return &ledger{file: file}, h, nil
}

func readLedger(path string) (h held, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || len(text) == 0 {
		return held{Most: new(int64)}, nil
	}
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(text, &h); err != nil || h.Most == nil || *h.Most < 0 || h.Lost < 0 || h.Unseen < 0 || h.Budget != nil && *h.Budget < 0 {
		return h, fmt.Errorf("%s: it does not say what the run has spent; without it a budget cannot be kept over sessions. Delete it to count only the calls that are stored", path)
	}
	return h, nil
}

// lost is the most that was billed for answers nobody saw, given what all stored
// calls cost. A call that was under way when a session was killed may have been
// stored; it is then no longer lost. But a session without prices stored calls
// that nobody had counted, and by other prices the stored calls come to another
// sum: neither must make up for any.
func (h *held) lost(stored price.USD, unpriced bool, prices string) price.USD {
	if h.Unpriced || unpriced || h.Prices != prices {
		return price.USD(h.Lost)
	}
	return max(0, price.USD(*h.Most)-stored)
}

// keep writes the balance.
func (l *ledger) keep(s price.Balance) error {
	budget := "null"
	if l.budget != nil {
		budget = fmt.Sprint(int64(*l.budget))
	}
	// The width is fixed: a shorter text would leave the end of a longer one.
	_, err := l.file.WriteAt(fmt.Appendf(nil, `{"spent_at_most":%20d,"lost_at_most":%20d,"unseen":%10d,"budget":%20s,"unpriced":%5t,"prices":%18q,"unit":"1e-12 USD"}`+"\n",
		int64(s.Most()), int64(s.Lost+s.Reserved), s.Unseen+s.Blind, budget, l.unpriced, l.prices), 0)
	return err
}

// identifyPrices returns what tells the prices of these models from others.
func identifyPrices(prices *price.List, models []string) (string, error) {
	h := sha256.New()
	for _, name := range models {
		p, _ := prices.Of(name) // null when it is not known
		if err := json.NewEncoder(h).Encode([]any{name, p}); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// keepBudget takes over the budget of the run's last session, unless another is
// given: a run that was to cost no more than a sum does not forget it.
func (x *execution) keepBudget() error {
	if x.flags.Budget != nil {
		return nil
	}
	h, err := readLedger(filepath.Join(x.dir, ledgerName))
	if err != nil || h.Budget == nil {
		return err
	}
	x.flags.Budget = new(amount(*h.Budget))
	x.say("Within the run's budget of %v for all its sessions together; --budget USD sets another.\n", price.USD(*h.Budget))
	return nil
}

func (l *ledger) close() error { return l.file.Close() }

// usageOf returns a stored call's tokens.
func usageOf(c *record.Call) llm.Usage {
	return llm.Usage{
		InputTokens: c.InputTokens, CachedTokens: c.CachedTokens, CacheWriteTokens: c.CacheWriteTokens,
		OutputTokens: c.OutputTokens, ReasoningTokens: c.ReasoningTokens,
	}
}

// A spending counts tokens and money of calls that were paid for.
type spending struct {
	calls                 int
	input, cached, output int // tokens, where the servers said how many
	silent                int // calls of which a server did not say
	usd                   price.USD
	unknown               int // calls of models without a price
	atLeast, atMost       int // calls whose true cost may be above, below
}

// add counts a call; its cost is nil where the model has no price.
func (s *spending) add(u llm.Usage, cost *price.Cost) {
	s.calls++
	s.input += said(u.InputTokens)
	s.cached += said(u.CachedTokens)
	s.output += said(u.OutputTokens)
	if u.InputTokens == nil || u.OutputTokens == nil {
		s.silent++
	}
	if cost == nil {
		s.unknown++
		return
	}
	if s.usd += cost.USD; s.usd < 0 {
		s.usd = price.USD(1<<63 - 1)
	}
	if cost.AtLeast {
		s.atLeast++
	}
	if cost.AtMost {
		s.atMost++
	}
}

// said is a number of tokens, 0 where a server did not say it.
func said(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// money says what was spent: exactly, or on which side the truth lies.
func (s *spending) money() string {
	switch priced := s.calls - s.unknown; {
	case s.calls == 0:
		return ""
	case priced == 0:
		return "price unknown"
	case s.unknown > 0:
		return fmt.Sprintf("%v and %s of unknown price", s.usd, count(s.unknown, "call"))
	case s.atLeast > 0 && s.atMost > 0:
		return fmt.Sprintf("about %v", s.usd)
	case s.atLeast > 0:
		return fmt.Sprintf("at least %v", s.usd)
	case s.atMost > 0:
		return fmt.Sprintf("at most %v", s.usd)
	}
	return s.usd.String()
}

// recallSpending counts what earlier sessions of the run were billed for, and
// opens the budget with it.
func (x *execution) recallSpending(t *tally) error {
	if x.paid() == nil {
		return nil
	}
	run, err := store.Open(x.dir)
	if err != nil {
		return err
	}
	defer run.Close()
	for spec := range x.study.Specs() {
		if t.paid[spec.Model] {
			t.trials.add(spec)
		}
	}
	for c, err := range run.Calls() {
		if err != nil {
			return err
		}
		t.spend(c)
	}
	ledger, h, err := openLedger(x.dir)
	if err != nil {
		return err
	}
	x.ledger = ledger
	for name := range t.paid {
		if _, known := x.prices.Of(name); !known {
			ledger.unpriced = true
		}
	}
	if ledger.prices, err = identifyPrices(x.prices, slices.Sorted(maps.Keys(t.paid))); err != nil {
		return err
	}
	spent := t.all.spent.usd
	earlier := price.Balance{Spent: spent, Lost: h.lost(spent, ledger.unpriced, ledger.prices), Unseen: h.Unseen}
	ledger.unpriced = ledger.unpriced || h.Unpriced
	if limit, ok := x.budget.Limit(); ok {
		if h.Unseen > 0 {
			return fmt.Errorf("--budget: %s of earlier sessions may have been billed, and nobody knows how much, because their price or their cap was not known; to keep a budget that leaves them out, set \"unseen\" to 0 in %s",
				count(h.Unseen, "call"), filepath.Join(x.dir, ledgerName))
		}
		ledger.budget = &limit
	}
	x.budget.Open(earlier, ledger.keep)
	return ledger.keep(earlier)
}

// bill says at the end what the run was billed for, over all its sessions.
func (x *execution) bill(t *tally) string {
	s := &t.all.spent
	balance := x.budget.Balance()
	if s.calls == 0 {
		if balance.Lost == 0 {
			return ""
		}
		return fmt.Sprintf("Cost: up to %v for calls whose answer nobody saw or could use\n", balance.Lost)
	}
	text := fmt.Sprintf("Tokens: %s in", grouped(s.input))
	if s.cached > 0 {
		text += fmt.Sprintf(" (%s from a cache)", grouped(s.cached))
	}
	text += fmt.Sprintf(", %s out, in %s", grouped(s.output), count(s.calls, "call"))
	if s.silent > 0 {
		text += fmt.Sprintf(", of which %s did not say all", grouped(s.silent))
	}
	text += "\nCost: " + s.money()
	if limit, ok := x.budget.Limit(); ok {
		text += fmt.Sprintf(" of %v", limit)
	}
	if balance.Lost > 0 {
		text += fmt.Sprintf(", and up to %v for calls whose answer nobody saw or could use", balance.Lost)
	}
	if balance.Unseen > 0 {
		text += fmt.Sprintf(", and what %s whose cost nobody saw may have been billed for", count(balance.Unseen, "call"))
	}
	var dates []string
	for _, name := range slices.Sorted(maps.Keys(t.paid)) {
		if date := x.prices.Dated(name); !slices.Contains(dates, date) {
			dates = append(dates, date)
		}
	}
	slices.Sort(dates)
	if list := strings.Join(dates, " and "); s.unknown == s.calls {
		text += fmt.Sprintf("; the list of prices of %s does not have it\n", list)
	} else {
		text += fmt.Sprintf(", by the list of prices of %s\n", list)
	}
	if balance.Overruns > 0 {
		text += fmt.Sprintf("%s cost more than the most that a call can take: a server counts more tokens than it was sent, or writes more than its cap, and a budget cannot hold it\n", count(balance.Overruns, "call"))
	}
	return text
}

// grouped writes a number with commas.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// paidTrials finds the settings of the trials whose calls are paid for, a spec
// for each setting.
type paidTrials struct {
	of     map[string]*record.Spec // by trial
	shared map[record.Spec]*record.Spec
}

// add makes a trial known.
func (p *paidTrials) add(spec record.Spec) {
	if p.of == nil {
		p.of, p.shared = map[string]*record.Spec{}, map[record.Spec]*record.Spec{}
	}
	key := spec.Key
	spec.Key, spec.Seed, spec.Episode = "", 0, 0
	if p.shared[spec] == nil {
		p.shared[spec] = &spec
	}
	p.of[key] = p.shared[spec]
}

// tell hands a call to the tables; nothing for one that nobody pays for.
func (p *paidTrials) tell(to *analysis.Collector, c *record.Call, cost *price.Cost) {
	spec := p.of[c.Trial]
	if spec == nil {
		return
	}
	call := analysis.PaidCall{Input: c.InputTokens, Cached: c.CachedTokens, Output: c.OutputTokens, Reasoning: c.ReasoningTokens, Latency: c.Latency}
	if cost != nil {
		call.Cost, call.Inexact = new(int64(cost.USD)), cost.AtLeast || cost.AtMost
	}
	to.AddCall(spec, &call)
}

// costOf is what a call cost, nil where its model has no price.
func costOf(prices *price.List, c *record.Call) *price.Cost {
	p, known := prices.Of(c.Model)
	if !known {
		return nil
	}
	return new(p.Cost(usageOf(c)))
}
