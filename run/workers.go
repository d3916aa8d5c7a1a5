package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spatialstale/spatialstale/audit/judge"
	"github.com/spatialstale/spatialstale/lake"
	"github.com/spatialstale/spatialstale/llm"
	"github.com/spatialstale/spatialstale/method"
	"github.com/spatialstale/spatialstale/navigate"
	"github.com/spatialstale/spatialstale/observe"
	"github.com/spatialstale/spatialstale/record"

	"github.com/spatialstale/spatialstale/study"
)

// A Recorder keeps what happens. Its methods are called from many goroutines;
// an error of theirs ends the run.
type Recorder interface {
	// Lookup returns the finished call of a trial's slot from before this run
	// of the program, nil when there is none.
	Lookup(ctx context.Context, trial, slot string) (*record.Call, error)
	// Call keeps a call and does not wait for the disk.
	Call(ctx context.Context, c *record.Call) error
	// DurableCall keeps a call that was paid for, and returns when it is safe.
	DurableCall(ctx context.Context, c *record.Call) error
	// Trial is handed a finished or failed trial, which is not changed after.
	Trial(ctx context.Context, t *record.Trial) error
}

// Workers say who makes a study's trials, and how many at once.
type Workers struct {
	// Models holds a model for each name in the study. Required.
	Models map[string]llm.Model
	// Methods holds the study's auditors, agents and memories in other programs by the names
	// of study.Methods. Required where the study has any.
	Methods map[string]llm.Model
	// Paid holds the names of models whose answers are paid for: a call is safe
	// before its answer is used.
	Paid map[string]bool
	// Batched reports whether a model's calls of a task are asked in batches; nil
	// for never. The trials then are in progress together, and so are the calls
	// of a trial that do not wait for each other's answers.
	Batched func(model, task string) bool
	// Ended reports whether a trial was finished before; it is not made again.
	// Nil for none.
	Ended func(key string) bool
	// Stop asks the run to finish the calls that are under way and to start no
	// other; it then ends with ErrStopped. Nil for never.
	Stop <-chan struct{}
	// Recorder keeps calls and trials. Required.
	Recorder Recorder
	// Prompts are the prompt files; nil for the study's.
	Prompts study.Prompts
	// Concurrency is how many trials are in progress at once; 0 stands for 1.
	// The trials of each paid model have a queue of their own, with as many in
	// progress as PaidConcurrency says; 0 stands for Concurrency. No result
	// depends on either.
	Concurrency     int
	PaidConcurrency int
	// BatchedConcurrency is the same for a model's trials whose calls are asked in
	// batches.
	BatchedConcurrency int
	// MaxErrors gives a model up once so many of its trials have failed one
	// after another, with none finished in between; 0 never does. The others go
	// on.
	MaxErrors int
	// GaveUp is told of a model that is given up, at that moment; nil for
	// nobody.
	GaveUp func(GivenUp)
	// Now tells the time, for latencies only; nil for the machine's clock.
	Now func() time.Time
}

// ErrStopped is the error of a run that was asked to stop.
var ErrStopped = errors.New("stopped")

// A Summary counts what a run did.
type Summary struct {
	Planned, Finished, Failed int   // Finished and Failed by this run of the program
	Before                    int   // trials that had ended before
	FirstError                error // of the failed trials, in plan order; nil when none failed
	GivenUp                   []GivenUp
}

// Trials makes the study's trials in the order of its plan. A trial that fails is
// recorded as failed and sinks no other; an error that every further call of a
// model would meet too (a refused credential, an exhausted quota, an unknown
// model, a budget that does not reach, replies that do not reach in a replay), a failing recorder, and the end of ctx
// stop the run. A model that was given up (Workers.MaxErrors) does not: its
// trials that were not begun, or not ended, are left for later.
func Trials(ctx context.Context, s *study.Study, opts Workers) (Summary, error) {
	if err := s.Check(); err != nil {
		return Summary{}, err
	}
	r, err := newRunner(s, opts)
	if err != nil {
		return Summary{}, err
	}
	sum := Summary{Planned: s.NumTrials()}
	over := make(chan struct{})
	defer close(over)
	go r.shutdown.watch(over)
	var (
		running     sync.WaitGroup
		mu          sync.Mutex
		firstFailed = sum.Planned
	)
	note := func(ordinal int, failure error) {
		mu.Lock()
		defer mu.Unlock()
		if failure == nil {
			sum.Finished++
			return
		}
		sum.Failed++
		if ordinal < firstFailed {
			firstFailed, sum.FirstError = ordinal, failure
		}
	}
	// A fault of the program ends the run in an orderly way, wherever it is met.
	begin := func(work func()) {
		running.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					r.shutdown.halt(PanicError(p))
				}
			}()
			work()
		})
	}
	for _, q := range queues(s, &opts) {
		next := make(chan planned)
		begin(func() {
			defer close(next)
			before, err := r.feed(ctx, &q, next, opts.Ended)
			if err != nil {
				r.shutdown.halt(err)
			}
			mu.Lock()
			defer mu.Unlock()
			sum.Before += before
		})
		for range r.workers(&q, &opts) {
			begin(func() {
				for t := range next {
					failure, err := r.trial(ctx, &t.Trial)
					switch {
					case errors.Is(err, errGivenUp):
						continue // it was under way, and is left for later
					case err != nil:
						r.shutdown.halt(err)
						return
					}
					note(t.ordinal, failure)
					if gaveUp := r.breaker[t.Model].note(failure); gaveUp != nil && opts.GaveUp != nil {
						opts.GaveUp(*gaveUp)
					}
				}
			})
		}
	}
	running.Wait()
	sum.GivenUp = r.givenUp()
	return sum, r.shutdown.cause
}

