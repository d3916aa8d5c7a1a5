package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/llm/price"
	"github.com/spatialstale/spatialstale/llm/provider"
	"github.com/spatialstale/spatialstale/method"
	"github.com/spatialstale/spatialstale/record"
	"github.com/spatialstale/spatialstale/reference"
	"github.com/spatialstale/spatialstale/store"
	"github.com/spatialstale/spatialstale/study"
)

// A Session is a run under way, its first session or a later one.
type Session struct {
	study   *study.Study
	dir     string
	options Options
	prompts study.Prompts
	prices  *price.List
	budget  *price.Budget
	models  map[string]llm.Model
	methods map[string]llm.Model // by the names of study.Methods
	opened  []*method.Model      // of these, to be closed
	paid    map[string]bool      // models whose answers are paid for
	flights map[string]*llm.InFlight
	unasked []string // models that no session has asked yet
	learned learned
	replies *replies // where every answer comes from, when no model is asked

	events    *feed
	tracker   *tracker
	spentFile *spentFile

	stop     chan struct{}
	stopOnce sync.Once
	done     chan struct{} // closed at the end, when result and err are there
	result   Result
	err      error
}

// A Result is what a session came to.
type Result struct {
	Summary
	Progress Progress   // of the whole, earlier sessions included
	Models   []Progress // of each model
	Balance  price.Balance
	Limit    *price.USD // the budget; nil for none
	Prices   *price.List
	// Silent lists models that finished trials and gave no usable answer in any:
	// their scores are those of silence.
	Silent []string
}

// Start makes a folder for a run of the study, and begins it. It returns when
// the first trials are under way; ctx ends the run at once, Stop in an orderly
// way. The study must not be changed any more.
func Start(ctx context.Context, s *study.Study, o Options) (*Session, error) {
	return start(ctx, s, nil, o)
}

// Replay is Start for a run that asks no model: every answer is taken from what
// these runs have recorded. A nil study stands for that of the first. A replay
// is whole or it is not: when an answer is missing, nothing is left of it.
func Replay(ctx context.Context, s *study.Study, from []string, o Options) (*Session, error) {
	r, err := openReplies(from)
	if err != nil {
		return nil, err
	}
	if s == nil {
		s, err = r.runs[0].Study()
	}
	var session *Session
	if err == nil {
		session, err = start(ctx, s, r, o)
	}
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	return session, nil
}

func start(ctx context.Context, st *study.Study, r *replies, o Options) (*Session, error) {
	s, err := newSession(st, r, o)
	if err != nil {
		return nil, err
	}
	if err := s.open(nil); err != nil {
		return nil, err
	}
	if r != nil {
		if err := r.checkPrompts(s.prompts); err != nil {
			return nil, err
		}
	}
	if reach, compares := st.Whole().Reach(); compares && reach.Warning() != "" {
		s.notice(reach.Warning())
	}
	if err := s.checkSight(ctx); err != nil {
		return nil, err
	}
	instances, err := st.Instances()
	if err != nil {
		return nil, err
	}
	m, err := s.manifest(instances)
	if err != nil {
		return nil, err
	}
	w, err := s.create(m, instances)
	if err != nil {
		return nil, err
	}
	return s, s.begin(ctx, w)
}

func newSession(st *study.Study, r *replies, o Options) (*Session, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if r != nil && o.Budget != nil {
		return nil, UsageError{errors.New("a budget says what models may cost, and a replay asks none; leave it out")}
	}
	s := &Session{
		study: st, options: o, prompts: st.AllPrompts(), budget: price.NewBudget(o.Budget), models: map[string]llm.Model{}, methods: map[string]llm.Model{}, replies: r,
		flights: map[string]*llm.InFlight{},
		events:  newFeed(), stop: make(chan struct{}), done: make(chan struct{}),
	}
	s.learned.tell = s.notice
	if r == nil {
		s.options.batching = s.options.Batches.batching(s.options.Now, s.notice)
	}
	return s, nil
}

