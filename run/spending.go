package run

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

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/models"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/record"
)

// PricesOf returns the prices for a run: those that its manifest holds, and the
// list's for what it does not, because a run is counted by what it was made
// with.
func PricesOf(list *price.List, models []record.ModelInfo) (*price.List, error) {
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

// recordedPrice is a model's price for the manifest; nil when it is not known.
func recordedPrice(prices *price.List, model string) (json.RawMessage, error) {
	p, known := prices.Of(model)
	if !known {
		return nil, nil
	}
	return json.Marshal(p)
}

// capless refuses an extra body that sets what a budget rests on: it would go
// before our own.
func capless(extraBody json.RawMessage) error {
	var members map[string]json.RawMessage
	if len(extraBody) > 0 {
		if err := json.Unmarshal(extraBody, &members); err != nil {
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

// billed puts the caps and the budget around a provider's model.
func (s *Session) billed(name string, settings *provider.Settings, m llm.Model) (llm.Model, error) {
	_, limited := s.budget.Limit()
	if limited {
		if err := capless(settings.ExtraBody); err != nil {
			return nil, UsageError{fmt.Errorf("%s: %w", name, err)}
		}
	}
	p, _ := s.prices.Of(name) // nil when it is not known
	local := isOllama(name)
	m = llm.Budgeted(m, s.budget.For(name, p, price.Terms{
		Detail: settings.Detail, Extra: len(settings.ExtraBody), Twice: local,
		Held: func(req *llm.Request) bool { return s.options.batching.Held(name, req) },
	}))
	if local && !limited {
		return m, nil // its client fits the cap to the context that it asks for, which takes memory here
	}
	return llm.Capped(m, models.CapOptions(s.prices, name)), nil
}

// checkBudget refuses a budget that could not be kept: each model's price must
// be known, and what its pictures count for.
func (s *Session) checkBudget() error {
	if _, limited := s.budget.Limit(); !limited {
		return nil
	}
	var errs []error
	for _, m := range s.learned.models() {
		p, known := s.prices.Of(m.Name)
		switch {
		case m.Control:
		case !known:
			errs = append(errs, fmt.Errorf("--budget needs the price of %s, which the list of %s does not have; give one with --prices FILE, as in\n  date: %s\n  models:\n    %s: {input: 2.50, output: 10.00, source: where you read it}",
				m.Name, s.prices.Dated(m.Name), s.options.Now().Format("2006-01-02"), m.Name))
		case p.Images == nil && s.study.Shows(record.Vision):
			errs = append(errs, fmt.Errorf("--budget needs to know how many tokens a picture has for %s, which the list of prices does not say; give a list with its images rule with --prices FILE (docs/costs.md), or leave pictures out with --modality text", m.Name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return UsageError{err}
	}
	return nil
}

// A spentFile is the file of a run folder that holds what the run can have
// spent, over all its sessions: what its stored calls cost, and what may have
// been billed for calls whose answers never came. It is written before each
// call, so that a killed run has not forgotten the calls under way. It also
// holds the run's budget, which a session keeps to unless it is told another.
type spentFile struct {
	file     *os.File
	limit    *price.USD
	unpriced bool
	prices   string // what identifies those that the sums are by
}

// spentBefore is what the file says.
type spentBefore struct {
	Most   *int64 `json:"spent_at_most"`
	Lost   int64  `json:"lost_at_most"` // of it, for answers that nobody saw
	Unseen int    `json:"unseen"`       // calls that may have been billed, of which not even the most is known
	Budget *int64 `json:"budget"`       // null for none
	// Unpriced says that a session knew no price of some model. What it spent is
	// not in Most.
	Unpriced bool `json:"unpriced"`
	// Prices identifies those that the sums are by; empty in the file of a
	// program that did not say.
	Prices string `json:"prices"`
	Unit   string `json:"unit"`
}

const spentName = "spent.json"

// openSpent opens the file in a run folder and returns what it holds; a new one
// holds nothing.
func openSpent(dir string) (*spentFile, spentBefore, error) {
	file, err := os.OpenFile(filepath.Join(dir, spentName), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, spentBefore{}, err
	}
	before, err := readSpent(dir)
	if err != nil {
		return nil, spentBefore{}, errors.Join(err, file.Close())
	}
	return &spentFile{file: file}, before, nil
}

func readSpent(dir string) (before spentBefore, err error) {
	path := filepath.Join(dir, spentName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || len(text) == 0 {
		return spentBefore{Most: new(int64)}, nil
	}
	if err != nil {
		return before, err
	}
	if err := json.Unmarshal(text, &before); err != nil || before.Most == nil || *before.Most < 0 || before.Lost < 0 || before.Unseen < 0 || before.Budget != nil && *before.Budget < 0 {
		return before, fmt.Errorf("%s: it does not say what the run has spent; without it a budget cannot be kept over sessions. Delete it to count only the calls that are stored", path)
	}
	return before, nil
}

// lost is the most that was billed for answers nobody saw, given what all stored
// calls cost. A call that was under way when a session was killed may have been
// stored; it is then no longer lost. But a session without prices stored calls
// that nobody had counted, and by other prices the stored calls come to another
// sum: neither must make up for any.
func (b *spentBefore) lost(stored price.USD, unpriced bool, prices string) price.USD {
	if b.Unpriced || unpriced || b.Prices != prices {
		return price.USD(b.Lost)
	}
	return max(0, price.USD(*b.Most)-stored)
}

// keep writes the balance.
func (f *spentFile) keep(s price.Balance) error {
	limit := "null"
	if f.limit != nil {
		limit = fmt.Sprint(int64(*f.limit))
	}
	// The width is fixed: a shorter text would leave the end of a longer one.
	_, err := f.file.WriteAt(fmt.Appendf(nil, `{"spent_at_most":%20d,"lost_at_most":%20d,"unseen":%10d,"budget":%20s,"unpriced":%5t,"prices":%18q,"unit":"1e-12 USD"}`+"\n",
		int64(s.Most()), int64(s.Lost+s.Reserved), s.Unseen+s.Blind, limit, f.unpriced, f.prices), 0)
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

// openSpending counts what the run was billed for before, and has the budget
// kept in the run's folder from now on. What was spent in this session already,
// on calls that no record is kept of, counts as lost.
func (s *Session) openSpending(stored price.USD) error {
	file, before, err := openSpent(s.dir)
	if err != nil {
		return err
	}
	s.spentFile = file
	for name := range s.paid {
		if _, known := s.prices.Of(name); !known {
			file.unpriced = true
		}
	}
	if file.prices, err = identifyPrices(s.prices, slices.Sorted(maps.Keys(s.paid))); err != nil {
		return err
	}
	now := s.budget.Balance()
	balance := price.Balance{
		Spent:  stored,
		Lost:   before.lost(stored, file.unpriced, file.prices) + now.Spent + now.Lost,
		Unseen: before.Unseen + now.Unseen,
	}
	file.unpriced = file.unpriced || before.Unpriced
	if limit, ok := s.budget.Limit(); ok {
		if before.Unseen > 0 {
			return fmt.Errorf("--budget: %d calls of earlier sessions may have been billed, and nobody knows how much, because their price or their cap was not known; to keep a budget that leaves them out, set \"unseen\" to 0 in %s",
				before.Unseen, filepath.Join(s.dir, spentName))
		}
		file.limit = &limit
	}
	s.budget.Open(balance, file.keep)
	return file.keep(balance)
}

// UsageOf returns a stored call's tokens.
func UsageOf(c *record.Call) llm.Usage {
	return llm.Usage{
		InputTokens: c.InputTokens, CachedTokens: c.CachedTokens, CacheWriteTokens: c.CacheWriteTokens,
		OutputTokens: c.OutputTokens, ReasoningTokens: c.ReasoningTokens,
	}
}

// CostOf is what a call cost, nil where its model has no price. Of a method it is
// what the method says.
func CostOf(prices *price.List, c *record.Call) *price.Cost {
	if said := c.Reported(); said != nil {
		return &price.Cost{USD: price.USD(*said * float64(price.Dollar))}
	}
	p, known := prices.Of(c.Model)
	if !known {
		return nil
	}
	return new(p.In(c.Batch != "").Cost(UsageOf(c)))
}

// Spending counts tokens and money of calls that were paid for.
type Spending struct {
	Calls                 int
	Input, Cached, Output int // tokens, where the servers said how many
	Silent                int // calls of which a server did not say
	USD                   price.USD
	Unknown               int // calls of models without a price
	AtLeast, AtMost       int // calls whose true cost may be above, below
}

// add counts a call; its cost is nil where the model has no price.
func (s *Spending) add(u llm.Usage, cost *price.Cost) {
	s.Calls++
	s.Input += said(u.InputTokens)
	s.Cached += said(u.CachedTokens)
	s.Output += said(u.OutputTokens)
	if u.InputTokens == nil || u.OutputTokens == nil {
		s.Silent++
	}
	if cost == nil {
		s.Unknown++
		return
	}
	if s.USD += cost.USD; s.USD < 0 {
		s.USD = price.USD(1<<63 - 1)
	}
	if cost.AtLeast {
		s.AtLeast++
	}
	if cost.AtMost {
		s.AtMost++
	}
}

// said is a number of tokens, 0 where a server did not say it.
func said(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// String says what was spent: exactly, or on which side the truth lies; nothing
// before the first call.
func (s Spending) String() string {
	switch priced := s.Calls - s.Unknown; {
	case s.Calls == 0:
		return ""
	case priced == 0:
		return "price unknown"
	case s.Unknown == 1:
		return fmt.Sprintf("%v and 1 call of unknown price", s.USD)
	case s.Unknown > 0:
		return fmt.Sprintf("%v and %d calls of unknown price", s.USD, s.Unknown)
	case s.AtLeast > 0 && s.AtMost > 0:
		return fmt.Sprintf("about %v", s.USD)
	case s.AtLeast > 0:
		return fmt.Sprintf("at least %v", s.USD)
	case s.AtMost > 0:
		return fmt.Sprintf("at most %v", s.USD)
	}
	return s.USD.String()
}