// workers is how many trials of a queue are in progress at once.
func (r *runner) workers(q *queue, opts *Workers) int {
	if q.batched {
		return opts.BatchedConcurrency
	}
	if opts.PaidConcurrency > 0 && opts.Paid[q.plan.Models[0]] {
		return opts.PaidConcurrency
	}
	return max(1, opts.Concurrency)
}

// A shutdown ends a run without cancelling the calls under way: what they answer
// may be paid for.
type shutdown struct {
	asked  <-chan struct{} // closed by whoever wants the run to stop
	halted chan struct{}   // closed at the first error that ends the run
	quit   context.Context // ends after either, for waits between calls
	end    context.CancelCauseFunc
	once   sync.Once
	cause  error // that error; read after the workers have ended
}

func newShutdown(asked <-chan struct{}) *shutdown {
	h := &shutdown{asked: asked, halted: make(chan struct{})}
	h.quit, h.end = context.WithCancelCause(context.Background())
	return h
}

func (h *shutdown) halt(err error) {
	h.once.Do(func() {
		h.cause = err
		close(h.halted)
	})
}

// watch ends quit when the run is to end, and returns when over is closed.
func (h *shutdown) watch(over <-chan struct{}) {
	select {
	case <-h.asked:
		h.end(ErrStopped)
	case <-h.halted:
		h.end(ErrStopped)
	case <-over:
	}
}

// stopping reports whether no further call may begin.
func (h *shutdown) stopping() bool {
	select {
	case <-h.asked:
		return true
	case <-h.halted:
		return true
	default:
		return false
	}
}

// stoppable is a model that starts no call once the run is to end, or once it
// is given up itself.
type stoppable struct {
	llm.Model
	shutdown *shutdown
	breaker  *breaker
}

func (m *stoppable) Generate(ctx context.Context, req *llm.Request) (*llm.Reply, error) {
	if m.shutdown.stopping() {
		return nil, ErrStopped
	}
	if m.breaker.over() {
		return nil, errGivenUp
	}
	return m.Model.Generate(llm.WithQuit(ctx, m.breaker.quit), req)
}

// journal is a recorder as the calls of one model see it.
type journal struct {
	Recorder
	paid bool
}

// Append implements llm.Journal.
func (j *journal) Append(ctx context.Context, c *record.Call) error {
	if j.paid {
		return j.DurableCall(ctx, c)
	}
	return j.Call(ctx, c)
}

// A runner holds what all trials share.
type runner struct {
	study      *study.Study
	recorder   Recorder
	worlds     *worlds
	shutdown   *shutdown
	breaker    map[string]*breaker // by model
	introduce  map[string]string   // framing → the sentence that introduces the memory
	auditors   map[auditorKey]judge.Source
	methods    map[string]llm.Model // by the names of study.Methods
	navigators map[navigatorKey]*navigate.Navigator
	batched    func(model, task string) bool
}

type auditorKey struct {
	task, model, modality, framing string
	auditor                        study.Auditor
	batch                          int
}

type navigatorKey struct{ model, modality, framing string }