// Dir returns the run's folder.
func (s *Session) Dir() string { return s.dir }

// Study returns what is run.
func (s *Session) Study() *study.Study { return s.study }

// Stop lets the calls that are under way come to their end, and begins nothing
// new: the run can be resumed.
func (s *Session) Stop() {
	s.stopOnce.Do(func() {
		s.notice("Stopping: calls under way are waited for, and nothing new begins. Interrupt once more to give them up.")
		if s.options.batching.Submitted() {
			s.notice("Batches that are submitted go on at the provider and are paid for; resume collects their answers.")
		}
		close(s.stop)
	})
}

// Wait waits for the end of the session. Its error is nil when every trial was
// made, failed ones included, or left to a model that was given up; it is
// ErrStopped after Stop, wraps llm.ErrBudget when the budget did not reach, and
// is else what ended the run.
func (s *Session) Wait() (*Result, error) {
	<-s.done
	return &s.result, s.err
}

// notice tells people something.
func (s *Session) notice(text string) { s.events.tell(Event{Kind: Notice, Text: text}) }

// openPrices takes the prices by which the run is counted: a list that is given
// goes before what the run was made with.
func (s *Session) openPrices(before []record.ModelInfo) (err error) {
	if s.prices = s.options.Prices; s.prices == nil {
		s.prices, err = PricesOf(price.Shipped(), before)
	}
	return err
}

// open makes the study's models ready. A run that goes on says what its models
// were asked so far.
func (s *Session) open(before []record.ModelInfo) error {
	if err := NameStudy(s.study); err != nil {
		return err
	}
	if err := s.study.Check(); err != nil { // two names may turn out to be one model's
		return UsageError{err}
	}
	if s.replies != nil {
		return s.openReplayed()
	}
	if err := s.openPrices(before); err != nil {
		return err
	}
	if err := s.openMethods(before); err != nil {
		return err
	}
	for _, name := range s.study.Models {
		if study.IsAgent(name) {
			continue
		}
		if study.IsPerson(name) {
			person := s.options.Programs[name]
			if person == nil {
				return UsageError{fmt.Errorf("%s is a person, who plays with spatialstale play or on the pages of spatialstale view; a run asks them nothing", name)}
			}
			s.models[name] = s.learned.add(record.ModelInfo{Name: name, Note: "a person"}, person)
			continue
		}
		if IsControl(name) {
			c, err := reference.New(name)
			if err != nil {
				return UsageError{err}
			}
			s.learned.add(record.ModelInfo{Name: name, Control: true, Note: "a built-in control, no language or vision model"}, nil)
			s.models[name] = c
			continue
		}
		priced, err := recordedPrice(s.prices, name)
		if err != nil {
			return err
		}
		var info record.ModelInfo
		if i := slices.IndexFunc(before, func(m record.ModelInfo) bool { return m.Name == name }); i >= 0 {
			info = before[i]
		}
		m, err := s.options.openModel(name, info, priced, func(settings *provider.Settings, m llm.Model) (llm.Model, error) {
			return s.billed(name, settings, m)
		}, &s.learned)
		if err != nil {
			return err
		}
		if len(info.Endpoints) == 0 {
			s.unasked = append(s.unasked, name)
		}
		s.flights[name] = &llm.InFlight{}
		m = s.flights[name].Watch(m, s.options.Now)
		asked := s.options.modelOptions(name)
		// A call that waits before it is tried again leaves its place in flight to
		// another.
		m = llm.Limit(m, llm.LimitOptions{Model: name, RPM: asked.RPM, TPM: asked.TPM, InFlight: asked.InFlight})
		attempts := 8
		if n := s.options.MaxRetries; n != nil {
			attempts = *n + 1
		}
		s.models[name] = llm.Retry(m, llm.RetryOptions{Attempts: attempts, Notify: s.waits})
		if s.paid == nil {
			s.paid = map[string]bool{}
		}
		s.paid[name] = true
	}
	s.forks()
	if err := s.checkBatches(); err != nil {
		return err
	}
	return s.checkBudget()
}

