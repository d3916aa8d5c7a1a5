package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// A display shows how far a run is. What it cannot write it leaves out: a run
// outlives its terminal.
type display interface {
	notice(line string) // something that happened
	show(all standing, models []standing, took time.Duration)
	end(all standing, models []standing, took time.Duration)
}

// How often a display is refreshed.
const (
	barsEvery    = 200 * time.Millisecond
	linesEvery   = 5 * time.Second
	eventEvery   = time.Second
	noticesEvery = 100 * time.Millisecond
)

// showProgress writes how far the run is until the returned function is called,
// which waits for the last word.
func (t *tally) showProgress(w io.Writer, asJSON bool) (stop func()) {
	var d display
	every := linesEvery
	switch {
	case asJSON:
		d, every = &eventDisplay{w, t.order}, eventEvery
	case isTerminal(w):
		d, every = newBars(w, t.order), barsEvery
	default:
		d = &lineDisplay{w}
	}
	quit, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		tick, news := time.NewTicker(every), time.NewTicker(noticesEvery)
		defer tick.Stop()
		defer news.Stop()
		tell := func() {
			for _, line := range t.takeNotices() {
				d.notice(line)
			}
		}
		d.show(t.standings())
		for {
			select {
			case <-news.C:
				tell()
			case <-tick.C:
				d.show(t.standings())
			case <-quit:
				tell()
				d.end(t.standings())
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-finished
	}
}

// rate returns trials a second by this run of the program, 0 before the first.
func (s *standing) rate(took time.Duration) float64 {
	if took <= 0 {
		return 0
	}
	return float64(s.done-s.before) / took.Seconds()
}

// left estimates the time to the end; it is not known before the first trial.
func (s *standing) left(took time.Duration) (time.Duration, bool) {
	made := s.done - s.before
	if made == 0 || s.done >= s.total {
		return 0, false
	}
	return time.Duration(float64(took) / float64(made) * float64(s.total-s.done)), true
}

// words are what there is to say beside the count of trials.
func (s *standing) words(took time.Duration) string {
	var parts []string
	if r := s.rate(took); r >= 10 {
		parts = append(parts, fmt.Sprintf("%.0f/s", r))
	} else if r > 0 {
		parts = append(parts, fmt.Sprintf("%.2g/s", r))
	}
	if s.failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", s.failed))
	}
	if s.retries > 0 {
		parts = append(parts, fmt.Sprintf("%d retried", s.retries))
	}
	if words := s.waiting.String(); words != "" {
		parts = append(parts, words)
	}
	if s.input+s.output > 0 && s.waiting.calls == 0 { // a row has room for one of the two
		parts = append(parts, fmt.Sprintf("%s tokens in, %s out", short(s.input), short(s.output)))
	}
	if money := s.spent.money(); money != "" {
		if s.limit != nil {
			money += fmt.Sprintf(" of %v", *s.limit)
		}
		parts = append(parts, money)
	}
	if left, known := s.left(took); known {
		parts = append(parts, fmt.Sprintf("%v left", left.Round(time.Second)))
	}
	return strings.Join(parts, ", ")
}

// known is a number of tokens, nil for none: no call has none.
func known(tokens int) *int {
	if tokens == 0 {
		return nil
	}
	return &tokens
}

// short writes a count in few characters: 950, 12k, 3.4M.
func short(n int) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// lineDisplay writes a line now and then.
type lineDisplay struct{ w io.Writer }

func (d *lineDisplay) notice(line string) { fmt.Fprintln(d.w, line) }

func (d *lineDisplay) show(all standing, models []standing, took time.Duration) {
	if took >= linesEvery {
		d.end(all, models, took)
	}
}

func (d *lineDisplay) end(all standing, _ []standing, took time.Duration) {
	line := fmt.Sprintf("%d of %d trials in %.1f s", all.done, all.total, took.Seconds())
	if words := all.words(took); words != "" {
		line += ": " + words
	}
	fmt.Fprintln(d.w, line)
}

// bars draw a bar for each model.
type bars struct {
	progress *mpb.Progress
	bars     []*mpb.Bar
	set      []chan string // by model: the words beside its bar
}

func newBars(w io.Writer, models []string) *bars {
	b := &bars{progress: mpb.New(mpb.WithOutput(w), mpb.WithWidth(30), mpb.WithRefreshRate(barsEvery), mpb.WithAutoRefresh())}
	for i, name := range models {
		latest := make(chan string, 1)
		b.set = append(b.set, latest)
		shown := ""
		b.bars = append(b.bars, b.progress.New(0, mpb.BarStyle().Lbound("").Filler("━").Tip("━").Padding("─").Rbound(""),
			mpb.BarPriority(i),
			mpb.PrependDecorators(decor.Name(shortModel(name)+" ", decor.WCSyncSpaceR)),
			mpb.AppendDecorators(
				decor.CountersNoUnit(" %d/%d ", decor.WCSyncSpace),
				decor.Any(func(decor.Statistics) string {
					select {
					case shown = <-latest:
					default:
					}
					return shown
				}),
			),
		))
	}
	return b
}