func newRunner(s *study.Study, opts Workers) (*runner, error) {
	if opts.Prompts == nil {
		opts.Prompts = s.AllPrompts()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	r := &runner{
		study:      s,
		recorder:   opts.Recorder,
		shutdown:   newShutdown(opts.Stop),
		breaker:    map[string]*breaker{},
		introduce:  map[string]string{},
		auditors:   map[auditorKey]judge.Source{},
		navigators: map[navigatorKey]*navigate.Navigator{},
		methods:    map[string]llm.Model{},
		batched:    func(string, string) bool { return false },
	}
	if opts.Batched != nil {
		r.batched = opts.Batched
	}
	workers := 0
	for _, q := range queues(s, &opts) {
		workers += r.workers(&q, &opts)
	}
	r.worlds = newWorlds(s, workers)
	for _, f := range s.Framings {
		r.introduce[f] = opts.Prompts.Framing(f)
	}
	for name := range s.Methods() {
		model := opts.Methods[name]
		if model == nil {
			return nil, fmt.Errorf("run: no method for %s", name)
		}
		r.methods[name] = llm.Journaled(&stoppable{model, r.shutdown, newBreaker(name, 0, r.shutdown.quit)}, name, &journal{opts.Recorder, true}, opts.Now)
	}
	for _, name := range s.Models {
		if study.IsAgent(name) {
			r.breaker[name] = newBreaker(name, opts.MaxErrors, r.shutdown.quit)
			if err := r.prepare(name, r.methods[name], opts.Prompts); err != nil {
				return nil, err
			}
			continue
		}
		model := opts.Models[name]
		if model == nil {
			return nil, fmt.Errorf("run: no model for %s", name)
		}
		r.breaker[name] = newBreaker(name, opts.MaxErrors, r.shutdown.quit)
		model = llm.Journaled(&stoppable{model, r.shutdown, r.breaker[name]}, name, &journal{opts.Recorder, opts.Paid[name] || study.IsPerson(name)}, opts.Now)
		if err := r.prepare(name, model, opts.Prompts); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// prepare makes a model's navigators and auditors, so that what is wrong with a
// prompt file shows before the first call.
func (r *runner) prepare(name string, model llm.Model, prompts study.Prompts) error {
	auditor := func(task, modality string, by study.Strategy) error {
		if !by.AsksModel() || study.IsAgent(name) {
			return nil
		}
		for _, framing := range r.study.Framings {
			a, err := newAuditor(r.asked(model, name, task), prompts, r.study, modality, framing, by)
			if err != nil {
				return err
			}
			r.auditors[auditorKey{task, name, modality, framing, by.Auditor, by.Batch}] = a
		}
		return nil
	}
	if d := r.study.Detection; d != nil {
		for _, modality := range d.Modalities {
			for _, by := range d.Detectors {
				if err := auditor(record.Detect, modality, by); err != nil {
					return err
				}
			}
		}
	}
	n := r.study.Navigation
	if n == nil {
		return nil
	}
	for _, modality := range n.Modalities {
		for _, framing := range r.study.Framings {
			nav, err := newNavigator(name, r.asked(model, name, record.Navigate), prompts.Of("navigate.txt", framing), r.study, modality)
			if err != nil {
				return err
			}
			r.navigators[navigatorKey{name, modality, framing}] = nav
		}
		for _, by := range n.Strategies {
			if err := auditor(record.Navigate, modality, by); err != nil {
				return err
			}
		}
	}
	return nil
}

func newAuditor(model llm.Model, prompts study.Prompts, s *study.Study, modality, framing string, by study.Strategy) (judge.Source, error) {
	legend := observe.Legend(modality, s.ViewRadius > 0)
	if by.Auditor == study.AuditTranscript {
		return newTranscriber(model, prompts.Of(study.TranscribeFile, framing), legend, s.Params)
	}
	mode := judge.Batched
	if by.Auditor == study.AuditWholeStore {
		mode = judge.WholeStore
	}
	file := "audit.txt"
	if by.Auditor == study.AuditScore {
		file = "audit-score.txt"
	}
	_, together := model.(*inBatches)
	a, err := judge.New(model, judge.Options{
		Mode:      mode,
		Batch:     by.Batch,
		Score:     by.Auditor == study.AuditScore,
		Threshold: study.ScoreThreshold,
		Prompt:    prompts.Of(file, framing),
		Context:   lakeWords + legend + prompts.Framing(framing),
		Write:     writeLines,
		Again:     s.Again,
		Params:    s.Params,
		Together:  together,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return a, nil
}

func newNavigator(name string, model llm.Model, prompt string, s *study.Study, modality string) (*navigate.Navigator, error) {
	o := navigate.Options{
		Prompt: prompt,
		Legend: observe.Legend(modality, s.ViewRadius > 0),
		Params: s.Params,
	}
	if m := s.Methods()[name]; m != nil {
		o.Request = method.Step(m.IsSent(study.WantsGrid))
	}
	return navigate.New(model, o)
}

// auditor returns who judges the entries of a trial in the state that see gives
// at the time.
func (r *runner) auditor(t *study.Trial, see func() *observe.State) judge.Source {
	if t.By.Auditor != study.AuditMethod {
		return r.auditors[auditorKey{t.Task, t.Model, t.Modality, t.Framing, t.By.Auditor, t.By.Batch}]
	}
	a := &method.Auditor{Model: r.methods[t.By.Program()]}
	if t.By.Method.IsSent(study.WantsGrid) {
		a.Grid = func() []string { return see().Seen() }
	}
	return a
}

// trial runs one planned trial and records it. The failure is the trial's own;
// the error is one that ends the run.
func (r *runner) trial(ctx context.Context, t *study.Trial) (failure, err error) {
	defer func() {
		if p := recover(); p != nil {
			failure, err = nil, fmt.Errorf("trial %s: %w", t.Key, PanicError(p))
		}
	}()
	rec, failure, err := r.attempt(ctx, t)
	if err != nil {
		return nil, err
	}
	if failure != nil {
		switch {
		case errors.Is(failure, ErrStopped):
			return nil, ErrStopped
		case errors.Is(failure, errGivenUp):
			return nil, errGivenUp
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case llm.KindOf(failure).Fatal(), errors.Is(failure, llm.ErrJournal), errors.Is(failure, llm.ErrChanged), errors.Is(failure, llm.ErrMissing), errors.Is(failure, llm.ErrBudget):
			return nil, failure
		}
		rec.Outcome, rec.Error = record.Failed, failure.Error()
	}
	return failure, r.recorder.Trial(ctx, rec)
}

// attempt makes a trial. After a failure the record holds what came before it.
func (r *runner) attempt(ctx context.Context, t *study.Trial) (rec *record.Trial, failure, err error) {
	w, err := r.worlds.get(t)
	if err != nil {
		return nil, nil, err
	}
	rec = &record.Trial{Version: record.Version, Spec: t.Spec}
	switch t.Task {
	case record.Detect:
		failure = r.detect(ctx, t, w, rec)
	default:
		failure = r.navigate(ctx, t, w, rec)
	}
	for _, win := range rec.Windows {
		for i := range win.Judgments {
			rec.Counts.Add(win.Judgments[i].Truth, win.Judgments[i].Verdict)
		}
	}
	return rec, failure, nil
}

// detect audits the whole memory in each window of the instance.
func (r *runner) detect(ctx context.Context, t *study.Trial, w *world, rec *record.Trial) error {
	windows := w.Instances[t.Regime].Windows()
	made := make([]record.Window, len(windows))
	err := judge.InOrder(len(windows), r.batched(t.Model, t.Task), func(i int) error {
		win := windows[i]
		state := observe.State{Grid: win.Grid, Agent: win.Grid.Start(), Radius: r.study.ViewRadius}
		auditor := r.auditor(t, func() *observe.State { return &state })
		seen, err := w.scenery.audited(t.Modality, &state)
		if err != nil {
			return err
		}
		res, err := auditor.Audit(ctx, judge.Where{Trial: t.Key, Window: i}, w.asked, seen)
		if err != nil {
			return err
		}
		made[i] = w.window(i, win.Step, &state, res)
		return nil
	})
	for i := range made {
		if made[i].Judgments != nil {
			rec.Windows = append(rec.Windows, made[i])
		}
	}
	if err != nil {
		return err
	}
	rec.Outcome = record.Done
	return nil
}

// navigate plays one episode.
func (r *runner) navigate(ctx context.Context, t *study.Trial, w *world, rec *record.Trial) error {
	in := w.Instances[t.Regime]
	e := navigate.Episode{
		Trial:    t.Key,
		Begin:    in.Begin(),
		Events:   w.events[t.Regime],
		Observer: &observer{w.scenery, t.Modality},
		Radius:   r.study.ViewRadius,
		Strict:   r.study.Strict,
	}
	if t.By.Memory != study.MemoryNone {
		e.Memory = w.Memory
	}
	if b := r.study.Branch; b != nil {
		e.Before = b.Steps
		if action, ok := lake.ParseAction(b.Action); ok {
			e.Forced = map[int]lake.Action{b.At: action}
		}
	}
	v := r.newViewer(t, w)
	res, err := r.navigators[navigatorKey{t.Model, t.Modality, t.Framing}].Run(ctx, e, v)
	rec.Windows = v.windows
	if err != nil {
		return err
	}
	rec.Outcome, rec.Steps, rec.Death = res.Outcome.String(), res.Steps, res.Death
	return nil
}