// checkSight refuses to begin a study that shows pictures on a model that does
// not see them: what it measured would be guesses. A refused key and its like end
// the run before it begins; any other failure is left to the trials, which meet
// it too.
func (s *Session) checkSight(ctx context.Context) error {
	if !s.study.Shows(record.Vision) || s.options.Blind {
		return nil
	}
	var errs []error
	for _, name := range s.unasked {
		switch err := llm.CheckSight(ctx, s.models[name]); {
		case errors.Is(err, llm.ErrBlind):
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		case llm.KindOf(err).Fatal():
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w\nleave pictures out with --modality text, or run the study all the same with --blind", errors.Join(errs...))
	}
	return nil
}

// waits is told of each wait before a call is tried again.
func (s *Session) waits(w llm.Wait) {
	if s.tracker != nil {
		s.tracker.wait(w)
	}
}

func (s *Session) manifest(instances []record.Instance) (record.Manifest, error) {
	config, err := s.study.Config()
	if err != nil {
		return record.Manifest{}, err
	}
	m := record.Manifest{
		Version:     record.Version,
		Program:     record.Program(),
		Go:          runtime.Version(),
		Created:     s.options.Now().UTC(),
		Study:       config,
		Models:      s.learned.models(),
		Prompts:     s.prompts.Sums(),
		PromptTexts: s.prompts,
		Instances:   map[string]string{},
	}
	if m.Execution, err = s.options.execution(); err != nil {
		return m, err
	}
	if s.replies != nil {
		m.ReplayedFrom = s.replies.origins()
	}
	for i := range instances {
		name, sum, err := identify(&instances[i])
		if err != nil {
			return m, err
		}
		m.Instances[name] = sum
	}
	return m, nil
}

// create makes the run folder: the one asked for, or the first free one of the
// study's name and the time.
func (s *Session) create(m record.Manifest, instances []record.Instance) (*store.Writer, error) {
	s.dir = s.options.Dir
	name := filepath.Join("runs", s.study.Name+"-"+s.options.Now().Format("20060102-150405"))
	if b := s.study.Shard; b != nil {
		name += fmt.Sprintf("-shard%dof%d", b.Index, b.Of)
	}
	for i := 1; ; i++ {
		if s.options.Dir == "" {
			if s.dir = name; i > 1 {
				s.dir = fmt.Sprintf("%s-%d", name, i)
			}
		}
		w, err := store.Create(s.dir, m, s.study.Specs(), instances, store.Options{Sync: s.precious()})
		if s.options.Dir == "" && errors.Is(err, store.ErrExists) && i < 100 {
			continue
		}
		return w, err
	}
}

// begin makes the trials that are left, and returns when they are under way.
func (s *Session) begin(ctx context.Context, w *store.Writer) error {
	s.tracker = newTracker(w, s.study, s.events, s.options.Now)
	s.tracker.paid, s.tracker.prices, s.tracker.flights = s.paid, s.prices, s.flights
	if limit, ok := s.budget.Limit(); ok {
		s.tracker.all.Limit = &limit
	}
	if err := s.recall(); err != nil {
		return errors.Join(err, w.Close())
	}
	s.learned.write = func(models []record.ModelInfo) error { return w.Models(context.WithoutCancel(ctx), models) }
	if err := s.learned.write(s.learned.models()); err != nil {
		return errors.Join(err, s.closeSpending(), w.Close())
	}
	if s.options.batching != nil {
		if err := s.options.batching.Open(ctx, filepath.Join(s.dir, batchesName)); err != nil {
			return errors.Join(err, s.closeSpending(), w.Close())
		}
	}
	go s.obey()
	go func() {
		defer close(s.done)
		defer s.events.end()
		s.result.Summary, s.err = s.trials(ctx, w)
		s.result.Progress, s.result.Models = s.tracker.progress()
		s.result.Balance, s.result.Prices = s.budget.Balance(), s.prices
		s.result.Limit = s.result.Progress.Limit
		s.result.Silent = s.tracker.silent()
		for _, name := range s.result.Silent {
			s.notice(fmt.Sprintf("%s gave no usable answer in any of its trials: what its rows show is silence, not how well it sees. Read what it said with: spatialstale trace %s --model %s --calls", name, s.dir, name))
		}
	}()
	return nil
}

// trials makes the trials that are left, and closes what was open.
func (s *Session) trials(ctx context.Context, w *store.Writer) (sum Summary, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(PanicError(p), w.Close())
		}
	}()
	controls, servers := s.options.Concurrency, s.options.Concurrency
	if controls == 0 {
		controls, servers = runtime.GOMAXPROCS(0), serverConcurrency
	}
	maxErrors := 20
	if n := s.options.MaxErrors; n != nil {
		maxErrors = *n
	}
	sum, err = Trials(ctx, s.study, Workers{
		Models:          s.models,
		Methods:         s.methods,
		Paid:            s.paid,
		Batched:         s.batched,
		Recorder:        s.tracker,
		Ended:           w.Ended,
		Stop:            s.stop,
		Prompts:         s.prompts,
		Concurrency:     controls,
		PaidConcurrency: servers,

		BatchedConcurrency: cmp.Or(s.options.Concurrency, MaxConcurrency),
		MaxErrors:          maxErrors,
		Now:                s.options.Now,
		GaveUp: func(g GivenUp) {
			s.notice(fmt.Sprintf("%s: %d trials failed in a row, so it is given up (--max-errors); the last: %v", g.Model, g.Failed, g.Err))
		},
	})
	closed := errors.Join(s.options.batching.Close(), s.closeMethods(), w.Close(), s.closeSpending())
	if s.options.origin != nil {
		closed = errors.Join(closed, s.options.origin.close())
	}
	if s.replies != nil {
		closed = errors.Join(closed, s.replies.close())
		if cause := cmp.Or(err, closed); cause != nil {
			return sum, s.discard(cause)
		}
	}
	if closed != nil && (err == nil || s.stopped(err)) {
		err = closed
	}
	return sum, err
}