// notice writes above the bars.
func (b *bars) notice(line string) { fmt.Fprintln(b.progress, line) }

// shortModel is a model's name without its parameters.
func shortModel(name string) string {
	name, _, more := strings.Cut(name, "?")
	if more {
		name += "?…"
	}
	return name
}

func (b *bars) show(_ standing, models []standing, took time.Duration) {
	for i := range models {
		b.bars[i].SetTotal(int64(models[i].total), false)
		b.bars[i].SetCurrent(int64(models[i].done))
		select { // an old text that nobody has drawn is no longer wanted
		case <-b.set[i]:
		default:
		}
		b.set[i] <- models[i].words(took)
	}
}

func (b *bars) end(all standing, models []standing, took time.Duration) {
	b.show(all, models, took)
	for i := range b.bars {
		if models[i].done == models[i].total {
			b.bars[i].SetTotal(int64(models[i].total), true)
		} else {
			b.bars[i].Abort(false)
		}
	}
	b.progress.Wait()
}

// eventDisplay writes a JSON line for each model.
type eventDisplay struct {
	w      io.Writer
	models []string
}

// A noticeEvent is a line of --json for something that happened: a server that
// refuses a parameter, calls that wait, a model that is given up.
type noticeEvent struct {
	Event string `json:"event"` // "notice"
	Text  string `json:"text"`
}

func (d *eventDisplay) notice(line string) {
	enc := json.NewEncoder(d.w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(noticeEvent{"notice", line}) // as below
}

// A progressEvent is one line of --json.
type progressEvent struct {
	Event         string   `json:"event"` // "progress" or "end"
	Model         string   `json:"model"`
	Total         int      `json:"total"`
	Done          int      `json:"done"`
	Failed        int      `json:"failed"`
	Calls         int      `json:"calls"`
	Retries       int      `json:"retries"`
	Waiting       int      `json:"waiting"`      // calls that wait to be tried again
	WaitSeconds   *float64 `json:"wait_seconds"` // until the first of them is; null when none waits
	WaitReason    string   `json:"wait_reason"`  // "rate-limit", "server", "timeout", …; empty when none waits
	InputTokens   *int     `json:"input_tokens"` // null where no server has said any
	OutputTokens  *int     `json:"output_tokens"`
	CachedTokens  *int     `json:"cached_tokens"` // of the input
	USD           *float64 `json:"usd"`           // spent by the whole run on this model; null while the cost of a call is not known
	USDAtMost     bool     `json:"usd_at_most"`   // it may be less: the list has no price for cached tokens
	BudgetUSD     *float64 `json:"budget_usd"`    // for all models together; null without a budget
	TrialsASecond float64  `json:"trials_per_second"`
	Seconds       float64  `json:"seconds"`
	SecondsLeft   *float64 `json:"seconds_left"` // null while it is not known
}

func (d *eventDisplay) show(all standing, models []standing, took time.Duration) {
	d.write("progress", &all, models, took)
}

func (d *eventDisplay) end(all standing, models []standing, took time.Duration) {
	d.write("end", &all, models, took)
}

func (d *eventDisplay) write(event string, all *standing, models []standing, took time.Duration) {
	enc := json.NewEncoder(d.w)
	enc.SetEscapeHTML(false)
	for i := range models {
		s := &models[i]
		e := progressEvent{
			Event: event, Model: d.models[i], Total: s.total, Done: s.done, Failed: s.failed, Calls: s.calls, Retries: s.retries, Waiting: s.waiting.calls,
			InputTokens: known(s.input), OutputTokens: known(s.output), TrialsASecond: s.rate(took), Seconds: took.Seconds(),
		}
		if s.waiting.calls > 0 {
			seconds := s.waiting.next.Seconds()
			e.WaitSeconds, e.WaitReason = &seconds, string(s.waiting.why)
		}
		e.CachedTokens = known(s.spent.cached)
		if s.spent.unknown+s.spent.atLeast == 0 {
			e.USD, e.USDAtMost = new(s.spent.usd.Dollars()), s.spent.atMost > 0
		}
		if all.limit != nil {
			e.BudgetUSD = new(all.limit.Dollars())
		}
		if left, known := s.left(took); known {
			seconds := left.Seconds()
			e.SecondsLeft = &seconds
		}
		_ = enc.Encode(e) // a program that no longer listens does not stop the run
	}
}