// stopped reports whether the run was ended from outside, or by its budget.
func (s *Session) stopped(err error) bool {
	return errors.Is(err, ErrStopped) || errors.Is(err, context.Canceled) || errors.Is(err, llm.ErrBudget)
}

// precious reports whether some answers cannot be had again for nothing.
func (s *Session) precious() bool {
	return s.paid != nil || len(s.methods) > 0 || slices.ContainsFunc(s.study.Models, study.IsPerson)
}

func (s *Session) closeSpending() error {
	if s.spentFile == nil {
		return nil
	}
	return s.spentFile.file.Close()
}

// discard takes away a run that was to be made from recorded replies and is not
// whole, and returns the error that says so.
func (s *Session) discard(cause error) error {
	if errors.Is(cause, llm.ErrMissing) {
		cause = fmt.Errorf("the replies do not reach: %w", cause)
	}
	return errors.Join(fmt.Errorf("%w; a replay is whole or it is not, so nothing is left in %s", cause, s.dir), os.RemoveAll(s.dir))
}

// recall counts what earlier sessions have done and spent.
func (s *Session) recall() error {
	stored, err := Open(s.dir)
	if err != nil {
		return err
	}
	defer stored.Close()
	for t, err := range stored.Trials() {
		if err != nil {
			return err
		}
		s.tracker.ended(t, true)
	}
	if s.paid == nil && len(s.methods) == 0 {
		return nil
	}
	for c, err := range stored.Calls() {
		if err != nil {
			return err
		}
		s.tracker.spend(c)
	}
	if s.paid == nil {
		return nil
	}
	var billed price.USD // what methods say is no bill, and no budget bounds it
	for name := range s.paid {
		billed += s.tracker.models[name].Spent.USD
	}
	return s.openSpending(billed)
}
